// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/budgets.h"

#include <gtest/gtest.h>

#include <string>

#include "fleet/testing/make_object.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Json;

template <class T>
size_t BytesOf(const Json& json) {
  return KeptBytes(T::FromJson(json).value(), json);
}

// 12 labels and 12 claims, as in the benchmark of the store.
Json Cluster() {
  MakeObject cluster = MakeManagedCluster("c1");
  Json claims = Json::array();
  for (int i = 0; i < 12; ++i) {
    cluster.Label("example.com/label-" + std::to_string(i), "value-" + std::to_string(i));
    claims.push_back({{"name", "claim-" + std::to_string(i) + ".example.com"}, {"value", "value"}});
  }
  return cluster.Set("/status/clusterClaims", std::move(claims));
}

TEST(BudgetsTest, ASupportedFleetFitsWithRoom) {
  constexpr size_t kClusters = 5000;
  constexpr size_t kPlacementCount = 500;
  EXPECT_LT(2 * kClusters * BytesOf<ManagedCluster>(Cluster()), kClusterBudget.total);

  Json score = MakeScore("c1", "multiarch", "arm64.cpu", 1);
  for (int i = 0; i < 7; ++i)
    score["status"]["scores"].push_back(
        {{"name", "arm64.runnable" + std::to_string(i)}, {"value", i}});
  EXPECT_LT(1.5 * kClusters * BytesOf<AddOnPlacementScore>(score), kScoreBudget.total);

  // One that selects all clusters has 50 PlacementDecisions.
  Json placement = MakePlacement("ns", "p", R"({
      "predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"a": "b"}}}}],
      "tolerations": [{"key": "k", "operator": "Exists"}]})");
  Json decisions = Json::array();
  for (int i = 0; i < 50; ++i) decisions.push_back("placement-100-decision-" + std::to_string(i));
  placement["status"]["decisionGroups"] =
      Json::array({{{"decisionGroupIndex", 0}, {"decisions", decisions}}});
  EXPECT_LT(kPlacementCount * BytesOf<Placement>(placement), kPlacementBudget.total);
  EXPECT_LT(kPlacementCount * 50 * DecisionBytes(100, false), kDecisionBudget.total);
}

TEST(BudgetsTest, WhatIsKeptCounts) {
  Json cluster = Cluster();
  size_t before = BytesOf<ManagedCluster>(cluster);
  cluster["status"]["clusterClaims"].push_back({{"name", "n"}, {"value", std::string(999, 'v')}});
  EXPECT_EQ(BytesOf<ManagedCluster>(cluster), before + 1000 + 2 * sizeof(uint32_t));
  cluster["metadata"]["annotations"]["a"] = std::string(100'000, 'a');
  cluster["status"]["conditions"] = Json::array({std::string(100'000, 'c')});
  EXPECT_EQ(BytesOf<ManagedCluster>(cluster), before + 1000 + 2 * sizeof(uint32_t));

  Json score = MakeScore("c1", "r", "s", 1);
  before = BytesOf<AddOnPlacementScore>(score);
  score["status"]["scores"].push_back({{"name", std::string(200, 'n')}, {"value", 1}});
  EXPECT_GT(BytesOf<AddOnPlacementScore>(score), before + 200);

  Json placement = MakePlacement("ns", "p", "{}");
  before = BytesOf<Placement>(placement);
  std::string cel(1000, 'c');
  placement["spec"]["predicates"] = kube::MustParseJson(
      R"([{"requiredClusterSelector": {"celSelector": {"celExpressions": [")" + cel + R"("]}}}])");
  EXPECT_GT(BytesOf<Placement>(placement), before + 4000) << "it is kept several times";
  placement["metadata"]["annotations"]["a"] = std::string(100'000, 'a');
  EXPECT_LT(BytesOf<Placement>(placement), before + 6000);

  EXPECT_EQ(BytesOf<PlacementDecision>(MakePlacementDecision("ns", "d", "p", {"c1", "c2"})),
            DecisionBytes(2, false))
      << "without an owner";

  Json fleet = MakeFleetPodPlacement("ns", "web", "p");
  before = BytesOf<FleetPodPlacement>(fleet);
  fleet["spec"]["clusterPodPlacementConfig"]["metadata"]["annotations"]["a"] =
      std::string(10'000, 'a');
  EXPECT_GT(BytesOf<FleetPodPlacement>(fleet), before + 10'000);
  FleetPodPlacement packed = FleetPodPlacement::FromJson(fleet).value();
  packed.Pack();
  EXPECT_EQ(KeptBytes(packed, fleet), BytesOf<FleetPodPlacement>(fleet));
}

TEST(BudgetsTest, MessagesNameTheLimit) {
  auto describe = [](Excess excess, size_t bytes) {
    return DescribeExcess("placements", kPlacementBudget, excess, bytes);
  };
  EXPECT_EQ(describe(Excess::kObject, 2'000'000),
            "is not in force: it needs 2000000 bytes, and at most 1048576 are allowed");
  EXPECT_EQ(describe(Excess::kOwner, 3000),
            "is not in force: it needs 3000 bytes, and all placements of its namespace may have "
            "2097152 together; the oldest ones stay in force");
  EXPECT_EQ(describe(Excess::kTotal, 0),
            "is not in force: all placements of the hub may have 6291456 together; the oldest ones "
            "stay in force");
  EXPECT_EQ(describe(Excess::kOwnerObjects, 3000),
            "is not in force: its namespace has more than 1000 placements");
  EXPECT_EQ(describe(Excess::kObjects, 3000),
            "is not in force: the hub has more than 5000 placements");
}

}  // namespace
}  // namespace fleet
