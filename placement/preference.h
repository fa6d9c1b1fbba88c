// SPDX-License-Identifier: Apache-2.0
// Preferences: the weighted kubernetes.io/arch terms that configurations add to a pod's preferred
// node affinity.
//
// Who set what is kept in the pod's annotation preferred-affinity-sources
// ("arm64:75:PodPlacementConfig-a, amd64:50:ClusterPodPlacementConfig:skipped", without the blank).
// That ledger tells our terms from the user's, so that applying twice is applying once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "api/platform.h"
#include "kube/types/core.pb.h"

namespace placement {

inline constexpr std::string_view kClusterSource = "ClusterPodPlacementConfig";
// "PodPlacementConfig-NAME"
std::string SourceOf(std::string_view pod_placement_config_name);

// What one configuration prefers.
struct PreferenceSource {
  std::string name;
  std::vector<api::Platform> platforms;
};

struct PreferenceResult {
  // The pod's author has preferences on the architecture: they win, nothing was set.
  bool user_preferences = false;
  // Sources of which at least one preference was set now.
  std::vector<std::string> set;
  // "arm64 of PodPlacementConfig-b": left out now, because a source before it had set that
  // architecture.
  std::vector<std::string> duplicates;
};

// Adds the preferences of `sources`, which come in the order in which they count: an architecture
// that one of them set is not set again by a later one. A preferred term on the architecture that
// is not ours switches all of them off. What is left out is recorded as skipped. Sets the label
// preferred-node-affinity (set, not-set) unless `sources` is empty.
PreferenceResult ApplyPreferences(kube::core::Pod& pod, std::span<const PreferenceSource> sources);

}  // namespace placement
