// SPDX-License-Identifier: Apache-2.0
// MatchingConfigs: the PodPlacementConfigs that apply to a pod, in order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/platform.h"
#include "api/pod_placement_config.h"
#include "kube/types/core.pb.h"
#include "placement/preference.h"

namespace placement {

// By descending priority. Not owned: valid while the configs that they were selected from are.
using MatchingConfigs = std::vector<const api::PodPlacementConfig*>;

// The configs of `all` that are in the pod's namespace, in force there (api::InForce) and select
// the pod. An absent selector, like an empty one, selects every pod.
MatchingConfigs ConfigsFor(const kube::core::Pod& pod,
                           std::span<const api::PodPlacementConfig> all);

// The preferences of `configs` in their order, then those of the ClusterPodPlacementConfig. Configs
// without preferences are skipped.
std::vector<PreferenceSource> SourcesOf(const MatchingConfigs& configs,
                                        std::span<const api::Platform> cluster_platforms = {});

// The names of the PodPlacementConfigs for which the pod was gated, from its annotation
// local-configs: each valid name once, at most 256.
std::vector<std::string> GatingConfigs(const kube::core::Pod& pod);

}  // namespace placement
