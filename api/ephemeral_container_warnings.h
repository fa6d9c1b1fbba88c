// SPDX-License-Identifier: Apache-2.0
// The plugin ephemeralContainerWarnings of the ClusterPodPlacementConfig: who adds an ephemeral
// container to a pod gets a warning if its image is not for the architecture of the pod's node
// (ephemeral-containers/).
#pragma once

#include "api/fields.h"

namespace api {

struct EphemeralContainerWarnings {
  bool enabled = false;

  bool operator==(const EphemeralContainerWarnings&) const = default;
  static void Fields(auto& plugin, auto& field) { field("enabled", plugin.enabled, kRequired); }
};

}  // namespace api
