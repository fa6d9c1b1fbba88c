// SPDX-License-Identifier: Apache-2.0
// KnownImages: places a pod at its creation as the ClusterPodPlacementConfig says, if the facts say
// what its images have in common. It decides as the cluster controller does for a pod that no
// PodPlacementConfig changes; the API server asks only for such pods
// (operator/objects/webhook_configurations.h). Thread: the client's.
#pragma once

#include <string>

#include "api/cluster_pod_placement_config.h"
#include "image-facts/webhook/fact_watch.h"
#include "image-facts/webhook/known_images_metrics.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "webhook/pod_placer.h"

namespace image_facts {

class KnownImages final : public webhook::PodPlacer {
 public:
  // `ns`: the operator's namespace. The references outlive this.
  KnownImages(kube::Client& client, kube::Clock& clock, std::string ns,
              KnownImagesMetrics& metrics);

  // Starts the watches; `tasks` must be stopped before this is destroyed. Until they are current,
  // no pod is placed.
  void Start(kube::TaskGroup& tasks);

  // PodPlacer
  bool Place(kube::core::Pod& pod) override;

 private:
  kube::Counter& CounterOf(NotKnown why);
  bool PlaceBy(const api::ClusterPodPlacementConfig& config, kube::core::Pod& pod);

  FactWatch facts_;
  kube::Informer<api::ClusterPodPlacementConfig> configs_;
  KnownImagesMetrics& metrics_;
};

}  // namespace image_facts
