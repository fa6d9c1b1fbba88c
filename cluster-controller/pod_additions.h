// SPDX-License-Identifier: Apache-2.0
// PodAdditions: what a feature beside placement adds to a pod, in the write that releases it.
// main.cc registers the features; without any, pods are placed just as well.
//
// Additions never cost a pod its placement: if the API server refuses the pod with them, it is
// released without them (I3). Thread: the client's.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/types/core.pb.h"
#include "placement/release.h"

namespace cluster_controller {

class PodAdditions {
 public:
  virtual ~PodAdditions() = default;

  // Until cancelled. Watches what the additions are made from.
  virtual kube::asio::awaitable<void> Run() = 0;
  // To be called with every version of the ClusterPodPlacementConfig; nullptr: there is none. It
  // says whether the feature is enabled.
  virtual void Follow(const api::ClusterPodPlacementConfig* config) = 0;

  // How long pods wait for what the additions are made from; zero: AddTo() may be called.
  virtual kube::Duration WaitLeft() const = 0;
  // False if AddTo() would do nothing for any pod: callers save a copy of the pod.
  virtual bool Any() const = 0;
  // Adds to `pod`, and appends events for its user to `events`. True if the pod was changed. Adds
  // no tolerations to a pod with gates of other controllers (placement/release.h); a second call,
  // with the last gate, adds what is missing.
  virtual bool AddTo(kube::core::Pod& pod, std::vector<placement::PodEvent>& events) const = 0;
};

// In the order in which they are made.
using PodAdditionsList = std::vector<std::unique_ptr<PodAdditions>>;

// Creates them for a term of leadership.
using NewPodAdditions = std::function<std::unique_ptr<PodAdditions>()>;

}  // namespace cluster_controller
