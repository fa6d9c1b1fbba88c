// SPDX-License-Identifier: Apache-2.0
// Builders of the objects that flows create. Fields that a flow does not set have values that the
// API server accepts.
//
//   MakeConfig("arm64-first").Priority(10).ForLabel("tier", "web").Prefer("arm64", 75)
//   MakePod("web").Image(cluster.Image("demo/multi:1")).Label("tier", "web")
#pragma once

#include <string>
#include <vector>

#include "kube/types/unstructured.h"

namespace e2e {

using kube::Json;

// Common to all builders; `Self` is the builder.
template <class Self>
class ObjectBuilder {
 public:
  Self& Namespace(const std::string& ns) { return Set("/metadata/namespace", ns); }
  Self& Label(const std::string& key, const std::string& value) {
    object_["metadata"]["labels"][key] = value;
    return self();
  }
  Self& Annotation(const std::string& key, const std::string& value) {
    object_["metadata"]["annotations"][key] = value;
    return self();
  }
  // Any other field, by JSON pointer.
  Self& Set(const std::string& pointer, Json value) {
    object_[Json::json_pointer(pointer)] = std::move(value);
    return self();
  }
  const Json& Build() const { return object_; }

 protected:
  ObjectBuilder(const char* api_version, const char* kind, const std::string& name)
      : object_({{"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}}}}) {}
  Self& self() { return static_cast<Self&>(*this); }

  Json object_;
};

class PodBuilder : public ObjectBuilder<PodBuilder> {
 public:
  explicit PodBuilder(const std::string& name);
  // Adds a container with this image.
  PodBuilder& Image(const std::string& image);
  PodBuilder& NodeSelector(const std::string& key, const std::string& value);
  PodBuilder& PullSecret(const std::string& name);
  // A required term: the label `key` has one of `values`.
  PodBuilder& Require(const std::string& key, std::vector<std::string> values);
  // The user's own preference.
  PodBuilder& Prefer(const std::string& architecture, int weight);
};

// A Deployment with one replica by default.
class DeploymentBuilder : public ObjectBuilder<DeploymentBuilder> {
 public:
  DeploymentBuilder(const std::string& name, const PodBuilder& pod);
  DeploymentBuilder& Replicas(int replicas) { return Set("/spec/replicas", replicas); }
};

class ConfigBuilder : public ObjectBuilder<ConfigBuilder> {
 public:
  explicit ConfigBuilder(const std::string& name);
  ConfigBuilder& Priority(int priority) { return Set("/spec/priority", priority); }
  ConfigBuilder& ForLabel(const std::string& key, const std::string& value);
  ConfigBuilder& Prefer(const std::string& architecture, int weight);
};

class ClusterConfigBuilder : public ObjectBuilder<ClusterConfigBuilder> {
 public:
  ClusterConfigBuilder();
  // Selects only namespaces with this label.
  ClusterConfigBuilder& ForNamespaces(const std::string& key, const std::string& value);
  ClusterConfigBuilder& Prefer(const std::string& architecture, int weight);
  ClusterConfigBuilder& Fallback(const std::string& architecture);
};

inline PodBuilder MakePod(const std::string& name) { return PodBuilder(name); }
inline DeploymentBuilder MakeDeployment(const std::string& name, const PodBuilder& pod) {
  return {name, pod};
}
inline ConfigBuilder MakeConfig(const std::string& name) { return ConfigBuilder(name); }
inline ClusterConfigBuilder MakeClusterConfig() { return ClusterConfigBuilder(); }

}  // namespace e2e
