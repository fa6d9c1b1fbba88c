// SPDX-License-Identifier: Apache-2.0
// Compares the CRDs with the code. The integration tier tests what the API server makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "operator/deploy/manifests.h"
#include "scheduling-policies/scheduling_policy.h"

namespace policy {
namespace {

using kube::Find;
using kube::Json;
using ::testing::IsEmpty;

Json Load(const kube::Resource& resource) {
  auto objects = operator_::LoadManifests({});
  EXPECT_TRUE(objects) << objects.error();
  for (const kube::Unstructured& object : objects ? *objects : std::vector<kube::Unstructured>()) {
    if (kube::StringAt(object.body(), "spec.names.plural") == resource.plural) return object.body();
  }
  ADD_FAILURE() << resource.plural;
  return Json();
}

const Json& SchemaOf(const Json& crd) {
  return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
}

TEST(CrdsTest, TheNamesAreThoseOfTheCode) {
  for (const kube::Resource& resource : {kPodSchedulingPolicies, kClusterPodSchedulingPolicies}) {
    Json crd = Load(resource);
    EXPECT_EQ(kube::StringAt(crd, "metadata.name"),
              std::string(resource.plural) + "." + std::string(resource.group));
    EXPECT_EQ(kube::StringAt(crd, "spec.group"), resource.group);
    EXPECT_EQ(kube::StringAt(crd, "spec.names.plural"), resource.plural);
    EXPECT_EQ(kube::StringAt(crd, "spec.names.kind"), resource.kind);
    EXPECT_EQ(kube::StringAt(crd, "spec.scope"), resource.namespaced ? "Namespaced" : "Cluster");
    ASSERT_EQ(crd["spec"]["versions"].size(), 1u);
    EXPECT_EQ(crd["spec"]["versions"][0]["name"], resource.version);
    EXPECT_TRUE(crd["spec"]["versions"][0]["subresources"].contains("status"));
  }
}

TEST(CrdsTest, TheKindsDifferOnlyInTheNamespaceSelector) {
  Json of_namespace = SchemaOf(Load(kPodSchedulingPolicies));
  Json of_cluster = SchemaOf(Load(kClusterPodSchedulingPolicies));
  EXPECT_EQ(of_cluster["properties"]["spec"]["properties"].erase("namespaceSelector"), 1u);
  of_cluster.erase("description");
  of_namespace.erase("description");
  EXPECT_EQ(of_cluster, of_namespace);
}

// An object with one item in each list and every optional field. Where the schema has an enum or
// bounds, an allowed value.
Json FullObject(const Json& schema) {
  std::string type = kube::StringAt(schema, "type");
  if (schema.contains("enum")) return schema["enum"].back();
  if (type == "integer") return schema.value("minimum", 1);
  if (type == "array") return Json::array({FullObject(schema["items"])});
  if (type != "object") return "a";
  Json object = Json::object();
  if (const Json* properties = Find(schema, "properties")) {
    for (const auto& [name, property] : properties->items()) object[name] = FullObject(property);
  } else {
    object["a"] = "a";
  }
  return object;
}

// Requirements between fields hold as well: the operators with values, a term with a selector
// that has no key of matchLabelKeys.
void MakeValid(Json& value) {
  if (value.is_array()) {
    for (Json& item : value) MakeValid(item);
  }
  if (!value.is_object()) return;
  for (auto& [name, member] : value.items()) MakeValid(member);
  if (value.contains("operator") && value.contains("values")) value["operator"] = "NotIn";
  if (value.contains("tolerationSeconds")) value["operator"] = "Equal";
  if (value.value("key", Json()) == "metadata.name") value["values"] = {"node"};
  if (value.contains("matchLabelKeys")) {
    value["matchLabelKeys"] = {"b"};
    value["mismatchLabelKeys"] = {"c"};
  }
}

// The code reads every field of the schema, and writes it into the pod.
TEST(CrdsTest, TheCodeReadsEveryField) {
  Json schema = SchemaOf(Load(kClusterPodSchedulingPolicies));
  Json policy = FullObject(schema);
  MakeValid(policy["spec"]);
  auto parsed = SchedulingPolicy::FromJson(policy, Scope::kCluster);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(api::Describe(parsed->problems), "");
  const Criteria& criteria = parsed->criteria;
  EXPECT_TRUE(parsed->pod_selector);
  EXPECT_TRUE(parsed->namespace_selector);
  EXPECT_EQ(criteria.node_name, "a");
  EXPECT_EQ(criteria.scheduler_name, "a");
  EXPECT_EQ(Json(criteria.node_selector), policy["spec"]["nodeSelector"]);
  ASSERT_EQ(criteria.tolerations.size(), 1u);
  EXPECT_EQ(criteria.tolerations[0].json, policy["spec"]["tolerations"][0]);
  const Json& affinity = policy["spec"]["affinity"];
  for (size_t i = 0; i < kAffinityLists.size(); ++i) {
    ASSERT_EQ(criteria.affinity_terms[i].size(), 1u);
    EXPECT_EQ(criteria.affinity_terms[i][0].json,
              affinity[kAffinityLists[i].affinity][kAffinityLists[i].list][0]);
  }
  ASSERT_EQ(criteria.required_terms.size(), 1u);
  const Json& term = affinity["nodeAffinity"][kRequired]["nodeSelectorTerms"][0];
  EXPECT_EQ(criteria.required_terms[0].expressions[0].json, term["matchExpressions"][0]);
  EXPECT_EQ(criteria.required_terms[0].fields[0].json, term["matchFields"][0]);
}

// The paths below `schema` that lack a description, or a limit where the size matters.
void Collect(const Json& schema, const std::string& path, std::vector<std::string>& undescribed,
             std::vector<std::string>& unbounded) {
  std::string type = kube::StringAt(schema, "type");
  if (type == "array" && !schema.contains("maxItems")) unbounded.push_back(path);
  if (type == "string" && !schema.contains("maxLength") && !schema.contains("enum"))
    unbounded.push_back(path);
  if (schema.contains("additionalProperties") && !schema.contains("maxProperties"))
    unbounded.push_back(path);
  if (const Json* items = Find(schema, "items"))
    Collect(*items, path + "[]", undescribed, unbounded);
  const Json* properties = Find(schema, "properties");
  if (properties == nullptr) return;
  for (const auto& [name, property] : properties->items()) {
    std::string text = kube::StringAt(property, "description");
    std::string at = path + "." + name;
    if (text.size() < 10 || text.back() != '.') undescribed.push_back(at);
    Collect(property, at, undescribed, unbounded);
  }
}

TEST(CrdsTest, EveryFieldIsDescribedAndBounded) {
  Json crd = Load(kClusterPodSchedulingPolicies);
  std::vector<std::string> undescribed;
  std::vector<std::string> unbounded;
  Collect(SchemaOf(crd)["properties"]["spec"], "spec", undescribed, unbounded);
  EXPECT_THAT(undescribed, IsEmpty());
  EXPECT_THAT(unbounded, IsEmpty());
}

}  // namespace
}  // namespace policy
