// SPDX-License-Identifier: Apache-2.0
// What the ClusterPodPlacementConfig says about pods whose images are known. Pure.
#pragma once

#include <optional>

#include "api/cluster_pod_placement_config.h"
#include "placement/platforms.h"
#include "placement/release.h"

namespace image_facts {

// Whether such pods may be placed at their creation.
bool AllowsPlacing(const api::ClusterPodPlacementConfig& config);

// What `config` alone decides for a pod whose images have `common` in common; nullopt: the pod
// takes no requirement. The result refers to `config`.
placement::ClusterDecision DecisionBy(const api::ClusterPodPlacementConfig& config,
                                      std::optional<placement::CommonPlatforms> common);

}  // namespace image_facts
