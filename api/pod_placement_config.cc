// SPDX-License-Identifier: Apache-2.0
#include "api/pod_placement_config.h"

#include "api/json_fields.h"

namespace api {

using kube::Json;

kube::Result<PodPlacementConfig> PodPlacementConfig::FromJson(Json json) {
  if (!json.is_object()) return kube::Error::Invalid("PodPlacementConfig: not a JSON object");
  PodPlacementConfig config;
  config.metadata_ = kube::MetadataFromJson(json);
  auto spec = json.find("spec");
  if (spec != json.end()) config.spec_bytes = kube::DumpJson(*spec).size();
  bool too_large = config.spec_bytes > kMaxConfigBytes;
  if (too_large) *spec = {{"priority", kube::IntAt(*spec, "priority")}};
  ReadSpecAndStatus(json, config);
  if (too_large) config.LeaveOut(TooManyBytes(config.spec_bytes));
  return config;
}

std::string TooManyBytes(size_t spec_bytes) {
  return "has " + std::to_string(spec_bytes) + " bytes as JSON, at most " +
         std::to_string(kMaxConfigBytes) + " are allowed";
}

void PodPlacementConfig::LeaveOut(std::string why) {
  spec = {.label_selector = {}, .priority = spec.priority, .plugins = Plugins(), .cel_rules = {}};
  problems = {{"spec", std::move(why)}};
  too_large = true;
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
