// SPDX-License-Identifier: Apache-2.0
// MatchingConfigs: the PodPlacementConfigs that apply to a pod, in order, and which of their rules
// match it.
#pragma once

#include <bitset>
#include <span>
#include <string>
#include <vector>

#include "api/cel_rule.h"
#include "api/platform.h"
#include "api/pod_placement_config.h"
#include "kube/types/core.pb.h"
#include "placement/preference.h"

namespace placement {

// A config that selects the pod by its labels.
struct MatchingConfig {
  MatchingConfig(const api::PodPlacementConfig* c) : config(c) {}  // NOLINT: most have no rules

  // Not owned.
  const api::PodPlacementConfig* config;
  // Those of config->Rules() that match the pod, by index.
  std::bitset<api::kMaxCelRules> rules = {};
  // Whether the other rules match is not known: the API server knows (rules/asker.h).
  bool open = false;
  // Why the API server did not answer.
  std::string rules_error = {};
};

// By descending priority. Valid while the configs that they were selected from are.
using MatchingConfigs = std::vector<MatchingConfig>;

// The configs of `all` that are in the pod's namespace, in force there (api::InForce) and select
// the pod. An absent selector, like an empty one, selects every pod. Rules match if the local
// webhook has recorded them (local_configs.h); the record of a pod without the local gate was
// copied from another pod, and does not count.
MatchingConfigs ConfigsFor(const kube::core::Pod& pod,
                           std::span<const api::PodPlacementConfig> all);

// Whether any of `configs` is open.
bool HasOpenRules(const MatchingConfigs& configs);

// The preferences of `configs` in their order, those of each config's matching rules first; then
// those of the ClusterPodPlacementConfig. Configs without preferences are skipped.
std::vector<PreferenceSource> SourcesOf(const MatchingConfigs& configs,
                                        std::span<const api::Platform> cluster_platforms = {});

}  // namespace placement
