// SPDX-License-Identifier: Apache-2.0
// FakeAdditions: a feature that adds to pods (pod_additions.h), in tests.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "cluster-controller/pod_additions.h"
#include "kube/base/clock.h"
#include "kube/types/core.pb.h"
#include "placement/gate.h"
#include "placement/release.h"

namespace cluster_controller {

// Adds the spec of `added` to every pod, from `ready_at` on.
class FakeAdditions final : public PodAdditions {
 public:
  static constexpr char kReason[] = "Added";

  FakeAdditions(kube::core::Pod added, const kube::Clock& clock, kube::TimePoint ready_at)
      : added_(std::move(added)), clock_(clock), ready_at_(ready_at) {}

  // PodAdditions
  kube::asio::awaitable<void> Run() override { co_return; }
  void Follow(const api::ClusterPodPlacementConfig*) override {}
  kube::Duration WaitLeft() const override {
    return std::max(kube::Duration::zero(), ready_at_ - clock_.Now());
  }
  bool Any() const override { return true; }
  bool AddTo(kube::core::Pod& pod, std::vector<placement::PodEvent>& events) const override {
    kube::core::PodSpec added = added_.spec();
    if (!placement::OtherGates(pod).empty()) added.clear_tolerations();
    if (added.ByteSizeLong() == 0) return false;
    pod.mutable_spec()->MergeFrom(added);
    events.push_back({kReason, "as the test says"});
    return true;
  }

 private:
  kube::core::Pod added_;
  const kube::Clock& clock_;
  kube::TimePoint ready_at_;
};

}  // namespace cluster_controller
