// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/cluster_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "fleet/agent/resource_totals.h"

namespace fleet {
namespace {

using kube::Json;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr kube::WallTime kNow{};

Json Node(const char* cpu, const char* memory, bool cordoned = false) {
  Json resources = {{"cpu", cpu}, {"memory", memory}};
  return {{"spec", {{"unschedulable", cordoned}}},
          {"status", {{"capacity", resources}, {"allocatable", resources}}}};
}

TEST(ResourceTotals, SumsNodesAndForgetsThem) {
  ResourceTotals totals;
  totals.SetNode("a", Node("4", "16Gi"));
  totals.SetNode("b", Node("1500m", "1Gi", true));
  totals.SetNode("c", kube::MustParseJson(R"({"status": {"capacity": {"cpu": "-3", "memory": 7,
    "nvidia.com/gpu": "2", "": "1"}, "allocatable": []}})"));
  EXPECT_THAT(totals.Capacity(),
              UnorderedElementsAre(Pair("cpu", "5500m"), Pair("memory", "17825792Ki"),
                                   Pair("nvidia.com/gpu", "2")));
  EXPECT_THAT(totals.Allocatable(),
              UnorderedElementsAre(Pair("cpu", "4"), Pair("memory", "16777216Ki")));
  totals.SetNode("a", Node("8", "16Gi"));
  totals.RemoveNode("b");
  totals.RemoveNode("missing");
  EXPECT_EQ(totals.Capacity().at("cpu"), "8");
  totals.RemoveNode("a");
  EXPECT_EQ(totals.Allocatable().at("memory"), "0");
}

TEST(ResourceTotals, NumbersOfNamesAreBounded) {
  ResourceTotals totals;
  Json node;
  for (int i = 0; i < 1000; ++i) node["status"]["capacity"]["r" + std::to_string(i)] = "1";
  totals.SetNode("a", node);
  EXPECT_EQ(totals.Capacity().size(), ResourceTotals::kMaxResources);
}

TEST(ClusterStatusPatch, WritesOnlyWhatDiffers) {
  ClusterFacts facts{
      .version = "v1.31.0",
      .capacity = Quantities{{"cpu", "4"}},
      .allocatable = Quantities{{"cpu", "3"}},
      .claims = std::map<std::string, std::string>{{"arm64.multiarch.openshift.io", "true"}}};
  Json cluster = kube::MustParseJson(R"({"metadata": {"resourceVersion": "7"}})");
  std::optional<Json> patch = ClusterStatusPatch(cluster, facts, kNow);
  ASSERT_TRUE(patch);
  EXPECT_EQ((*patch)["metadata"]["resourceVersion"], "7");
  cluster.merge_patch(*patch);
  // A minute later nothing has changed.
  EXPECT_EQ(ClusterStatusPatch(cluster, facts, kNow + std::chrono::minutes(1)), std::nullopt);

  struct Row {
    const char* name;
    std::function<void(ClusterFacts&)> change;
    const char* status;  // of the patch
  };
  const Row rows[] = {
      {"version", [](ClusterFacts& f) { f.version = "v2"; },
       R"({"version": {"kubernetes": "v2"}})"},
      {"a resource is gone",
       [](ClusterFacts& f) {
         f.capacity = Quantities{{"pods", "1"}};
       },
       R"({"capacity": {"cpu": null, "pods": "1"}})"},
      {"less allocatable",
       [](ClusterFacts& f) {
         f.allocatable = Quantities{{"cpu", "2"}};
       },
       R"({"allocatable": {"cpu": "2"}})"},
      {"no architecture", [](ClusterFacts& f) { f.claims->clear(); }, R"({"clusterClaims": []})"},
      {"away", [](ClusterFacts& f) { f.unavailable = "Unavailable"; },
       R"({"conditions": [{"type": "ManagedClusterConditionAvailable", "status": "False",
           "reason": "ManagedClusterKubeAPIServerUnavailable",
           "message": "The API server of the cluster does not answer: Unavailable",
           "lastTransitionTime": "1970-01-01T00:01:00Z"}]})"},
  };
  for (const Row& row : rows) {
    ClusterFacts changed = facts;
    row.change(changed);
    patch = ClusterStatusPatch(cluster, changed, kNow + std::chrono::minutes(1));
    ASSERT_TRUE(patch) << row.name;
    EXPECT_EQ((*patch)["status"], kube::MustParseJson(row.status)) << row.name;
  }
  // Nothing is known: what is there stays.
  EXPECT_EQ(ClusterStatusPatch(cluster, {}, kNow), std::nullopt);
}

TEST(ClusterStatusPatch, KeepsWhatOthersWrote) {
  Json cluster = kube::MustParseJson(R"({"status": {
    "conditions": [{"type": "HubAcceptedManagedCluster", "status": "True", "x": 1},
                   {"type": "ManagedClusterConditionAvailable", "status": "Unknown",
                    "lastTransitionTime": "2000-01-01T00:00:00Z"}, 7],
    "clusterClaims": [{"name": "id.k8s.io", "value": "a"},
                      {"name": "amd64.multiarch.openshift.io", "value": "true"},
                      {"name": "team.multiarch.openshift.io", "value": "b"}, "broken"]}})");
  ClusterFacts facts{
      .claims = std::map<std::string, std::string>{{"arm64.multiarch.openshift.io", "true"}}};
  Json status = (*ClusterStatusPatch(cluster, facts, kNow))["status"];
  EXPECT_EQ(status["clusterClaims"], kube::MustParseJson(R"([
    {"name": "id.k8s.io", "value": "a"}, {"name": "team.multiarch.openshift.io", "value": "b"},
    "broken", {"name": "arm64.multiarch.openshift.io", "value": "true"}])"));
  ASSERT_EQ(status["conditions"].size(), 3);
  EXPECT_EQ(status["conditions"][0]["x"], 1);
  EXPECT_EQ(status["conditions"][1]["lastTransitionTime"], "1970-01-01T00:00:00Z");
  EXPECT_EQ(status["conditions"][2], 7);
}

TEST(ClusterStatusPatch, TooManyClaimsOfOthersAreNotSentBack) {
  Json cluster;
  for (size_t i = 0; i <= kMaxOtherClaims; ++i)
    cluster["status"]["clusterClaims"].push_back({{"name", "c" + std::to_string(i)}});
  ClusterFacts facts{
      .claims = std::map<std::string, std::string>{{"arm64.multiarch.openshift.io", "true"}}};
  Json status = (*ClusterStatusPatch(cluster, facts, kNow))["status"];
  EXPECT_FALSE(status.contains("clusterClaims"));
}

}  // namespace
}  // namespace fleet
