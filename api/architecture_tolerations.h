// SPDX-License-Identifier: Apache-2.0
// The plugin architectureTolerations, which both kinds of config have: pods tolerate the taints of
// nodes whose architecture their images support. If several configs select a pod and have the
// plugin, the first one decides, enabled or not; the ClusterPodPlacementConfig is the last.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "api/fields.h"
#include "api/names.h"

namespace api {

inline constexpr std::array<std::string_view, 3> kTaintEffects = {"NoSchedule", "NoExecute",
                                                                  "PreferNoSchedule"};

struct ArchitectureTolerations {
  bool enabled = false;
  // The effects of the tolerated taints.
  std::vector<std::string> effects{std::string(kTaintEffects[0])};
  // The key of the tolerated taints; their value is an architecture.
  std::string key{kArchLabel};

  bool operator==(const ArchitectureTolerations&) const = default;
  static void Fields(auto& tolerations, auto& field) {
    field("enabled", tolerations.enabled, kRequired);
    field("effects", tolerations.effects, SomeOf{kTaintEffects});
    field("key", tolerations.key, LabelKey{});
  }
};

}  // namespace api
