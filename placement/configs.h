// SPDX-License-Identifier: Apache-2.0
// Which configurations apply to a pod, and in which order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/platform.h"
#include "api/pod_placement_config.h"
#include "kube/types/core.pb.h"
#include "placement/preference.h"

namespace placement {

// Not owned; used at once.
using Configs = std::vector<const api::PodPlacementConfig*>;

// The configs of `all` that are in the pod's namespace, in force there (api::InForce) and select
// the pod: higher priority first. An absent selector selects as an empty one does: every pod.
Configs ConfigsFor(const kube::core::Pod& pod, std::span<const api::PodPlacementConfig> all);

// The preferences of `configs` in their order, then those of the cluster's configuration. Configs
// with the plugin off have none and are left out.
std::vector<PreferenceSource> SourcesOf(const Configs& configs,
                                        std::span<const api::Platform> cluster_platforms = {});

// The PodPlacementConfigs that gated the pod, by its annotation local-configs: each name once, at
// most 256, and nothing that cannot be a name.
std::vector<std::string> GatingConfigs(const kube::core::Pod& pod);

}  // namespace placement
