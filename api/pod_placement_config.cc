// SPDX-License-Identifier: Apache-2.0
#include "api/pod_placement_config.h"

#include "api/json_fields.h"

namespace api {

using kube::Json;

kube::Result<PodPlacementConfig> PodPlacementConfig::FromJson(Json json) {
  if (!json.is_object()) return kube::Error::Invalid("PodPlacementConfig: not a JSON object");
  PodPlacementConfig config;
  config.metadata_ = kube::MetadataFromJson(json);
  ReadSpecAndStatus(json, config);
  return config;
}

std::span<const Platform> PodPlacementConfig::Preferences() const {
  if (!problems.empty() || !spec.plugins || !spec.plugins->node_affinity_scoring) return {};
  const NodeAffinityScoring& scoring = *spec.plugins->node_affinity_scoring;
  if (!scoring.enabled) return {};
  return scoring.platforms;
}

std::span<const CelRule> PodPlacementConfig::Rules() const {
  if (!problems.empty()) return {};
  return spec.cel_rules;
}

const ArchitectureTolerations* PodPlacementConfig::Tolerations() const {
  if (!problems.empty() || !spec.plugins || !spec.plugins->architecture_tolerations) return nullptr;
  return &*spec.plugins->architecture_tolerations;
}

Json SpecToJson(const PodPlacementConfigSpec& spec) { return WriteFields(spec); }

Json StatusToJson(const PodPlacementConfigStatus& status) { return WriteFields(status); }

Json PodPlacementConfig::ToJson() const { return WriteObject(*this); }

}  // namespace api
