// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/objects.h"

#include "api/names.h"
#include "kube/base/base64.h"

namespace e2e {
PodBuilder::PodBuilder(const std::string& name) : ObjectBuilder("v1", "Pod", name) {
  object_["spec"] = {
      {"terminationGracePeriodSeconds", 1},
      // Namespaces that enforce the restricted Pod Security Standard accept it.
      {"securityContext",
       {{"runAsNonRoot", true},
        {"runAsUser", 65532},
        {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
  };
}

PodBuilder& PodBuilder::Image(const std::string& image) {
  Json& containers = object_["spec"]["containers"];
  containers.push_back(
      {{"name", "c" + std::to_string(containers.size())},
       {"image", image},
       {"securityContext",
        {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", Json::array({"ALL"})}}}}},
       {"resources", {{"requests", {{"cpu", "1m"}, {"memory", "1Mi"}}}}}});
  return *this;
}

PodBuilder& PodBuilder::NodeSelector(const std::string& key, const std::string& value) {
  object_["spec"]["nodeSelector"][key] = value;
  return *this;
}

PodBuilder& PodBuilder::PullSecret(const std::string& name) {
  object_["spec"]["imagePullSecrets"].push_back({{"name", name}});
  return *this;
}

PodBuilder& PodBuilder::Require(const std::string& key, std::vector<std::string> values) {
  object_["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
         ["nodeSelectorTerms"]
             .push_back({{"matchExpressions",
                          {{{"key", key}, {"operator", "In"}, {"values", std::move(values)}}}}});
  return *this;
}

PodBuilder& PodBuilder::Prefer(const std::string& architecture, int weight) {
  Json expression = {
      {"key", api::kArchLabel}, {"operator", "In"}, {"values", Json::array({architecture})}};
  object_["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
      .push_back(
          {{"weight", weight}, {"preference", {{"matchExpressions", Json::array({expression})}}}});
  return *this;
}

DeploymentBuilder::DeploymentBuilder(const std::string& name, const PodBuilder& pod)
    : ObjectBuilder("apps/v1", "Deployment", name) {
  Json pod_template = {{"metadata", pod.Build()["metadata"]}, {"spec", pod.Build()["spec"]}};
  pod_template["metadata"].erase("name");
  pod_template["metadata"]["labels"]["app"] = name;
  pod_template["spec"].erase("terminationGracePeriodSeconds");
  object_["spec"] = {{"replicas", 1},
                     {"selector", {{"matchLabels", {{"app", name}}}}},
                     {"template", std::move(pod_template)}};
}

std::string DockerConfig(const std::string& host, const std::string& user,
                         const std::string& password) {
  Json auth = {{"username", user}, {"password", password}};
  return kube::Base64Encode(kube::DumpJson(Json{{"auths", {{host, auth}}}}));
}

Json PullSecret(const std::string& name, const std::string& docker_config) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"type", "kubernetes.io/dockerconfigjson"},
          {"metadata", {{"name", name}}},
          {"data", {{".dockerconfigjson", docker_config}}}};
}

}  // namespace e2e
