// SPDX-License-Identifier: Apache-2.0
// The plugins of a configuration. nodeAffinityScoring is what a preference comes from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/field_error.h"
#include "api/platform.h"
#include "kube/types/unstructured.h"

namespace api {

struct NodeAffinityScoring {
  bool enabled = false;
  std::vector<Platform> platforms;

  bool operator==(const NodeAffinityScoring&) const = default;
};

struct Plugins {
  std::optional<NodeAffinityScoring> node_affinity_scoring;
  // ClusterPodPlacementConfig only; nullopt where the plugin is not named.
  std::optional<bool> exec_format_error_monitor_enabled;

  bool operator==(const Plugins&) const = default;
};

// Values out of range, unknown architectures and missing fields are left out and named in
// `problems`; two platforms with one architecture too.
Plugins PluginsFromJson(const kube::Json& json, const std::string& path, FieldErrors& problems);
kube::Json PluginsToJson(const Plugins& plugins);

}  // namespace api
