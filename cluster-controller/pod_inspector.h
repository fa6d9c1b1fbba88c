// SPDX-License-Identifier: Apache-2.0
// PodInspector: the architectures that all images of a pod have in common. All its images are inspected at once.
#pragma once

#include <optional>
#include <vector>

#include "cluster-controller/controller_metrics.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/pull_secrets.h"
#include "inspection/inspector.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/types/core.pb.h"
#include "placement/architecture.h"

namespace cluster_controller {

class PodInspector {
 public:
  // All outlive it.
  PodInspector(InspectionQueue& queue, PullSecrets& secrets, ControllerMetrics& metrics, kube::Clock& clock)
      : queue_(queue), secrets_(secrets), metrics_(metrics), clock_(clock) {}

  // Returns: sorted GOARCH names; empty means that the images have none in common, which is not an error. nullopt: not
  // known yet, the queue wakes the pod when it is time to ask again.
  // Errors: the first image's that cannot be inspected (it names image, registry and cause), or the API server's for a
  // pull secret. The next call after an answer or an error asks anew.
  kube::Async<std::optional<placement::ArchitectureSet>> Architectures(const kube::core::Pod& pod);
  // Has the images inspected for later, one by one as there is time.
  kube::Async<> Prefetch(const kube::core::Pod& pod);
  // The pod is gone.
  void Forget(const kube::ObjectKey& pod);

 private:
  kube::Async<std::vector<inspection::ImageRequest>> RequestsFor(const kube::core::Pod& pod);

  InspectionQueue& queue_;
  PullSecrets& secrets_;
  ControllerMetrics& metrics_;
  kube::Clock& clock_;
};

}  // namespace cluster_controller
