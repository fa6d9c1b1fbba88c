// SPDX-License-Identifier: Apache-2.0
// What a decision adds to the preferred node affinity of a pod, and how it records it
// (docs/reference.md, Labels and Annotations of pods; docs/preferences.md).
//
// CEL rules are not part of the model: a rule that matches would be a source before its
// configuration's own, with the name PodPlacementConfig-NAME/RULE. The caller does not judge the
// preferences of pods that a configuration with rules selects.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/checker/configs.h"

namespace sim::checker {

// The preferences of one configuration.
struct PreferenceSource {
  std::string name;
  std::vector<PlatformWeight> platforms;
};

struct PreferenceAnswer {
  // As canonical texts: "arm64:75".
  std::multiset<std::string> added;
  // All entries of preferred-affinity-sources afterwards.
  std::multiset<std::string> entries;
  // The pod has a preference of a configuration.
  bool has_any = false;
  // Nothing was to be applied: a program may leave the label as it is.
  bool no_sources = false;
};

// The configurations of a namespace that select the pod, by descending priority.
NamespaceConfigs SelectedBy(const InForce& in_force, const Json& pod);
std::vector<PreferenceSource> SourcesOf(const NamespaceConfigs& configs);
std::vector<PreferenceSource> SourcesOf(const ClusterConfig& config);

// What applying `sources`, in their order, makes of the pod `before`.
PreferenceAnswer Prefer(const Json& before, const std::vector<PreferenceSource>& sources);

// How the pod `after` differs from the answer; "" if it does not.
std::string DiffersFrom(const PreferenceAnswer& answer, const Json& before, const Json& after);

// Whether the pod was placed at its creation, and waits for its shard alone (docs/protocol.md,
// T14).
bool IsPlacedBehindLocalGate(const Json& pod);
// Such a pod without the preferences of the ClusterPodPlacementConfig and their record: the shard
// puts those of PodPlacementConfigs before them. `taken`: these.
Json WithoutPreferencesOfCluster(Json pod, std::vector<PlatformWeight>& taken);

// How a PodPlacementConfig has given the pod preferences, by its annotation: `set`, or only
// `skipped` ones.
struct NamespacePreferences {
  bool set = false;
  bool skipped = false;
};
NamespacePreferences OfNamespace(const Json& pod);

}  // namespace sim::checker
