// SPDX-License-Identifier: Apache-2.0
// MakeConfig and MakeClusterConfig: builders of both kinds, as JSON (Build()) or, read from it, as
// the type.
//
//   PodPlacementConfig config = MakeConfig("a", "shop").Priority(9).Prefer("arm64", 75);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "kube/testing/object_builder.h"

namespace api {

// What both kinds have.
template <class Self>
class ConfigBuilder : public kube::ObjectBuilder<Self> {
 public:
  // The plugin nodeAffinityScoring with this platform, after those added before.
  Self& Prefer(std::string_view architecture, int weight) {
    kube::Json& scoring = this->object_["spec"]["plugins"]["nodeAffinityScoring"];
    scoring["enabled"] = true;
    scoring["platforms"].push_back({{"architecture", architecture}, {"weight", weight}});
    return this->self();
  }
  // The plugin architectureTolerations.
  Self& Tolerate(bool enabled = true) {
    return this->Set("/spec/plugins/architectureTolerations/enabled", enabled);
  }

 protected:
  ConfigBuilder(std::string_view kind, std::string_view name)
      : kube::ObjectBuilder<Self>("multiarch.openshift.io/v1beta1", kind, name) {}
};

class MakeConfig : public ConfigBuilder<MakeConfig> {
 public:
  // Defaults: every pod, no priority, no plugin. An empty `ns` stays absent.
  explicit MakeConfig(std::string_view name, std::string_view ns = "ns");

  MakeConfig& Priority(int priority) { return Set("/spec/priority", priority); }
  // Selects only pods with this label.
  MakeConfig& ForLabel(const std::string& key, std::string_view value);
  // Adds values to the selector: about so many bytes as JSON.
  MakeConfig& Sized(size_t bytes);
  // Adds a rule.
  MakeConfig& Rule(std::string_view name, std::string_view expression,
                   std::string_view architecture, int weight);
  // Adds rules "r0", "r1", ... that prefer arm64.
  MakeConfig& Rules(const std::vector<std::string>& expressions);

  operator PodPlacementConfig() const;  // NOLINT: a builder is what it builds
};

class MakeClusterConfig : public ConfigBuilder<MakeClusterConfig> {
 public:
  // Defaults: log verbosity Normal, every namespace, no plugin.
  explicit MakeClusterConfig(std::string_view name = kClusterConfigName);

  // Selects only namespaces with this label.
  MakeClusterConfig& ForNamespaces(const std::string& key, std::string_view value);
  MakeClusterConfig& Fallback(std::string_view architecture);

  operator ClusterPodPlacementConfig() const;  // NOLINT: a builder is what it builds
};

}  // namespace api
