// SPDX-License-Identifier: Apache-2.0
#include "placement/matching_configs.h"

#include <algorithm>

#include "api/names.h"
#include "api/validation.h"
#include "kube/types/object_name.h"
#include "placement/pod_metadata.h"
#include "placement/selector.h"

namespace placement {
namespace {

bool Selects(const api::PodPlacementConfig& config, const kube::core::Pod& pod) {
  if (!config.spec.label_selector) return true;
  kube::Result<bool> matches = Matches(*config.spec.label_selector, pod.metadata().labels());
  return matches && *matches;
}

}  // namespace

MatchingConfigs ConfigsFor(const kube::core::Pod& pod,
                           std::span<const api::PodPlacementConfig> all) {
  MatchingConfigs configs;
  for (const api::PodPlacementConfig& config : all) {
    if (config.metadata().namespace_() == pod.metadata().namespace_()) configs.push_back(&config);
  }
  // Before the selection: a config that does not select this pod still holds its priority.
  configs = api::InForce(std::move(configs));
  std::erase_if(configs,
                [&](const api::PodPlacementConfig* config) { return !Selects(*config, pod); });
  return configs;
}

std::vector<PreferenceSource> SourcesOf(const MatchingConfigs& configs,
                                        std::span<const api::Platform> cluster_platforms) {
  std::vector<PreferenceSource> sources;
  for (const api::PodPlacementConfig* config : configs) {
    std::span<const api::Platform> platforms = config->Preferences();
    if (platforms.empty()) continue;
    sources.push_back({SourceOf(config->metadata().name()), {platforms.begin(), platforms.end()}});
  }
  if (!cluster_platforms.empty()) {
    sources.push_back(
        {std::string(kClusterSource), {cluster_platforms.begin(), cluster_platforms.end()}});
  }
  return sources;
}

std::vector<std::string> GatingConfigs(const kube::core::Pod& pod) {
  constexpr size_t kMaxNames = 256;
  std::vector<std::string> names;
  std::string_view text = AnnotationOf(pod, api::kLocalConfigsAnnotation);
  while (!text.empty() && names.size() < kMaxNames) {
    std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    if (kube::IsObjectName(name) && std::find(names.begin(), names.end(), name) == names.end())
      names.emplace_back(name);
  }
  return names;
}

}  // namespace placement
