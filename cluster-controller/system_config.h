// SPDX-License-Identifier: Apache-2.0
// SystemConfig: what the ClusterPodPlacementConfig and the objects that it names say about inspecting images, handed to
// those who inspect whenever one of them changes.
// Thread: the informers'.
#pragma once

#include <string>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/pull_secrets.h"
#include "cluster-controller/shard_watch.h"
#include "inspection/inspector.h"
#include "kube/cache/reader.h"
#include "kube/types/core.pb.h"

namespace cluster_controller {

class SystemConfig {
 public:
  // `ns` is the operator's namespace, where the named objects are. All outlive it.
  SystemConfig(std::string ns, const kube::Reader<api::ClusterPodPlacementConfig>& cluster_configs,
               const kube::Reader<kube::core::ConfigMap>& config_maps, inspection::ImageInspector& images,
               PullSecrets& secrets, ShardWatch& shards);

  // To be called with every change of the ClusterPodPlacementConfig or of a ConfigMap in `ns`. A ConfigMap that cannot be
  // used is logged, and what was in force before stays.
  void Apply();

 private:
  inspection::InspectorConfig ReadInspectorConfig(const api::ClusterPodPlacementConfigSpec& spec) const;

  std::string ns_;
  const kube::Reader<api::ClusterPodPlacementConfig>& cluster_configs_;
  const kube::Reader<kube::core::ConfigMap>& config_maps_;
  inspection::ImageInspector& images_;
  PullSecrets& secrets_;
  ShardWatch& shards_;
};

}  // namespace cluster_controller
