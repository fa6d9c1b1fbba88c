// SPDX-License-Identifier: Apache-2.0
#include "api/cluster_pod_placement_config.h"

#include <charconv>

#include "api/json_reader.h"
#include "api/label_selector.h"

namespace api {
namespace {

using kube::Json;

constexpr std::chrono::seconds kMinPeriod{5};
constexpr std::chrono::seconds kMaxPeriod{3600};

std::string ReferenceName(JsonReader& spec, std::string_view field) {
  const Json* reference = spec.Object(field);
  if (reference == nullptr) return "";
  JsonReader reader(*reference, spec.PathOf(field), spec.problems());
  return reader.String("name", kRequired);
}

// Leaves `period` as it is when the field is absent or does not fit.
void ReadPeriod(JsonReader& spec, std::string_view field, std::chrono::seconds& period) {
  std::string text = spec.String(field);
  if (text.empty()) return;
  kube::Result<std::chrono::seconds> parsed = ParsePeriod(text);
  if (parsed) {
    period = *parsed;
  } else {
    spec.Problem(field, parsed.error().message());
  }
}

ClusterPodPlacementConfigSpec SpecFromJson(const Json& json, FieldErrors& problems) {
  ClusterPodPlacementConfigSpec spec;
  JsonReader reader(json, "spec", problems);
  std::string verbosity = reader.Enum("logVerbosity", {"Normal", "Debug", "Trace", "TraceAll"});
  if (!verbosity.empty()) spec.log_verbosity = verbosity;
  if (const Json* selector = reader.Object("namespaceSelector")) {
    spec.namespace_selector = LabelSelectorFromJson(*selector, "spec.namespaceSelector", problems);
    ValidateLabelSelector(*spec.namespace_selector, "spec.namespaceSelector", problems);
  }
  if (const Json* plugins = reader.Object("plugins")) {
    spec.plugins = PluginsFromJson(*plugins, "spec.plugins", problems);
  }
  // An empty string means none, as the Go operator writes it.
  if (!reader.String("fallbackArchitecture").empty()) {
    spec.fallback_architecture =
        reader.Enum("fallbackArchitecture", {"arm64", "amd64", "ppc64le", "s390x"});
  }
  spec.global_pull_secret = ReferenceName(reader, "globalPullSecretRef");
  spec.ca_bundle_config_map = ReferenceName(reader, "caBundleConfigMapRef");
  spec.registries_config_map = ReferenceName(reader, "registriesConfigMapRef");
  ReadPeriod(reader, "shardTakeoverAfter", spec.shard_takeover_after);
  ReadPeriod(reader, "inspectionRetryPeriod", spec.inspection_retry_period);
  return spec;
}

}  // namespace

kube::Result<std::chrono::seconds> ParsePeriod(std::string_view text) {
  kube::Error refused =
      kube::Error::Invalid("must be a duration from 5s to 1h, as in 30s or 1m30s");
  const char* at = text.data();
  const char* end = at + text.size();
  std::chrono::seconds total{0};
  if (at == end) return refused;
  while (at != end) {
    uint32_t number = 0;
    auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || next == end || number > static_cast<uint32_t>(kMaxPeriod.count()))
      return refused;
    switch (*next) {
      case 's':
        total += std::chrono::seconds(number);
        break;
      case 'm':
        total += std::chrono::minutes(number);
        break;
      case 'h':
        total += std::chrono::hours(number);
        break;
      default:
        return refused;
    }
    if (total > kMaxPeriod) return refused;
    at = next + 1;
  }
  if (total < kMinPeriod) return refused;
  return total;
}

kube::Result<ClusterPodPlacementConfig> ClusterPodPlacementConfig::FromJson(Json json) {
  if (!json.is_object())
    return kube::Error::Invalid("ClusterPodPlacementConfig: not a JSON object");
  ClusterPodPlacementConfig config;
  config.metadata_ = kube::MetadataFromJson(json);
  static const Json kNothing = Json::object();
  const Json* spec = kube::Find(json, "spec");
  config.spec =
      SpecFromJson(spec == nullptr || spec->is_null() ? kNothing : *spec, config.problems);
  if (const Json* status = kube::Find(json, "status"))
    config.status.conditions = ConditionsFromJson(*status);
  return config;
}

std::span<const Platform> ClusterPodPlacementConfig::Preferences() const {
  if (!spec.plugins || !spec.plugins->node_affinity_scoring) return {};
  const NodeAffinityScoring& scoring = *spec.plugins->node_affinity_scoring;
  if (!scoring.enabled) return {};
  return scoring.platforms;
}

bool ClusterPodPlacementConfig::WantsExecFormatErrorMonitor() const {
  return spec.plugins && spec.plugins->exec_format_error_monitor_enabled.value_or(false);
}

Json SpecToJson(const ClusterPodPlacementConfigSpec& spec) {
  Json json = {{"logVerbosity", spec.log_verbosity}};
  if (spec.namespace_selector)
    json["namespaceSelector"] = LabelSelectorToJson(*spec.namespace_selector);
  if (spec.plugins) json["plugins"] = PluginsToJson(*spec.plugins);
  if (!spec.fallback_architecture.empty())
    json["fallbackArchitecture"] = spec.fallback_architecture;
  auto set_reference = [&](const char* field, const std::string& name) {
    if (!name.empty()) json[field] = {{"name", name}};
  };
  set_reference("globalPullSecretRef", spec.global_pull_secret);
  set_reference("caBundleConfigMapRef", spec.ca_bundle_config_map);
  set_reference("registriesConfigMapRef", spec.registries_config_map);
  auto set_period = [&](const char* field, std::chrono::seconds period,
                        std::chrono::seconds by_default) {
    if (period != by_default) json[field] = std::to_string(period.count()) + "s";
  };
  set_period("shardTakeoverAfter", spec.shard_takeover_after, kDefaultShardTakeoverAfter);
  set_period("inspectionRetryPeriod", spec.inspection_retry_period, kDefaultInspectionRetryPeriod);
  return json;
}

Json StatusToJson(const ClusterPodPlacementConfigStatus& status) {
  return {{"conditions", ConditionsToJson(status.conditions)}};
}

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
