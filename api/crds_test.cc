// SPDX-License-Identifier: Apache-2.0
// The CRD files and the code say the same. What the API server makes of the files is tested against
// a real one.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "kube/codec/yaml.h"

namespace api {
namespace {

using kube::Find;
using kube::Json;

Json Load(const std::string& name) {
  std::ifstream file("api/crds/" + name + ".yaml");
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  auto documents = kube::ParseYamlDocuments(text.str());
  EXPECT_TRUE(documents && documents->size() == 1) << name;
  return documents && !documents->empty() ? (*documents)[0] : Json();
}

const Json& Version(const Json& crd, std::string_view name) {
  for (const Json& version : crd["spec"]["versions"]) {
    if (version["name"] == name) return version;
  }
  ADD_FAILURE() << "no version " << name;
  return crd;
}

template <class T>
void ExpectServes(const Json& crd) {
  kube::Resource resource = kube::ResourceOf<T>::value;
  EXPECT_EQ(kube::StringAt(crd, "metadata.name"),
            std::string(resource.plural) + "." + std::string(kGroup));
  EXPECT_EQ(kube::StringAt(crd, "spec.group"), resource.group);
  EXPECT_EQ(kube::StringAt(crd, "spec.names.plural"), resource.plural);
  EXPECT_EQ(kube::StringAt(crd, "spec.names.kind"), resource.kind);
  EXPECT_EQ(kube::StringAt(crd, "spec.scope"), resource.namespaced ? "Namespaced" : "Cluster");
  const Json& version = Version(crd, resource.version);
  EXPECT_TRUE(kube::BoolAt(version, "served"));
  EXPECT_TRUE(kube::BoolAt(version, "storage"));
}

// Every field of `value` has a property in `schema`: one that has none would be pruned by the API
// server.
void ExpectNotPruned(const Json& schema, const Json& value, const std::string& path) {
  if (value.is_object()) {
    for (auto& [name, field] : value.items()) {
      const Json* properties = Find(schema, "properties");
      if (properties == nullptr) {
        EXPECT_TRUE(schema.contains("additionalProperties")) << path;
        continue;
      }
      ASSERT_TRUE(properties->contains(name)) << path << "." << name;
      ExpectNotPruned((*properties)[name], field, path + "." + name);
    }
  } else if (value.is_array()) {
    for (const Json& item : value) ExpectNotPruned(schema["items"], item, path + "[]");
  }
}

const char* kSelector =
    R"({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["x"]}]})";
const char* kCondition =
    R"([{"type": "Available", "status": "True", "reason": "Ready", "message": "m",
                             "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}])";

TEST(CrdsTest, PodPlacementConfigFitsTheCode) {
  Json crd = Load("podplacementconfigs");
  ExpectServes<PodPlacementConfig>(crd);
  Json object = Json::parse(R"({
      "spec": {"priority": 1, "plugins": {"nodeAffinityScoring":
          {"enabled": true, "platforms": [{"architecture": "arm64", "weight": 1}]}}},
      "status": {"observedGeneration": 1, "controllers":
          [{"name": "c", "kind": "Webhook", "replicas": 1, "readyReplicas": 1, "version": "v"}]}})");
  object["spec"]["labelSelector"] = Json::parse(kSelector);
  object["status"]["conditions"] = Json::parse(kCondition);
  auto config = PodPlacementConfig::FromJson(object);
  ASSERT_TRUE(config && config->problems.empty());
  const Json& schema = Version(crd, "v1beta1")["schema"]["openAPIV3Schema"]["properties"];
  ExpectNotPruned(schema["spec"], SpecToJson(config->spec), "spec");
  ExpectNotPruned(schema["status"], StatusToJson(config->status), "status");
}

TEST(CrdsTest, ClusterPodPlacementConfigFitsTheCode) {
  Json crd = Load("clusterpodplacementconfigs");
  ExpectServes<ClusterPodPlacementConfig>(crd);
  Json object = Json::parse(R"({"spec": {
      "logVerbosity": "Debug", "fallbackArchitecture": "arm64", "shardTakeoverAfter": "1m",
      "globalPullSecretRef": {"name": "a"}, "caBundleConfigMapRef": {"name": "b"}, "registriesConfigMapRef": {"name": "c"},
      "plugins": {"execFormatErrorMonitor": {"enabled": true},
                  "nodeAffinityScoring": {"enabled": true, "platforms": [{"architecture": "arm64", "weight": 1}]}}}})");
  object["spec"]["namespaceSelector"] = Json::parse(kSelector);
  object["status"]["conditions"] = Json::parse(kCondition);
  auto config = ClusterPodPlacementConfig::FromJson(object);
  ASSERT_TRUE(config && config->problems.empty());
  const Json& schema = Version(crd, "v1beta1")["schema"]["openAPIV3Schema"]["properties"];
  ExpectNotPruned(schema["spec"], SpecToJson(config->spec), "spec");
  ExpectNotPruned(schema["status"], StatusToJson(config->status), "status");
}

TEST(CrdsTest, TheOldVersionIsServedThroughTheOperator) {
  Json crd = Load("clusterpodplacementconfigs");
  const Json& alpha = Version(crd, "v1alpha1");
  EXPECT_TRUE(kube::BoolAt(alpha, "served"));
  EXPECT_FALSE(kube::BoolAt(alpha, "storage", true));
  EXPECT_EQ(alpha["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].size(), 2u);
  EXPECT_EQ(kube::StringAt(crd, "spec.conversion.strategy"), "Webhook");
  const std::string service = "spec.conversion.webhook.clientConfig.service.";
  EXPECT_EQ(kube::StringAt(crd, service + "name"), kOperatorServiceName);
  EXPECT_EQ(kube::StringAt(crd, service + "namespace"), kDefaultOperatorNamespace);
  EXPECT_EQ(kube::StringAt(crd, service + "path"), kConversionPath);
}

}  // namespace
}  // namespace api
