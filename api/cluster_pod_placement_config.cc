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
  static const Json kNothing = Json::object();
  const Json* spec = kube::Find(json, "spec");
  config.spec = ReadFields<ClusterPodPlacementConfigSpec>(
      spec == nullptr || spec->is_null() ? kNothing : *spec, "spec", config.problems);
  if (const Json* status = kube::Find(json, "status")) {
    FieldErrors ignored;  // the operator replaces a status that does not fit
    config.status = ReadFields<ClusterPodPlacementConfigStatus>(*status, "status", ignored);
  }
  return config;
}

std::span<const Platform> ClusterPodPlacementConfig::Preferences() const {
  if (!spec.plugins || !spec.plugins->node_affinity_scoring) return {};
  const NodeAffinityScoring& scoring = *spec.plugins->node_affinity_scoring;
  if (!scoring.enabled) return {};
  return scoring.platforms;
}

bool ClusterPodPlacementConfig::WantsExecFormatErrorMonitor() const {
  return spec.plugins && spec.plugins->exec_format_error_monitor &&
         spec.plugins->exec_format_error_monitor->enabled;
}

Json SpecToJson(const ClusterPodPlacementConfigSpec& spec) { return WriteFields(spec); }

Json StatusToJson(const ClusterPodPlacementConfigStatus& status) { return WriteFields(status); }

Json ClusterPodPlacementConfig::ToJson() const {
  constexpr kube::Resource kResource = kube::ResourceOf<ClusterPodPlacementConfig>::value;
  Json json = {{"apiVersion", kResource.ApiVersion()},
               {"kind", std::string(kResource.kind)},
               {"metadata", kube::MetadataToJson(metadata_)},
               {"spec", SpecToJson(spec)}};
  if (status != ClusterPodPlacementConfigStatus()) json["status"] = StatusToJson(status);
  return json;
}

}  // namespace api
