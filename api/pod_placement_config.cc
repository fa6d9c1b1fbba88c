// SPDX-License-Identifier: Apache-2.0
#include "api/pod_placement_config.h"

#include "api/json_reader.h"
#include "api/label_selector.h"

namespace api {
namespace {

using kube::Json;

constexpr int64_t kMaxPriority = 255;

PodPlacementConfigSpec SpecFromJson(const Json& json, FieldErrors& problems) {
  PodPlacementConfigSpec spec;
  JsonReader reader(json, "spec", problems);
  if (const Json* selector = reader.Object("labelSelector")) {
    spec.label_selector = LabelSelectorFromJson(*selector, "spec.labelSelector", problems);
    ValidateLabelSelector(*spec.label_selector, "spec.labelSelector", problems);
  }
  spec.priority = static_cast<int32_t>(reader.Int("priority", {.low = 0, .high = kMaxPriority}));
  if (const Json* plugins = reader.Object("plugins", kRequired)) {
    spec.plugins = PluginsFromJson(*plugins, "spec.plugins", problems);
  }
  return spec;
}

PodPlacementConfigStatus StatusFromJson(const Json& json) {
  PodPlacementConfigStatus status;
  status.observed_generation = kube::IntAt(json, "observedGeneration");
  status.conditions = ConditionsFromJson(json);
  const Json* controllers = kube::Find(json, "controllers");
  if (controllers == nullptr || !controllers->is_array()) return status;
  for (const Json& item : *controllers) {
    status.controllers.push_back({.name = kube::StringAt(item, "name"),
                                  .kind = kube::StringAt(item, "kind"),
                                  .replicas = kube::IntAt(item, "replicas"),
                                  .ready_replicas = kube::IntAt(item, "readyReplicas"),
                                  .version = kube::StringAt(item, "version")});
  }
  return status;
}

}  // namespace

kube::Result<PodPlacementConfig> PodPlacementConfig::FromJson(Json json) {
  if (!json.is_object()) return kube::Error::Invalid("PodPlacementConfig: not a JSON object");
  PodPlacementConfig config;
  config.metadata_ = kube::MetadataFromJson(json);
  static const Json kNothing = Json::object();
  const Json* spec = kube::Find(json, "spec");
  config.spec =
      SpecFromJson(spec == nullptr || spec->is_null() ? kNothing : *spec, config.problems);
  if (const Json* status = kube::Find(json, "status")) config.status = StatusFromJson(*status);
  return config;
}

std::span<const Platform> PodPlacementConfig::Preferences() const {
  if (!problems.empty() || !spec.plugins || !spec.plugins->node_affinity_scoring) return {};
  const NodeAffinityScoring& scoring = *spec.plugins->node_affinity_scoring;
  if (!scoring.enabled) return {};
  return scoring.platforms;
}

Json SpecToJson(const PodPlacementConfigSpec& spec) {
  Json json = {{"priority", spec.priority}};
  if (spec.label_selector) json["labelSelector"] = LabelSelectorToJson(*spec.label_selector);
  if (spec.plugins) json["plugins"] = PluginsToJson(*spec.plugins);
  return json;
}

Json StatusToJson(const PodPlacementConfigStatus& status) {
  Json controllers = Json::array();
  for (const ShardController& controller : status.controllers) {
    controllers.push_back({{"name", controller.name},
                           {"kind", controller.kind},
                           {"replicas", controller.replicas},
                           {"readyReplicas", controller.ready_replicas},
                           {"version", controller.version}});
  }
  return {{"observedGeneration", status.observed_generation},
          {"conditions", ConditionsToJson(status.conditions)},
          {"controllers", std::move(controllers)}};
}

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
