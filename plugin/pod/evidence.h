// SPDX-License-Identifier: Apache-2.0
// PodEvidence: what a cluster says about a pod, as far as the user may read it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/pod_placement_config.h"
#include "kube/base/clock.h"
#include "kube/types/core.pb.h"
#include "placement/node_match.h"
#include "plugin/images/known_images.h"
#include "scheduling-policies/scheduling_policy.h"

namespace plugin {

// A part that is not known: what, and why not.
struct Unread {
  std::string what;
  std::string why;
};

// What all pods of a namespace have in common.
struct NamespaceEvidence {
  // nullopt: not read, or absent.
  std::optional<kube::core::Namespace> ns;
  std::optional<api::ClusterPodPlacementConfig> cluster_config;
  bool has_no_cluster_config = false;  // it was read, and there is none
  // Of the namespace, by descending priority.
  std::vector<api::PodPlacementConfig> configs;
  // Of the namespace and of the cluster.
  std::vector<policy::SchedulingPolicy> policies;
  // nullopt: not read.
  std::optional<std::vector<placement::NodeView>> nodes;
  // Empty: not read, or nothing is known.
  KnownImages known_images;
  std::vector<Unread> unread;
};

struct PodEvidence {
  // By this machine's clock.
  kube::WallTime now;
  kube::core::Pod pod;
  // Of the pod, the oldest first.
  std::vector<kube::core::Event> events;
  // Never nullptr.
  std::shared_ptr<NamespaceEvidence> around = std::make_shared<NamespaceEvidence>();
};

}  // namespace plugin
