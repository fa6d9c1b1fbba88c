// SPDX-License-Identifier: Apache-2.0
#include "api/cluster_pod_placement_config.h"

#include "api/json_fields.h"

namespace api {

using kube::Json;

kube::Result<ClusterPodPlacementConfig> ClusterPodPlacementConfig::FromJson(Json json) {
  if (!json.is_object())
    return kube::Error::Invalid("ClusterPodPlacementConfig: not a JSON object");
  ClusterPodPlacementConfig config;
  config.metadata_ = kube::MetadataFromJson(json);
  ReadSpecAndStatus(json, config);
  if (config.spec.operands) RefuseUnfit(*config.spec.operands, config.problems);
  return config;
}

std::span<const Platform> ClusterPodPlacementConfig::Preferences() const {
  if (!spec.plugins || !spec.plugins->node_affinity_scoring) return {};
  const NodeAffinityScoring& scoring = *spec.plugins->node_affinity_scoring;
  if (!scoring.enabled) return {};
  return scoring.platforms;
}

bool ClusterPodPlacementConfig::NamespaceTakesPrecedence() const {
  return spec.plugins && spec.plugins->node_affinity_scoring &&
         spec.plugins->node_affinity_scoring->precedence == kPrecedenceOfNamespace;
}

const ArchitectureTolerations* ClusterPodPlacementConfig::Tolerations() const {
  if (!spec.plugins || !spec.plugins->architecture_tolerations) return nullptr;
  return &*spec.plugins->architecture_tolerations;
}

const SchedulingPolicies* ClusterPodPlacementConfig::EnabledSchedulingPolicies() const {
  if (!spec.plugins || !spec.plugins->scheduling_policies) return nullptr;
  const SchedulingPolicies& policies = *spec.plugins->scheduling_policies;
  return policies.enabled ? &policies : nullptr;
}

TemplatesPlugin ClusterPodPlacementConfig::Templates() const {
  if (!spec.plugins) return {};
  return spec.plugins->templates.value_or(TemplatesPlugin());
}

DaemonSetsPlugin ClusterPodPlacementConfig::DaemonSets() const {
  if (!spec.plugins) return {};
  return spec.plugins->daemon_sets.value_or(DaemonSetsPlugin());
}

bool ClusterPodPlacementConfig::WantsAmd64Levels() const {
  return spec.plugins && spec.plugins->amd64_levels && spec.plugins->amd64_levels->enabled;
}

bool ClusterPodPlacementConfig::WantsEphemeralContainerWarnings() const {
  return spec.plugins && spec.plugins->ephemeral_container_warnings &&
         spec.plugins->ephemeral_container_warnings->enabled;
}

bool ClusterPodPlacementConfig::WantsExecFormatErrorMonitor() const {
  return spec.plugins && spec.plugins->exec_format_error_monitor &&
         spec.plugins->exec_format_error_monitor->enabled;
}

ImageFindingsPlugin ClusterPodPlacementConfig::ImageFindings() const {
  if (spec.plugins && spec.plugins->image_findings) return *spec.plugins->image_findings;
  return {.enabled = WantsExecFormatErrorMonitor()};
}

Json SpecToJson(const ClusterPodPlacementConfigSpec& spec) { return WriteFields(spec); }

Json StatusToJson(const ClusterPodPlacementConfigStatus& status) { return WriteFields(status); }

Json ClusterPodPlacementConfig::ToJson() const { return WriteObject(*this); }

}  // namespace api
