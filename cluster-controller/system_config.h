// SPDX-License-Identifier: Apache-2.0
// SystemConfig: what the ClusterPodPlacementConfig, the objects that it names and the files of the
// node say about inspecting images, handed to those who inspect whenever one of them changes.
// Thread: the informers'.
#pragma once

#include <string>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/openshift_objects.h"
#include "cluster-controller/pull_secrets.h"
#include "cluster-controller/shard_watch.h"
#include "inspection/config/inspector_config.h"
#include "inspection/config/node_files.h"
#include "inspection/inspector.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/cache/reader.h"
#include "kube/types/core.pb.h"

namespace cluster_controller {

class SystemConfig {
 public:
  // `ns` is the operator's namespace, where the named objects are; `files`: a node's files, where
  // they are mounted, which are read here. What an object says of registries.conf or policy.json
  // counts in place of the file. All outlive it.
  SystemConfig(std::string ns, inspection::NodeFilePaths files,
               const kube::Reader<api::ClusterPodPlacementConfig>& cluster_configs,
               const kube::Reader<kube::core::ConfigMap>& config_maps,
               inspection::ImageInspector& images, PullSecrets& secrets, ShardWatch& shards,
               const OpenShiftConfig& openshift);

  // To be called before the first pod, and with every change of the ClusterPodPlacementConfig, of a
  // ConfigMap in `ns`, or of `openshift`. A ConfigMap that cannot be used is logged, and what was
  // in force before stays.
  void Apply();
  // Reads the files again every `interval`, and applies what has changed; ends at once if there are
  // none.
  kube::asio::awaitable<void> WatchFiles(kube::Clock& clock, kube::Duration interval);

 private:
  inspection::InspectorConfig ConfigFor(const api::ClusterPodPlacementConfigSpec& spec) const;
  // Whether what they say is something else than before.
  bool ReadFiles();

  std::string ns_;
  inspection::NodeFilePaths files_;
  inspection::InspectorConfig from_files_;  // the last that could be read
  const kube::Reader<api::ClusterPodPlacementConfig>& cluster_configs_;
  const kube::Reader<kube::core::ConfigMap>& config_maps_;
  inspection::ImageInspector& images_;
  PullSecrets& secrets_;
  ShardWatch& shards_;
  const OpenShiftConfig& openshift_;
};

}  // namespace cluster_controller
