// SPDX-License-Identifier: Apache-2.0
// Builders of the objects that flows create. Fields that a flow does not set have values that the
// API server accepts.
//
//   MakeConfig("arm64-first").Priority(10).ForLabel("tier", "web").Prefer("arm64", 75)
//   MakePod("web").Image(cluster.Image("demo/multi:1")).Label("tier", "web")
#pragma once

#include <string>
#include <vector>

#include "api/testing/make_config.h"
#include "kube/testing/object_builder.h"
#include "kube/types/unstructured.h"

namespace e2e {

using kube::Json;

class PodBuilder : public kube::ObjectBuilder<PodBuilder> {
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
class DeploymentBuilder : public kube::ObjectBuilder<DeploymentBuilder> {
 public:
  DeploymentBuilder(const std::string& name, const PodBuilder& pod);
  DeploymentBuilder& Replicas(int replicas) { return Set("/spec/replicas", replicas); }
};

// Of api/testing, with the namespace of the scene.
using ConfigBuilder = api::MakeConfig;
using ClusterConfigBuilder = api::MakeClusterConfig;

inline PodBuilder MakePod(const std::string& name) { return PodBuilder(name); }
inline DeploymentBuilder MakeDeployment(const std::string& name, const PodBuilder& pod) {
  return {name, pod};
}
inline ConfigBuilder MakeConfig(const std::string& name) {
  return ConfigBuilder(name, /*ns=*/"").Set("/spec/labelSelector", Json::object());
}
inline ClusterConfigBuilder MakeClusterConfig() { return ClusterConfigBuilder(); }

// The data of a Secret with a user and a password for one registry.
std::string DockerConfig(const std::string& host, const std::string& user,
                         const std::string& password);
// A pull secret with DockerConfig().
Json PullSecret(const std::string& name, const std::string& docker_config);

}  // namespace e2e
