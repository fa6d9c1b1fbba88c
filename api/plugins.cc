// SPDX-License-Identifier: Apache-2.0
#include "api/plugins.h"

#include <algorithm>

#include "api/json_reader.h"

namespace api {
namespace {

using kube::Json;

// One for each architecture, and room to say which one is a duplicate.
constexpr size_t kMaxPlatforms = 16;

NodeAffinityScoring ScoringFromJson(const Json& json, const std::string& path,
                                    FieldErrors& problems) {
  NodeAffinityScoring scoring;
  JsonReader reader(json, path, problems);
  scoring.enabled = reader.Bool("enabled", kRequired);
  const Json* platforms = reader.Array("platforms", kMaxPlatforms, kRequired);
  if (platforms == nullptr) return scoring;
  if (platforms->empty()) reader.Problem("platforms", "must have at least one item");
  for (size_t i = 0; i < platforms->size(); ++i) {
    size_t before = problems.size();
    JsonReader item((*platforms)[i], reader.PathOf("platforms[" + std::to_string(i) + "]"),
                    problems);
    Platform platform;
    platform.architecture =
        item.Enum("architecture", {"arm64", "amd64", "ppc64le", "s390x"}, kRequired);
    platform.weight =
        static_cast<int32_t>(item.Int("weight", {.low = 1, .high = 100, .presence = kRequired}));
    bool seen = std::any_of(
        scoring.platforms.begin(), scoring.platforms.end(),
        [&](const Platform& other) { return other.architecture == platform.architecture; });
    if (seen) item.Problem("architecture", "\"" + platform.architecture + "\" is there twice");
    if (problems.size() == before) scoring.platforms.push_back(std::move(platform));
  }
  return scoring;
}

}  // namespace

Plugins PluginsFromJson(const Json& json, const std::string& path, FieldErrors& problems) {
  Plugins plugins;
  JsonReader reader(json, path, problems);
  if (const Json* scoring = reader.Object("nodeAffinityScoring")) {
    plugins.node_affinity_scoring =
        ScoringFromJson(*scoring, reader.PathOf("nodeAffinityScoring"), problems);
  }
  if (const Json* monitor = reader.Object("execFormatErrorMonitor")) {
    JsonReader fields(*monitor, reader.PathOf("execFormatErrorMonitor"), problems);
    plugins.exec_format_error_monitor_enabled = fields.Bool("enabled", kRequired);
  }
  return plugins;
}

Json PluginsToJson(const Plugins& plugins) {
  Json json = Json::object();
  if (plugins.node_affinity_scoring) {
    Json platforms = Json::array();
    for (const Platform& platform : plugins.node_affinity_scoring->platforms) {
      platforms.push_back({{"architecture", platform.architecture}, {"weight", platform.weight}});
    }
    json["nodeAffinityScoring"] = {{"enabled", plugins.node_affinity_scoring->enabled},
                                   {"platforms", std::move(platforms)}};
  }
  if (plugins.exec_format_error_monitor_enabled) {
    json["execFormatErrorMonitor"] = {{"enabled", *plugins.exec_format_error_monitor_enabled}};
  }
  return json;
}

}  // namespace api
