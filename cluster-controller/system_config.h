// SPDX-License-Identifier: Apache-2.0
// SystemConfig: configures image inspection from the ClusterPodPlacementConfig, the objects that it
// names, OpenShift's objects and the files of the node, whenever one of them changes. Thread: the
// informers'.
#pragma once

#include <string>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/openshift_objects.h"
#include "cluster-controller/pull_secrets.h"
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
  // `ns`: the operator's namespace, with the named objects. `files`: the paths of a node's files,
  // which are read here; registries.conf and policy.json in an object replace those files. All
  // outlive it.
  SystemConfig(std::string ns, inspection::NodeFilePaths files,
               const kube::Reader<api::ClusterPodPlacementConfig>& cluster_configs,
               const kube::Reader<kube::core::ConfigMap>& config_maps,
               inspection::ImageInspector& images, PullSecrets& secrets,
               const OpenShiftConfig& openshift);

  // To be called before the first pod, and after every change of the ClusterPodPlacementConfig, of
  // a ConfigMap in `ns`, or of `openshift`. An invalid configuration is logged, and the previous
  // one stays in use.
  void Apply();
  // Reads the files every `interval` and applies changes; ends at once if no file is configured.
  kube::asio::awaitable<void> WatchFiles(kube::Clock& clock, kube::Duration interval);

 private:
  inspection::InspectorConfig ConfigFor(const api::ClusterPodPlacementConfigSpec& spec) const;
  // True if the contents changed.
  bool ReadFiles();

  std::string ns_;
  inspection::NodeFilePaths files_;
  inspection::InspectorConfig from_files_;  // of the last successful read
  const kube::Reader<api::ClusterPodPlacementConfig>& cluster_configs_;
  const kube::Reader<kube::core::ConfigMap>& config_maps_;
  inspection::ImageInspector& images_;
  PullSecrets& secrets_;
  const OpenShiftConfig& openshift_;
};

}  // namespace cluster_controller
