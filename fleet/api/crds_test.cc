// SPDX-License-Identifier: Apache-2.0
// Compares the CRD files with the code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/api/pod_placement_work.h"
#include "kube/codec/yaml.h"

namespace fleet {
namespace {

using kube::Find;
using kube::Json;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

const std::vector<kube::Resource> kOcmKinds = {
    kPlacements,         kPlacementDecisions,        kManagedClusters,
    kManagedClusterSets, kManagedClusterSetBindings, kAddOnPlacementScores};
const std::vector<kube::Resource> kOwnKinds = {kFleetPodPlacements, kPodPlacementWorks};

std::vector<kube::Resource> AllKinds() {
  std::vector<kube::Resource> kinds = kOcmKinds;
  kinds.insert(kinds.end(), kOwnKinds.begin(), kOwnKinds.end());
  return kinds;
}

std::string Read(const std::string& name) {
  std::ifstream file("fleet/api/crds/" + name + ".yaml");
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Json Load(const std::string& name) {
  auto documents = kube::ParseYamlDocuments(Read(name));
  EXPECT_TRUE(documents && documents->size() == 1) << name;
  return documents && !documents->empty() ? (*documents)[0] : Json();
}

Json SchemaOf(const kube::Resource& kind) {
  return Load(std::string(kind.plural))["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
}

TEST(CrdsTest, TheNamesAreThoseOfTheCode) {
  for (const kube::Resource& kind : AllKinds()) {
    SCOPED_TRACE(kind.kind);
    Json crd = Load(std::string(kind.plural));
    EXPECT_EQ(kube::StringAt(crd, "metadata.name"),
              std::string(kind.plural) + "." + std::string(kind.group));
    EXPECT_EQ(kube::StringAt(crd, "spec.group"), kind.group);
    EXPECT_EQ(kube::StringAt(crd, "spec.names.plural"), kind.plural);
    EXPECT_EQ(kube::StringAt(crd, "spec.names.kind"), kind.kind);
    EXPECT_EQ(kube::StringAt(crd, "spec.names.listKind"), std::string(kind.kind) + "List");
    EXPECT_EQ(kube::StringAt(crd, "spec.scope"), kind.namespaced ? "Namespaced" : "Cluster");
    ASSERT_EQ(crd["spec"]["versions"].size(), 1u);
    EXPECT_EQ(crd["spec"]["versions"][0]["name"], kind.version);
    EXPECT_TRUE(crd["spec"]["versions"][0]["subresources"].contains("status"));
  }
}

TEST(CrdsTest, TheKustomizationHasAll) {
  std::vector<std::string> files;
  for (const kube::Resource& kind : AllKinds()) files.push_back(std::string(kind.plural) + ".yaml");
  EXPECT_THAT(Load("kustomization")["resources"].get<std::vector<std::string>>(),
              UnorderedElementsAreArray(files));
}

// The paths below `schema` that lack a description, or a limit where the size matters.
void Collect(const Json& schema, const std::string& path, std::vector<std::string>& undescribed,
             std::vector<std::string>& unbounded) {
  std::string type = kube::StringAt(schema, "type");
  if (type == "array" && !schema.contains("maxItems")) unbounded.push_back(path);
  if (type == "string" && !schema.contains("maxLength") && !schema.contains("enum") &&
      !schema.contains("format"))
    unbounded.push_back(path);
  if (const Json* values = Find(schema, "additionalProperties")) {
    if (!schema.contains("maxProperties")) unbounded.push_back(path);
    Collect(*values, path + "{}", undescribed, unbounded);
  }
  if (const Json* items = Find(schema, "items"))
    Collect(*items, path + "[]", undescribed, unbounded);
  const Json* properties = Find(schema, "properties");
  if (properties == nullptr) return;
  for (const auto& [name, property] : properties->items()) {
    std::string text = kube::StringAt(property, "description");
    std::string at = path + "." + name;
    if (text.size() < 6 || text.back() != '.') undescribed.push_back(at);
    Collect(property, at, undescribed, unbounded);
  }
}

// What a member may write: the status of OCM's kinds, where the CRDs are those of the fleet.
bool MemberWrites(const kube::Resource& kind, std::string_view part) {
  bool members =
      kind.plural == kManagedClusters.plural || kind.plural == kAddOnPlacementScores.plural;
  return members && part == "status";
}

TEST(CrdsTest, EveryFieldIsDescribedAndThoseOfOwnKindsAndOfMembersAreBounded) {
  for (const kube::Resource& kind : AllKinds()) {
    SCOPED_TRACE(kind.kind);
    std::vector<std::string> undescribed;
    Json schema = SchemaOf(kind);
    for (const char* part : {"spec", "status"}) {
      std::vector<std::string> unbounded;
      if (schema["properties"].contains(part))
        Collect(schema["properties"][part], part, undescribed, unbounded);
      if (kind.group == kOwnKinds[0].group || MemberWrites(kind, part)) {
        EXPECT_THAT(unbounded, IsEmpty());
      }
    }
    EXPECT_THAT(undescribed, IsEmpty());
  }
}

// An object with one item in each list and every optional field, with values that are allowed.
Json FullObject(const Json& schema) {
  std::string type = kube::StringAt(schema, "type");
  std::string pattern = kube::StringAt(schema, "pattern");
  if (schema.contains("enum")) return schema["enum"].back();
  if (type == "integer" || schema.contains("x-kubernetes-int-or-string"))
    return schema.value("maximum", 1);
  if (type == "boolean") return true;
  if (type == "array") return Json::array({FullObject(schema["items"])});
  if (type == "string" && schema.value("format", "") == "date-time") return "2026-01-01T00:00:00Z";
  if (type == "string") return pattern.find("[hms]") == std::string::npos ? "aa" : "5m";
  Json object = Json::object();
  if (const Json* values = Find(schema, "additionalProperties")) object["aa"] = FullObject(*values);
  if (const Json* properties = Find(schema, "properties")) {
    for (const auto& [name, property] : properties->items()) object[name] = FullObject(property);
  }
  return object;
}

// Selectors are valid, too.
void MakeValid(Json& value) {
  if (value.is_structured()) {
    for (Json& member : value) MakeValid(member);
  }
  if (!value.is_object() || !value.contains("operator")) return;
  value["operator"] = value.contains("values") ? "In" : "Equal";
}

Json FullObject(const kube::Resource& kind) {
  Json object = FullObject(SchemaOf(kind));
  MakeValid(object);
  object["metadata"] = {{"name", "aa"}, {"namespace", "aa"}};
  return object;
}

template <class T>
T Parse(const Json& json) {
  auto parsed = T::FromJson(json);
  EXPECT_TRUE(parsed);
  if (!parsed) return T();
  EXPECT_EQ(api::Describe(parsed->problems), "") << kube::PrettyJson(json);
  return *parsed;
}

TEST(CrdsTest, TheCodeReadsEveryFieldOfAPlacement) {
  Placement placement = Parse<Placement>(FullObject(kPlacements));
  const PlacementSpec& spec = placement.spec;
  EXPECT_EQ(spec.cluster_sets.size(), 1u);
  EXPECT_TRUE(spec.number_of_clusters);
  ASSERT_EQ(spec.predicates.size(), 1u);
  EXPECT_EQ(spec.predicates[0].cel.size(), 1u);
  EXPECT_EQ(spec.predicates[0].labels.match_expressions_size(), 1);
  EXPECT_EQ(spec.predicates[0].labels.match_labels_size(), 1);
  EXPECT_EQ(spec.predicates[0].claims.match_expressions_size(), 1);
  EXPECT_EQ(spec.mode, "aa");
  ASSERT_EQ(spec.prioritizers.size(), 1u);
  EXPECT_TRUE(spec.prioritizers[0].add_on);
  EXPECT_EQ(spec.prioritizers[0].weight, 10);
  ASSERT_EQ(spec.tolerations.size(), 1u);
  EXPECT_EQ(spec.tolerations[0].effect, "NoSelectIfNew");
  EXPECT_TRUE(spec.tolerations[0].seconds);
  ASSERT_EQ(spec.spread.size(), 1u);
  EXPECT_TRUE(spec.spread[0].claim);
  ASSERT_EQ(spec.groups.size(), 1u);
  EXPECT_EQ(spec.groups[0].name, "aa");
  EXPECT_EQ(spec.sort_by, SortBy::kScore);
  EXPECT_EQ(spec.score_rate_limit, std::chrono::minutes(5));
  EXPECT_EQ(placement.status.decision_groups.size(), 1u);
}

TEST(CrdsTest, TheCodeReadsTheOtherKindsOfOcm) {
  EXPECT_EQ(Parse<AddOnPlacementScore>(FullObject(kAddOnPlacementScores)).scores.at("aa"), 100);
  Parse<ManagedCluster>(FullObject(kManagedClusters));
  Parse<ManagedClusterSet>(FullObject(kManagedClusterSets));
  Parse<ManagedClusterSetBinding>(FullObject(kManagedClusterSetBindings));
  Parse<PlacementDecision>(FullObject(kPlacementDecisions));
}

std::set<std::string> NamesIn(const Json& object) {
  std::set<std::string> names;
  for (const auto& [name, member] : object.items()) names.insert(name);
  return names;
}

TEST(CrdsTest, AFleetPodPlacementIsReadAndWrittenWhole) {
  Json json = FullObject(kFleetPodPlacements);
  json["spec"]["podPlacementConfigs"][0]["spec"]["plugins"] = Json::object();
  FleetPodPlacement fleet = Parse<FleetPodPlacement>(json);
  EXPECT_EQ(NamesIn(SpecToJson(fleet.spec)), NamesIn(json["spec"]));
  EXPECT_EQ(SpecToJson(fleet.spec)["podPlacementConfigs"], json["spec"]["podPlacementConfigs"]);
  EXPECT_EQ(StatusToJson(fleet.status), json["status"]);
  const RolloutStrategy& strategy = fleet.spec.placements.at(0).strategy;
  EXPECT_EQ(strategy.type, RolloutType::kProgressivePerGroup);
  EXPECT_EQ(strategy.mandatory_groups.size(), 1u);
  EXPECT_EQ(strategy.max_failures, ClusterCount{.value = 1'000'000});
  EXPECT_EQ(strategy.min_success_time, std::chrono::minutes(5));
  EXPECT_EQ(strategy.progress_deadline, std::chrono::minutes(5));
  json["spec"]["placements"][0]["rolloutStrategy"]["type"] = "Progressive";
  EXPECT_EQ(Parse<FleetPodPlacement>(json).spec.placements.at(0).strategy.max_concurrency,
            ClusterCount{.value = 1'000'000});
}

TEST(CrdsTest, AWorkIsReadAndWrittenWhole) {
  Json json = FullObject(kPodPlacementWorks);
  PodPlacementWork work = Parse<PodPlacementWork>(json);
  EXPECT_EQ(SpecToJson(work.spec), json["spec"]);
  EXPECT_EQ(StatusToJson(work.status), json["status"]);
}

}  // namespace
}  // namespace fleet
