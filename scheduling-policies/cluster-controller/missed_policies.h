// SPDX-License-Identifier: Apache-2.0
// MissedPolicies: adds to a gated pod what the webhook of scheduling policies missed, because it
// was unavailable or did not exist yet, as far as the API server still allows
// (scheduling-policies/make_up.h). Policies are watched from the first time that the plugin
// schedulingPolicies is enabled. Thread: the client's.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "placement/release.h"
#include "scheduling-policies/webhook/policy_watch.h"

namespace cluster_controller {

class MissedPolicies {
 public:
  // Pods wait at most so long for the first list of the policies.
  static constexpr std::chrono::seconds kListWithin{5};

  // `client` and `clock` outlive this. Pods of `operator_namespace` get nothing.
  MissedPolicies(kube::Client& client, kube::Clock& clock, std::string operator_namespace);

  // Watches until cancelled.
  kube::asio::awaitable<void> Run() { return watch_.Run(); }

  // Reads whether the plugin is enabled; nullptr: there is no ClusterPodPlacementConfig.
  void Follow(const api::ClusterPodPlacementConfig* config);

  // How long a pod waits for the policies; zero as soon as they are listed.
  kube::Duration WaitLeft() const;
  // False if AddTo() would do nothing for any pod.
  bool Any() const { return enabled_ && !watch_.index().empty(); }
  // Adds to `pod`, and appends what to tell its user to `events`. Without the plugin, or without
  // policies, it does nothing. Returns: whether the pod was changed.
  bool AddTo(kube::core::Pod& pod, std::vector<placement::PodEvent>& events) const;

 private:
  kube::Clock& clock_;
  std::string operator_namespace_;
  policy::PolicyWatch watch_;
  bool enabled_ = false;
  // Since when the policies are listed.
  std::optional<kube::TimePoint> listing_since_;
};

}  // namespace cluster_controller
