// SPDX-License-Identifier: Apache-2.0
// What the kinds of this folder read from JSON, and what they say about bad objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/field_error.h"
#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "kube/base/clock.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
T Read(const std::string& text) {
  auto object = T::FromJson(kube::MustParseJson(text));
  EXPECT_TRUE(object) << text;
  return object ? *object : T();
}

template <class T>
T ReadSpec(const std::string& spec) {
  return Read<T>(R"({"metadata": {"name": "p", "namespace": "ns"}, "spec": )" + spec + "}");
}

TEST(PlacementTest, ReadsEveryField) {
  Placement placement = Read<Placement>(R"({
    "metadata": {"name": "p", "namespace": "ns", "uid": "u", "resourceVersion": "7",
      "generation": 3, "deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": {
        "cluster.open-cluster-management.io/experimental-scheduling-disable": "true",
        "fleet.multiarch.openshift.io/scheduler": "multiarch"}},
    "spec": {
      "clusterSets": ["a", "b"], "numberOfClusters": -1,
      "predicates": [{"requiredClusterSelector": {
        "labelSelector": {"matchLabels": {"x": "y"}},
        "claimSelector": {"matchExpressions": [{"key": "id.k8s.io", "operator": "Exists"}]},
        "celSelector": {"celExpressions": ["true"]}}}, {}],
      "prioritizerPolicy": {"mode": "Exact", "configurations": [
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 0},
        {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}},
        {"weight": 3}]},
      "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSelect",
        "tolerationSeconds": 300}, {"key": "gpu", "value": "true"}],
      "spreadPolicy": {"spreadConstraints": [{"topologyKey": "zone", "topologyKeyType": "Claim",
        "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}, {"topologyKey": "region"}]},
      "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 5, "decisionGroups": [
        {"groupName": "canary", "groupClusterSelector": {"labelSelector": {}}}]}},
      "sortBy": "Score", "scoreRateLimit": "5m"},
    "status": {"numberOfSelectedClusters": 2, "decisionGroups": [{"decisionGroupIndex": 0,
      "decisionGroupName": "", "decisions": ["p-decision-1"], "clusterCount": 2}],
      "conditions": [{"type": "PlacementSatisfied", "status": "True",
        "reason": "AllDecisionsScheduled", "message": "", "observedGeneration": 3,
        "lastTransitionTime": "2026-01-01T00:00:00Z"}],
      "lastScoreUpdateTime": "2026-01-01T00:00:00Z"}})");
  EXPECT_EQ(api::Describe(placement.problems), "");
  EXPECT_EQ(placement.ns + "/" + placement.name + " " + placement.uid, "ns/p u");
  EXPECT_EQ(placement.resource_version, "7");
  EXPECT_EQ(placement.generation, 3);
  EXPECT_TRUE(placement.deleting);
  EXPECT_TRUE(placement.scheduling_disabled);
  EXPECT_EQ(placement.scheduler, kSchedulerName);
  const PlacementSpec& spec = placement.spec;
  EXPECT_THAT(spec.cluster_sets, ElementsAre("a", "b"));
  EXPECT_EQ(spec.number_of_clusters, -1);
  ASSERT_EQ(spec.predicates.size(), 2u);
  EXPECT_EQ(spec.predicates[0].labels.match_labels().at("x"), "y");
  EXPECT_EQ(spec.predicates[0].claims.match_expressions(0).key(), "id.k8s.io");
  EXPECT_THAT(spec.predicates[0].cel, ElementsAre("true"));
  EXPECT_EQ(spec.mode, "Exact");
  ASSERT_EQ(spec.prioritizers.size(), 2u) << "an entry without a coordinate has no effect";
  EXPECT_EQ(spec.prioritizers[0].built_in, kSteady);
  EXPECT_EQ(spec.prioritizers[0].weight, 0);
  EXPECT_EQ(spec.prioritizers[1].add_on->resource + "/" + spec.prioritizers[1].add_on->score,
            "r/s");
  EXPECT_EQ(spec.prioritizers[1].weight, 1);
  ASSERT_EQ(spec.tolerations.size(), 2u);
  EXPECT_EQ(spec.tolerations[0].seconds, 300);
  EXPECT_EQ(spec.tolerations[1].seconds, std::nullopt);
  ASSERT_EQ(spec.spread.size(), 2u);
  EXPECT_TRUE(spec.spread[0].claim && spec.spread[0].do_not_schedule);
  EXPECT_EQ(spec.spread[0].max_skew, 2);
  EXPECT_FALSE(spec.spread[1].claim || spec.spread[1].do_not_schedule);
  EXPECT_EQ(spec.spread[1].max_skew, 1);
  EXPECT_EQ(std::get<int64_t>(spec.clusters_per_group), 5);
  ASSERT_EQ(spec.groups.size(), 1u);
  EXPECT_EQ(spec.groups[0].name, "canary");
  EXPECT_EQ(spec.sort_by, SortBy::kScore);
  EXPECT_EQ(spec.score_rate_limit, std::chrono::minutes(5));
  EXPECT_EQ(placement.status.decision_groups[0].decisions[0], "p-decision-1");
  ASSERT_EQ(placement.status.conditions.size(), 1u);
  Json again = {{"status", StatusToJson(placement.status)}};
  EXPECT_EQ(Placement::FromJson(again)->status, placement.status);
}

TEST(PlacementTest, EverythingMayBeAbsent) {
  for (const char* text : {"{}", R"({"spec": null, "status": null})", R"({"spec": {"x": 1}})"}) {
    Placement placement = Read<Placement>(text);
    EXPECT_EQ(api::Describe(placement.problems), "") << text;
    EXPECT_EQ(std::get<std::string>(placement.spec.clusters_per_group), "100%");
  }
  EXPECT_TRUE(kube::FailedWith(Placement::FromJson(Json::array()), kube::Code::kInvalid));
}

// Others may write the status, too.
TEST(PlacementTest, TheNameOfAGroupInTheStatusIsBounded) {
  auto read = [](const std::string& name) {
    Json group = {{"decisionGroupIndex", 0}};
    if (!name.empty()) group["decisionGroupName"] = name;
    Json json = {{"status", {{"decisionGroups", Json::array({group})}}}};
    Placement placement = *Placement::FromJson(json);
    std::vector<size_t> sizes;
    for (const DecisionGroupStatus& read : placement.status.decision_groups)
      sizes.push_back(read.name.size());
    return sizes;
  };
  EXPECT_THAT(read(std::string(kMaxName, 'a')), ElementsAre(kMaxName));
  EXPECT_THAT(read(std::string(kMaxName + 1, 'a')), ElementsAre(0));  // it is written anew
  EXPECT_THAT(read(""), ElementsAre(0)) << "OCM omits an empty name";
}

TEST(PlacementTest, ProblemsAreNamed) {
  auto many = [](size_t count, const std::string& item) {
    std::string list = item;
    for (size_t i = 1; i < count; ++i) list += "," + item;
    return "[" + list + "]";
  };
  auto predicate = [](const std::string& selector) {
    return R"({"predicates": [{"requiredClusterSelector": )" + selector + "}]}";
  };
  auto group = [](const std::string& fields) {
    return R"({"decisionStrategy": {"groupStrategy": {)" + fields + "}}}";
  };
  auto spread = [](const std::string& fields) {
    return R"({"spreadPolicy": {"spreadConstraints": [{)" + fields + "}]}}";
  };
  const std::string exists = R"({"key": "a", "operator": "Exists"})";
  struct Row {
    std::string spec;
    const char* field;
    const char* message;
  };
  const Row rows[] = {
      {"7", "spec", "must be an object"},
      {R"({"clusterSets": "a"})", "spec.clusterSets", "must be a list"},
      {R"({"clusterSets": [1]})", "spec.clusterSets", "must be strings"},
      {R"({"numberOfClusters": 4294967296})", "spec.numberOfClusters", "must be an integer"},
      {R"({"predicates": )" + many(101, "{}") + "}", "spec.predicates", "at most 100 items"},
      {R"({"predicates": [3]})", "spec.predicates[0]", "must be an object"},
      {R"({"predicates": )" +
           many(6, R"({"requiredClusterSelector": {"labelSelector": {"matchExpressions": )" +
                       many(100, exists) + "}}}") +
           "}",
       "spec.predicates", "at most 500 requirements"},
      {R"({"predicates": )" +
           many(2, R"({"requiredClusterSelector": {"celSelector": {"celExpressions": )" +
                       many(60, R"("true")") + "}}}") +
           "}",
       "spec.predicates", "at most 100 CEL expressions"},
      {predicate(R"({"labelSelector": {"matchLabels": {"a": "not valid"}}})"), "labelSelector",
       "not a valid label value"},
      {predicate(R"({"claimSelector": {"matchExpressions": [{"key": "a", "operator": "In",
           "values": ["not valid"]}]}})"),
       "claimSelector", "not a valid label value"},
      {predicate(R"({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}})"),
       "operator", "must be one of"},
      {predicate(R"({"celSelector": {"celExpressions": [")" + std::string(20'000, 'x') + R"("]}})"),
       "celExpressions", "at most 16384 bytes"},
      {R"({"prioritizerPolicy": {"configurations": [{"scoreCoordinate": {}, "weight": 11}]}})",
       "configurations[0].weight", "from -10 to 10"},
      {R"({"prioritizerPolicy": {"configurations": [{"scoreCoordinate": {"addOn": {}}}]}})",
       "addOn.resourceName", "is required"},
      {R"({"tolerations": [{"tolerationSeconds": "1"}]})", "tolerationSeconds",
       "must be an integer"},
      {R"({"tolerations": [{"key": ")" + std::string(400, 'k') + R"("}]})", "tolerations[0].key",
       "at most 320 bytes"},
      {spread(""), "topologyKey", "is required"},
      {spread(R"("topologyKey": "a", "maxSkew": 0)"), "maxSkew", "from 1"},
      {spread(R"("topologyKey": "a", "topologyKeyType": "Node")"), "topologyKeyType",
       "must be one of"},
      {spread(R"("topologyKey": "a", "whenUnsatisfiable": "Panic")"), "whenUnsatisfiable",
       "must be one of"},
      {R"({"spreadPolicy": {"spreadConstraints": )" + many(9, R"({"topologyKey": "a"})") + "}}",
       "spreadConstraints", "at most 8 items"},
      {group(R"("clustersPerDecisionGroup": 4294967296)"), "clustersPerDecisionGroup",
       "must be an integer"},
      {group(R"("decisionGroups": [{"groupName": "x"}])"), "groupName", "2 to 63"},
      {group(R"("decisionGroups": [{"groupName": "a b"}])"), "groupName", "value of a label"},
      {R"({"sortBy": "Random"})", "spec.sortBy", "must be one of"},
      {R"({"scoreRateLimit": "1d"})", "spec.scoreRateLimit", "h, m or s"},
      {R"({"scoreRateLimit": "-1m"})", "spec.scoreRateLimit", "h, m or s"},
      {R"({"scoreRateLimit": "99999999999999999999h"})", "spec.scoreRateLimit", "h, m or s"},
  };
  for (const Row& row : rows) {
    Placement placement = ReadSpec<Placement>(row.spec);
    std::string problems = api::Describe(placement.problems);
    EXPECT_THAT(problems, HasSubstr(row.field)) << row.spec.substr(0, 200);
    EXPECT_THAT(problems, HasSubstr(row.message)) << row.spec.substr(0, 200);
  }
}

TEST(PlacementTest, WordsThatTheCrdAllowsAreNoProblem) {
  Placement placement = ReadSpec<Placement>(
      R"({"numberOfClusters": -5, "prioritizerPolicy": {"mode": "Sometimes", "configurations": [
          {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Magic"}}]},
          "tolerations": [{"key": "a", "operator": "Like"}],
          "decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "many"}}})");
  EXPECT_EQ(api::Describe(placement.problems), "");
  EXPECT_EQ(std::get<std::string>(placement.spec.clusters_per_group), "many");
}

TEST(ManagedClusterTest, ReadsWhatPlacingNeeds) {
  ManagedCluster cluster = Read<ManagedCluster>(R"({
    "metadata": {"name": "c1", "labels": {"b": "2", "a": "1", "bad": 3}},
    "spec": {"taints": [{"key": "gpu", "value": "true", "effect": "NoSelect",
      "timeAdded": "2026-01-01T00:00:00Z"}, {"key": "x", "effect": "PreferNoSelect",
      "timeAdded": null}]},
    "status": {"allocatable": {"cpu": "3500m", "memory": "16Gi"},
      "capacity": {"cpu": 4},
      "clusterClaims": [{"name": "id.k8s.io", "value": "c1"}]}})");
  EXPECT_EQ(api::Describe(cluster.problems), "");
  EXPECT_EQ(cluster.name, "c1");
  EXPECT_FALSE(cluster.deleting);
  EXPECT_EQ(cluster.labels.size(), 2u);
  EXPECT_EQ(cluster.labels.At(0), std::make_pair(std::string_view("a"), std::string_view("1")));
  EXPECT_EQ(cluster.labels.Find("b"), "2");
  EXPECT_EQ(cluster.labels.Find("bb"), std::nullopt);
  EXPECT_EQ(cluster.claims.Find("id.k8s.io"), "c1");
  ASSERT_EQ(cluster.taints.size(), 2u);
  EXPECT_EQ(kube::FormatTime(*cluster.taints[0].time_added), "2026-01-01T00:00:00Z");
  EXPECT_EQ(cluster.taints[1].time_added, std::nullopt);
  EXPECT_EQ(cluster.allocatable_cpu, 3.5);
  EXPECT_EQ(cluster.allocatable_memory, std::nullopt) << "no capacity";
}

TEST(ManagedClusterTest, KeepsTheRestOfABadObject) {
  ManagedCluster cluster = Read<ManagedCluster>(R"({
    "metadata": {"name": "c1", "deletionTimestamp": "2026-01-01T00:00:00Z", "labels": 5},
    "spec": {"taints": [{"key": "a", "effect": "NoSelect", "timeAdded": "yesterday"}, 7]},
    "status": {"allocatable": {"cpu": "many", "memory": [1]}, "capacity": {"cpu": "1"},
      "clusterClaims": [{"name": "ok", "value": "v"}, {"name": 3}]}})");
  EXPECT_TRUE(cluster.deleting);
  EXPECT_EQ(cluster.taints.size(), 1u) << "a taint is not lost with its time";
  EXPECT_EQ(cluster.claims.Find("ok"), "v");
  EXPECT_EQ(cluster.allocatable_cpu, std::nullopt);
  std::string problems = api::Describe(cluster.problems);
  for (const char* field : {"spec.taints[0].timeAdded", "spec.taints[1]", "allocatable.cpu",
                            "allocatable.memory", "clusterClaims[1].name"}) {
    EXPECT_THAT(problems, HasSubstr(field));
  }
}

TEST(ManagedClusterTest, TheSizeIsBounded) {
  Json json = {{"metadata", {{"name", "c1"}}}};
  for (int i = 0; i < 1000; ++i) {
    json["metadata"]["labels"]["l" + std::to_string(i)] = "v";
    json["status"]["clusterClaims"].push_back({{"name", "c" + std::to_string(i)}, {"value", "v"}});
  }
  ManagedCluster cluster = *ManagedCluster::FromJson(json);
  EXPECT_EQ(cluster.labels.size(), kMaxClusterLabels);
  EXPECT_EQ(cluster.claims.size(), 0u);
  EXPECT_FALSE(cluster.problems.empty());
}

TEST(ManagedClusterTest, TooManyTaintsAreOneThatNobodyToleratesByChance) {
  Json json = {{"metadata", {{"name", "c1"}}}};
  for (size_t i = 0; i < kMaxClusterTaints; ++i)
    json["spec"]["taints"].push_back({{"key", "k"}, {"effect", "PreferNoSelect"}});
  EXPECT_EQ(ManagedCluster::FromJson(json)->taints.size(), kMaxClusterTaints);
  json["spec"]["taints"].push_back({{"key", "k"}, {"effect", "PreferNoSelect"}});
  ManagedCluster cluster = *ManagedCluster::FromJson(json);
  ASSERT_EQ(cluster.taints.size(), 1u);
  EXPECT_EQ(cluster.taints[0].key, kTooManyTaints);
  EXPECT_EQ(cluster.taints[0].effect, kNoSelect);
  EXPECT_EQ(cluster.taints[0].time_added, std::nullopt);
  EXPECT_THAT(api::Describe(cluster.problems), HasSubstr("spec.taints"));
}

TEST(ManagedClusterTest, TimesOfAllZonesAndYears) {
  struct Row {
    const char* text;
    const char* time;  // "": none
  };
  const Row rows[] = {
      {"2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"},
      {"2026-03-01T12:00:00+02:30", "2026-03-01T09:30:00Z"},
      {"9999-12-31T23:59:59Z", "2260-12-31T23:59:59Z"},
      {"2026-03-01T12:00:00", ""},
  };
  for (const Row& row : rows) {
    Json json = {{"spec", {{"taints", {{{"key", "a"}, {"timeAdded", row.text}}}}}}};
    ManagedCluster cluster = *ManagedCluster::FromJson(json);
    ASSERT_EQ(cluster.taints.size(), 1u) << row.text;
    const auto& time = cluster.taints[0].time_added;
    EXPECT_EQ(time ? kube::FormatTime(*time) : "", row.time) << row.text;
    EXPECT_EQ(cluster.problems.empty(), time.has_value()) << row.text;
  }
}

TEST(ManagedClusterSetTest, WhatASetSelects) {
  using Selects = ManagedClusterSet::Selects;
  struct Row {
    const char* spec;
    Selects selects;
    bool problem;
  };
  const Row rows[] = {
      {"{}", Selects::kByLabel, false},
      {R"({"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}})", Selects::kByLabel,
       false},
      {R"({"clusterSelector": {"selectorType": "LabelSelector"}})", Selects::kNothing, false},
      {R"({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}})",
       Selects::kBySelector, false},
      {R"({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector":
           {"matchLabels": {"a": "not valid"}}}})",
       Selects::kNothing, true},
      {R"({"clusterSelector": {"selectorType": "Magic"}})", Selects::kNothing, true},
  };
  for (const Row& row : rows) {
    ManagedClusterSet set = ReadSpec<ManagedClusterSet>(row.spec);
    EXPECT_EQ(set.selects, row.selects) << row.spec;
    EXPECT_EQ(!set.problems.empty(), row.problem) << row.spec;
  }
}

TEST(ManagedClusterSetTest, ABindingBindsTheSetOfItsName) {
  EXPECT_EQ(ReadSpec<ManagedClusterSetBinding>(R"({"clusterSet": "p"})").cluster_set, "p");
  for (const char* spec : {R"({"clusterSet": "other"})", "{}", R"({"clusterSet": 3})"}) {
    ManagedClusterSetBinding binding = ReadSpec<ManagedClusterSetBinding>(spec);
    EXPECT_EQ(binding.cluster_set, "") << spec;
    EXPECT_FALSE(binding.problems.empty()) << spec;
  }
}

TEST(AddOnPlacementScoreTest, BadScoresAreLeftOut) {
  AddOnPlacementScore score = Read<AddOnPlacementScore>(R"({
    "metadata": {"name": "r", "namespace": "c1"},
    "status": {"scores": [{"name": "a", "value": 100}, {"name": "b", "value": 101},
      {"name": "c"}, {"value": 5}, {"name": "a", "value": 3}, {"name": "d", "value": 1.5}],
      "validUntil": "2026-01-01T00:00:00Z"}})");
  EXPECT_EQ(score.cluster + "/" + score.name, "c1/r");
  EXPECT_EQ(score.scores.size(), 1u);
  EXPECT_EQ(score.scores.at("a"), 100);
  EXPECT_EQ(score.problems.size(), 4u) << api::Describe(score.problems);
  EXPECT_EQ(kube::FormatTime(*score.valid_until), "2026-01-01T00:00:00Z");
  EXPECT_EQ(Read<AddOnPlacementScore>("{}").valid_until, std::nullopt);
  EXPECT_EQ(Read<AddOnPlacementScore>(R"({"status": {"validUntil": "soon"}})").valid_until,
            kube::WallTime())
      << "a malformed time is in the past";
}

TEST(PlacementDecisionTest, ReadsAndWrites) {
  PlacementDecision decision = Read<PlacementDecision>(R"({
    "metadata": {"name": "p-decision-1", "namespace": "ns", "uid": "u", "resourceVersion": "9",
      "ownerReferences": [{"uid": "x"}, {"uid": "o", "controller": true}],
      "labels": {"cluster.open-cluster-management.io/placement": "p",
        "cluster.open-cluster-management.io/decision-group-index": "0",
        "cluster.open-cluster-management.io/decision-group-name": ""}},
    "status": {"decisions": [{"clusterName": "c1", "reason": "", "score": -3},
      {"clusterName": "c2", "reason": ""}, {"reason": ""}]}})");
  EXPECT_EQ(decision.placement, "p");
  EXPECT_EQ(decision.owner_uid, "o");
  EXPECT_EQ(decision.group_index, "0");
  EXPECT_EQ(decision.group_name, "");
  EXPECT_TRUE(decision.has_status);
  const std::vector<Decision> expected = {{"c1", -3}, {"c2", std::nullopt}};
  EXPECT_EQ(decision.decisions, expected);
  EXPECT_EQ(DecisionsToJson(expected),
            kube::MustParseJson(R"([{"clusterName": "c1", "reason": "", "score": -3},
                            {"clusterName": "c2", "reason": ""}])"));
  PlacementDecision empty = Read<PlacementDecision>(R"({"status": {}})");
  EXPECT_FALSE(empty.has_status);
  EXPECT_EQ(empty.group_index, std::nullopt);
}

TEST(PlacementDecisionTest, ListsOfOtherWriters) {
  auto read = [](size_t entries) {
    Json list = Json::array();
    for (size_t i = 0; i < entries; ++i) list.push_back({{"clusterName", "c" + std::to_string(i)}});
    return *PlacementDecision::FromJson({{"status", {{"decisions", list}}}});
  };
  EXPECT_TRUE(read(0).has_status);
  EXPECT_EQ(read(101).decisions.size(), 101u);
  EXPECT_EQ(read(kMaxDecisionsRead).decisions.size(), kMaxDecisionsRead);
  PlacementDecision huge = read(kMaxDecisionsRead + 1);
  EXPECT_TRUE(huge.decisions.empty());
  EXPECT_FALSE(huge.has_status) << "it is not known what was selected";
  EXPECT_THAT(api::Describe(huge.problems), HasSubstr("status.decisions"));
  EXPECT_TRUE(Read<PlacementDecision>(R"({"status": {"decisions": null}})").has_status);
  EXPECT_FALSE(Read<PlacementDecision>(R"({"status": {"decisions": 7}})").has_status);
}

}  // namespace
}  // namespace fleet
