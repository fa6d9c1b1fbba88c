// SPDX-License-Identifier: Apache-2.0
#include "api/testing/make_config.h"

#include "api/label_selector.h"

namespace api {

using kube::Json;

MakeConfig::MakeConfig(std::string_view name, std::string_view ns)
    : ConfigBuilder("PodPlacementConfig", name) {
  if (!ns.empty()) Namespace(ns);
  Set("/spec/plugins", Json::object());
}

MakeConfig& MakeConfig::ForLabel(const std::string& key, std::string_view value) {
  object_["spec"]["labelSelector"]["matchLabels"][key] = value;
  return *this;
}

MakeConfig& MakeConfig::Sized(size_t bytes) {
  constexpr size_t kValueBytes = 60;
  constexpr size_t kValues = kMaxSelectorValues / 2;
  kube::Json& expressions = object_["spec"]["labelSelector"]["matchExpressions"];
  for (size_t i = 0; i < bytes / (kValueBytes + 3); ++i) {
    if (i % kValues == 0) expressions.push_back({{"key", "k"}, {"operator", "In"}});
    expressions.back()["values"].push_back(std::string(kValueBytes, 'a'));
  }
  return *this;
}

MakeConfig& MakeConfig::Rule(std::string_view name, std::string_view expression,
                             std::string_view architecture, int weight) {
  Json platform = {{"architecture", architecture}, {"weight", weight}};
  object_["spec"]["celRules"].push_back(
      {{"name", name}, {"expression", expression}, {"platforms", Json::array({platform})}});
  return *this;
}

MakeConfig& MakeConfig::Rules(const std::vector<std::string>& expressions) {
  for (size_t i = 0; i < expressions.size(); ++i)
    Rule("r" + std::to_string(i), expressions[i], "arm64", 1);
  return *this;
}

MakeConfig::operator PodPlacementConfig() const {
  return PodPlacementConfig::FromJson(Build()).value();
}

MakeClusterConfig::MakeClusterConfig(std::string_view name)
    : ConfigBuilder("ClusterPodPlacementConfig", name) {
  Set("/spec/logVerbosity", "Normal");
}

MakeClusterConfig& MakeClusterConfig::ForNamespaces(const std::string& key,
                                                    std::string_view value) {
  object_["spec"]["namespaceSelector"]["matchLabels"][key] = value;
  return *this;
}

MakeClusterConfig& MakeClusterConfig::Fallback(std::string_view architecture) {
  return Set("/spec/fallbackArchitecture", architecture);
}

MakeClusterConfig::operator ClusterPodPlacementConfig() const {
  return ClusterPodPlacementConfig::FromJson(Build()).value();
}

}  // namespace api
