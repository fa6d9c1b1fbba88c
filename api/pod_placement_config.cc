// SPDX-License-Identifier: Apache-2.0
#include "api/pod_placement_config.h"

#include "api/json_fields.h"

namespace api {

using kube::Json;

kube::Result<PodPlacementConfig> PodPlacementConfig::FromJson(Json json) {
  if (!json.is_object()) return kube::Error::Invalid("PodPlacementConfig: not a JSON object");
  PodPlacementConfig config;
  config.metadata_ = kube::MetadataFromJson(json);
  static const Json kNothing = Json::object();
  const Json* spec = kube::Find(json, "spec");
  config.spec = ReadFields<PodPlacementConfigSpec>(
      spec == nullptr || spec->is_null() ? kNothing : *spec, "spec", config.problems);
  if (const Json* status = kube::Find(json, "status")) {
    FieldErrors ignored;  // the operator replaces a status that does not fit
    config.status = ReadFields<PodPlacementConfigStatus>(*status, "status", ignored);
  }
  return config;
}

std::span<const Platform> PodPlacementConfig::Preferences() const {
  if (!problems.empty() || !spec.plugins || !spec.plugins->node_affinity_scoring) return {};
  const NodeAffinityScoring& scoring = *spec.plugins->node_affinity_scoring;
  if (!scoring.enabled) return {};
  return scoring.platforms;
}

Json SpecToJson(const PodPlacementConfigSpec& spec) { return WriteFields(spec); }

Json StatusToJson(const PodPlacementConfigStatus& status) { return WriteFields(status); }

Json PodPlacementConfig::ToJson() const {
  constexpr kube::Resource kResource = kube::ResourceOf<PodPlacementConfig>::value;
  Json json = {{"apiVersion", kResource.ApiVersion()},
               {"kind", std::string(kResource.kind)},
               {"metadata", kube::MetadataToJson(metadata_)},
               {"spec", SpecToJson(spec)}};
  if (status != PodPlacementConfigStatus()) json["status"] = StatusToJson(status);
  return json;
}

}  // namespace api
