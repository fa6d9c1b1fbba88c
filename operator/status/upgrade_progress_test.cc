// SPDX-License-Identifier: Apache-2.0
#include "operator/status/upgrade_progress.h"

#include <gtest/gtest.h>

namespace operator_ {
namespace {

// "Upgrading: MESSAGE" for a progress whose condition was `before`.
std::string Tell(const UpgradeProgress& progress, const char* before = "") {
  std::vector<api::Condition> conditions;
  if (*before != 0) conditions.push_back({.type = "ShardsUpToDate", .status = before});
  api::Condition condition = UpgradeCondition(progress, conditions);
  EXPECT_EQ(condition.status == "True", condition.reason == "AsExpected");
  return condition.reason + ": " + condition.message;
}

TEST(UpgradeProgressTest, TellsHowFarItIs) {
  UpgradeProgress progress{.shards = 50, .outdated = 36, .rolling_out = 2};
  EXPECT_EQ(Tell(progress),
            "WaitingForCluster: 12 of 50 namespaces are upgraded; the operands in the operator's "
            "namespace are upgraded first");
  progress.cluster_current = true;
  EXPECT_EQ(Tell(progress), "Upgrading: 12 of 50 namespaces are upgraded, 2 are being upgraded");
}

TEST(UpgradeProgressTest, TellsWhatStopsIt) {
  UpgradeProgress progress{.shards = 50, .outdated = 37, .cluster_current = true};
  progress.failed["shop"] = {"InvalidImageName", "pod p: x"};
  EXPECT_EQ(Tell(progress),
            "UpgradeStopped: 12 of 50 namespaces are upgraded; namespace shop: InvalidImageName: "
            "pod p: x. Remedy: correct the image in the operator's flags; the upgrade continues "
            "when these shards run, or when the PodPlacementConfigs of these namespaces are "
            "deleted");
  for (const char* ns : {"a", "b", "c"}) progress.failed[ns] = {};
  EXPECT_NE(Tell(progress).find("and other namespaces"), std::string::npos);
  EXPECT_EQ(Tell(progress).find("shop"), std::string::npos);
}

TEST(UpgradeProgressTest, TheLastShardsBelongToTheUpgrade) {
  UpgradeProgress last{.shards = 5, .rolling_out = 1, .cluster_current = true};
  EXPECT_TRUE(Tell(last, "False").starts_with("Upgrading"));
  EXPECT_TRUE(Tell({.shards = 5, .cluster_current = true}, "False").starts_with("AsExpected"));
  // A pod that is replaced when no upgrade is in progress.
  EXPECT_TRUE(Tell(last, "True").starts_with("AsExpected"));
  EXPECT_TRUE(Tell(last).starts_with("AsExpected"));
}

}  // namespace
}  // namespace operator_
