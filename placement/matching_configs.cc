// SPDX-License-Identifier: Apache-2.0
#include "placement/matching_configs.h"

#include <algorithm>

#include "api/names.h"
#include "api/validation.h"
#include "placement/gate.h"
#include "placement/local_configs.h"
#include "placement/selector.h"

namespace placement {
namespace {

bool Selects(const api::PodPlacementConfig& config, const kube::core::Pod& pod) {
  if (!config.spec.label_selector) return true;
  kube::Result<bool> matches = Matches(*config.spec.label_selector, pod.metadata().labels());
  return matches && *matches;
}

std::span<const api::CelRule> RulesOf(const MatchingConfig& matching) {
  std::span<const api::CelRule> rules = matching.config->Rules();
  return rules.first(std::min(rules.size(), matching.rules.size()));
}

void ReadRecord(const kube::core::Pod& pod, MatchingConfigs& configs) {
  for (const LocalConfig& entry : LocalConfigsOf(pod)) {
    auto matching = std::find_if(configs.begin(), configs.end(), [&](const MatchingConfig& one) {
      return one.config->metadata().name() == entry.config;
    });
    if (entry.rule.empty() || matching == configs.end()) continue;
    std::span<const api::CelRule> rules = RulesOf(*matching);
    for (size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].name == entry.rule) matching->rules.set(i);
    }
  }
}

}  // namespace

MatchingConfigs ConfigsFor(const kube::core::Pod& pod,
                           std::span<const api::PodPlacementConfig> all) {
  std::vector<const api::PodPlacementConfig*> configs;
  for (const api::PodPlacementConfig& config : all) {
    if (config.metadata().namespace_() == pod.metadata().namespace_()) configs.push_back(&config);
  }
  // Before the selection: a config that does not select this pod still holds its priority.
  configs = api::InForce(std::move(configs));
  MatchingConfigs matching;
  bool rules = false;
  for (const api::PodPlacementConfig* config : configs) {
    if (!Selects(*config, pod)) continue;
    matching.emplace_back(config);
    rules |= !config->Rules().empty();
  }
  if (!rules) return matching;
  if (HasGate(pod, api::kLocalGate)) ReadRecord(pod, matching);
  for (MatchingConfig& one : matching) one.open = one.rules.count() < RulesOf(one).size();
  return matching;
}

bool HasOpenRules(const MatchingConfigs& configs) {
  return std::any_of(configs.begin(), configs.end(),
                     [](const MatchingConfig& matching) { return matching.open; });
}

std::vector<PreferenceSource> SourcesOf(const MatchingConfigs& configs,
                                        std::span<const api::Platform> cluster_platforms) {
  std::vector<PreferenceSource> sources;
  for (const MatchingConfig& matching : configs) {
    const std::string& name = matching.config->metadata().name();
    std::span<const api::CelRule> rules = RulesOf(matching);
    for (size_t i = 0; i < rules.size(); ++i) {
      if (matching.rules[i])
        sources.push_back({SourceOf(name + "/" + rules[i].name), rules[i].platforms});
    }
    std::span<const api::Platform> platforms = matching.config->Preferences();
    if (!platforms.empty())
      sources.push_back({SourceOf(name), {platforms.begin(), platforms.end()}});
  }
  if (!cluster_platforms.empty()) {
    sources.push_back(
        {std::string(kClusterSource), {cluster_platforms.begin(), cluster_platforms.end()}});
  }
  return sources;
}

}  // namespace placement
