// SPDX-License-Identifier: Apache-2.0
// The plugin imageFindings of the ClusterPodPlacementConfig: images that do not run on an
// architecture that their index names are placed on others (image-facts/findings/). Absent: it is
// enabled with the plugin execFormatErrorMonitor.
#pragma once

#include "api/fields.h"

namespace api {

struct ImageFindingsPlugin {
  bool enabled = false;
  // Whether the programs of images are read from registries, before a container has failed.
  bool inspect_entrypoints = false;

  bool operator==(const ImageFindingsPlugin&) const = default;
  static void Fields(auto& plugin, auto& field) {
    field("enabled", plugin.enabled, kRequired);
    field("inspectEntrypoints", plugin.inspect_entrypoints);
  }
};

}  // namespace api
