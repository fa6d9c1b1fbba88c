// SPDX-License-Identifier: Apache-2.0
// MissedPolicies: adds to a gated pod what the webhook of scheduling policies missed, because it
// was unavailable or did not exist yet, as far as the API server still allows
// (scheduling-policies/backfill.h). Policies are watched from the first time that the plugin
// schedulingPolicies is enabled. Thread: the client's.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/pod_additions.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "placement/release.h"
#include "scheduling-policies/webhook/policy_watch.h"

namespace policy {

class MissedPolicies final : public cluster_controller::PodAdditions {
 public:
  // Pods wait at most so long for the first list of the policies.
  static constexpr std::chrono::seconds kListWithin{5};

  // `client` and `clock` outlive this. Pods of `operator_namespace` get nothing.
  MissedPolicies(kube::Client& client, kube::Clock& clock, std::string operator_namespace);

  // PodAdditions
  kube::asio::awaitable<void> Run() override { return watch_.Run(); }
  void Follow(const api::ClusterPodPlacementConfig* config) override;
  kube::Duration WaitLeft() const override;
  bool Any() const override { return enabled_ && !watch_.index().empty(); }
  bool AddTo(kube::core::Pod& pod, std::vector<placement::PodEvent>& events) const override;

 private:
  kube::Clock& clock_;
  std::string operator_namespace_;
  PolicyWatch watch_;
  bool enabled_ = false;
  // Since when the policies are listed.
  std::optional<kube::TimePoint> listing_since_;
};

}  // namespace policy
