// SPDX-License-Identifier: Apache-2.0
// The plugin amd64Levels of the ClusterPodPlacementConfig: images that need a level of x86-64
// require the label that node-feature-discovery gives to nodes of that level.
#pragma once

#include <string>
#include <string_view>

#include "api/fields.h"

namespace api {

// The lowest amd64 is level 1, which has no label in a requirement.
inline constexpr int kMinAmd64Level = 2;
inline constexpr int kMaxAmd64Level = 4;
// A node has the labels of its level and of all below.
inline constexpr std::string_view kAmd64LevelLabelPrefix =
    "feature.node.kubernetes.io/cpu-cpuid.X86_64_V";

inline std::string Amd64LevelLabel(int level) {
  return std::string(kAmd64LevelLabelPrefix) + std::to_string(level);
}

// 2 to 4; 0 for other labels.
inline int LevelOfAmd64Label(std::string_view label) {
  if (!label.starts_with(kAmd64LevelLabelPrefix)) return 0;
  label.remove_prefix(kAmd64LevelLabelPrefix.size());
  int level = label.size() == 1 ? label[0] - '0' : 0;
  return level >= kMinAmd64Level && level <= kMaxAmd64Level ? level : 0;
}

struct Amd64LevelsPlugin {
  bool enabled = false;

  bool operator==(const Amd64LevelsPlugin&) const = default;
  static void Fields(auto& plugin, auto& field) { field("enabled", plugin.enabled, kRequired); }
};

}  // namespace api
