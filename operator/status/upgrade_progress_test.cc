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
  EXPECT_EQ(condition.status == "True",
            condition.reason == "AsExpected" || condition.reason == "UpgradedWithFailures");
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
  UpgradeProgress progress{.shards = 50, .outdated = 36, .stopped = true, .cluster_current = true};
  progress.failed["shop"] = {"InvalidImageName", "pod p: x"};
  progress.failed["web"] = {"CrashLoopBackOff", "pod q: y"};
  EXPECT_EQ(Tell(progress),
            "UpgradeStopped: 12 of 50 namespaces are upgraded; namespace shop: InvalidImageName: "
            "pod p: x. Remedy: correct the image in the operator's flags; namespace web: "
            "CrashLoopBackOff: pod q: y. Remedy: read the log of the container: kubectl logs "
            "--previous; the upgrade continues when shards of these namespaces run, or when their "
            "PodPlacementConfigs are deleted");
  for (const char* ns : {"a", "b"}) progress.failed[ns] = {};
  EXPECT_NE(Tell(progress).find("and other namespaces"), std::string::npos);
  EXPECT_EQ(Tell(progress).find("web"), std::string::npos);
}

// The failures are reported, but the owner of a namespace cannot keep the condition False.
TEST(UpgradeProgressTest, TellsFailuresThatStopNothing) {
  UpgradeProgress progress{
      .shards = 50, .outdated = 36, .rolling_out = 2, .refused = 1, .cluster_current = true};
  progress.failed["shop"] = {"QuotaExceeded", "no room"};
  progress.failed["web"] = {"AdmissionDenied", "no"};
  EXPECT_TRUE(
      Tell(progress).starts_with("Upgrading: 11 of 50 namespaces are upgraded, 2 are being "
                                 "upgraded; 2 failed, which stops no other: namespace shop: "
                                 "QuotaExceeded: no room. Remedy: "))
      << Tell(progress);
  progress.rolling_out = 0;
  progress.outdated = 1;
  EXPECT_TRUE(Tell(progress, "False")
                  .starts_with("UpgradedWithFailures: 2 namespaces have a shard that does not run "
                               "or could not be upgraded: namespace shop: "))
      << Tell(progress, "False");
  progress.stopped = true;
  EXPECT_TRUE(Tell(progress, "False").starts_with("UpgradeStopped"));
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
