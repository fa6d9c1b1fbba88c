// SPDX-License-Identifier: Apache-2.0
// The plugin nodeAffinityScoring, which both kinds of config have: it adds preferences to pods.
#pragma once

#include <vector>

#include "api/fields.h"
#include "api/platform.h"

namespace api {

struct NodeAffinityScoring {
  bool enabled = false;
  std::vector<Platform> platforms;

  bool operator==(const NodeAffinityScoring&) const = default;
  static void Fields(auto& scoring, auto& field) {
    field("enabled", scoring.enabled, kRequired);
    field("platforms", scoring.platforms,
          Items{.min = 1, .max = kMaxPlatforms, .unique = "architecture"}, kRequired);
  }
};

}  // namespace api
