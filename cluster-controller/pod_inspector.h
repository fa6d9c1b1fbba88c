// SPDX-License-Identifier: Apache-2.0
// PodInspector: the architectures that all images of a pod have in common. All its images are
// inspected at once.
//
// What a pod's images and secrets take of memory is bounded by namespace and in all, and so is how
// many pods read their secrets at a time: a pod beyond its namespace's part is in line, and is
// woken when it is its turn.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster-controller/controller_metrics.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/pull_secrets.h"
#include "inspection/inspector.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/queue/fair_share.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"
#include "placement/architecture.h"
#include "placement/images.h"

namespace cluster_controller {

struct PodInspectorOptions {
  // Of images' names and credentials that wait for their inspection.
  kube::FairShareOptions memory{
      .per_namespace = 4u << 20, .total = 16u << 20, .first_always_enters = true};
  // Pods that read their secrets; fewer than there are workers.
  kube::FairShareOptions readers{.per_namespace = 4, .total = 12};
  // Inspections that wait, and pods that read their secrets, above which nothing is prefetched.
  size_t prefetch_line = 64;
  size_t prefetch_readers = 8;
};

class PodInspector {
 public:
  // What is to be known of a pod to inspect its images.
  struct Images {
    kube::ObjectKey pod;
    std::vector<placement::ContainerImage> images;
    std::string os;
    std::vector<std::string> secrets;

    static Images Of(const kube::core::Pod& pod);
  };

  // All outlive it.
  PodInspector(InspectionQueue& queue, PullSecrets& secrets, ControllerMetrics& metrics,
               kube::Clock& clock, PodInspectorOptions options = {})
      : queue_(queue),
        secrets_(secrets),
        metrics_(metrics),
        clock_(clock),
        options_(options),
        memory_(options.memory),
        readers_(options.readers) {}

  // Who is told that a pod in line may ask again.
  void OnTurn(const std::function<void(const kube::ObjectKey&)>& wake);

  // Returns: sorted GOARCH names; empty means that the images have none in common, which is not an
  // error. nullopt: not known yet, the queue wakes the pod when it is time to ask again, or
  // OnTurn() does. Errors: the first image's that cannot be inspected (it names image, registry and
  // cause), kInvalid for more images or longer names than any pod needs, or the API server's for a
  // pull secret. The next call after an answer or an error asks anew.
  kube::Async<std::optional<placement::ArchitectureSet>> Architectures(const kube::core::Pod& pod);
  // Has the images inspected for later, one by one as there is time; not if there is none.
  kube::Async<> Prefetch(Images images);
  bool HasTimeToPrefetch() const;
  // The pod is gone.
  void Forget(const kube::ObjectKey& pod);

 private:
  kube::Async<std::vector<inspection::ImageRequest>> RequestsFor(Images images);

  InspectionQueue& queue_;
  PullSecrets& secrets_;
  ControllerMetrics& metrics_;
  kube::Clock& clock_;
  PodInspectorOptions options_;
  kube::FairShare memory_;
  kube::FairShare readers_;
  size_t prefetching_ = 0;
};

}  // namespace cluster_controller
