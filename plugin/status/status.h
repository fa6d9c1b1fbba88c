// SPDX-License-Identifier: Apache-2.0
// Status: how the operator is, from what the user may read. Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/pod_placement_config.h"
#include "kube/base/clock.h"
#include "kube/types/unstructured.h"
#include "plugin/pod/evidence.h"
#include "plugin/status/waiting_summary.h"
#include "plugin/text/style.h"

namespace plugin {

// A Deployment of the operator.
struct Component {
  std::string ns;
  std::string name;
  std::string version;  // "" for the operator's own, whose manifests have none
  int64_t replicas = 0;
  int64_t ready = 0;
};

struct StatusEvidence {
  kube::WallTime now;
  // nullopt: not read, or absent.
  std::optional<api::ClusterPodPlacementConfig> cluster_config;
  bool has_no_cluster_config = false;
  std::vector<api::PodPlacementConfig> configs;
  std::vector<Component> components;
  WaitingSummary waiting;  // the pods with a gate of the operator
  // By the name of a webhook configuration: the end of its authority's certificate.
  std::map<std::string, kube::WallTime> certificates;
  std::vector<Unread> unread;
};

struct Status {
  std::vector<Component> components;
  // More than one: an upgrade runs, or has stopped.
  std::vector<std::string> versions;
  // What is wrong: of the ClusterPodPlacementConfig, then of PodPlacementConfigs.
  std::vector<std::string> problems;
  std::vector<WaitingLine> waiting;  // most pods first
  // By registry: the pods that wait for it.
  std::map<std::string, size_t> registries;
  std::map<std::string, std::chrono::days> certificates;  // days left
  size_t configs = 0;
  std::vector<Unread> unread;
};

Status StatusOf(const StatusEvidence& evidence);

std::string Say(const Status& status, Style style = {});
kube::Json AsJson(const Status& status);

}  // namespace plugin
