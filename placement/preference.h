// SPDX-License-Identifier: Apache-2.0
// Preferences: the weighted kubernetes.io/arch terms that configurations add to a pod's preferred
// node affinity.
//
// The pod's annotation preferred-affinity-sources records the source of each
// ("arm64:75:PodPlacementConfig-a,amd64:50:ClusterPodPlacementConfig:skipped"). It distinguishes
// the terms of configurations from the user's: applying preferences twice has the same result as
// once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "api/platform.h"
#include "kube/types/core.pb.h"

namespace placement {

inline constexpr std::string_view kClusterSource = "ClusterPodPlacementConfig";
// "PodPlacementConfig-NAME"; for a rule, `name` is CONFIG/RULE.
std::string SourceOf(std::string_view name);

// The preferences of one configuration.
struct PreferenceSource {
  std::string name;
  std::vector<api::Platform> platforms;
};

struct PreferenceResult {
  // The user has preferences on kubernetes.io/arch: they take precedence, nothing was set.
  bool user_preferences = false;
  // The sources with at least one preference that was set by this call.
  std::vector<std::string> set;
  // "arm64 of PodPlacementConfig-b": skipped by this call, because an earlier source had set that
  // architecture, or because of user_preferences.
  std::vector<std::string> duplicates;
  // As above, because the pod has kMaxArchitectures preferences of configurations.
  std::vector<std::string> beyond_limit;
};

// An entry of the record, which a user can write as well.
struct RecordedPreference {
  std::string architecture;
  int32_t weight = 0;
  std::string source;
  bool skipped = false;
};
// The valid entries, at most 256.
std::vector<RecordedPreference> RecordedPreferences(const kube::core::Pod& pod);

// True if a PodPlacementConfig has given `pod` a preference, which may have been skipped.
bool HasPreferencesOfNamespace(const kube::core::Pod& pod);

// Removes the preferences that the ClusterPodPlacementConfig has given `pod`, with their record.
// Returns: them, in their order, with those that were skipped.
std::vector<api::Platform> TakeClusterPreferences(kube::core::Pod& pod);

// Adds the preferences of `sources`, up to kMaxArchitectures (architecture.h). The first source
// with an architecture sets it; later ones skip it. If the user has a preferred term on
// kubernetes.io/arch, all are skipped. Skipped preferences are recorded as such. Sets the label
// preferred-node-affinity (set, not-set) unless `sources` is empty.
PreferenceResult ApplyPreferences(kube::core::Pod& pod, std::span<const PreferenceSource> sources);

}  // namespace placement
