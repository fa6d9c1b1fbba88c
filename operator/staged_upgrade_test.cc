// SPDX-License-Identifier: Apache-2.0
// The upgrade of many shards by a new operator (upgrade_queue.h), against a fake API server.
#include <gtest/gtest.h>

#include <set>

#include "api/names.h"
#include "operator/testing/harness.h"

namespace operator_ {
namespace {

using kube::Json;
using namespace std::chrono_literals;

class StagedUpgradeTest : public testing::Test {
 protected:
  void SetUp() override {
    h_.shard_upgrades = 2;
    h_.StartOperator("1");
    ASSERT_TRUE(h_.BringUpCluster());
    for (const std::string& ns : namespaces_) ASSERT_TRUE(h_.BringUp(ns));
    h_.Pass(10s);
    ASSERT_EQ(h_.ClusterCondition("ShardsUpToDate"), "True AsExpected");
  }
  // Replaces the operator by one with newer images; the operands of the cluster are complete.
  void Replace(const std::string& tag) {
    h_.StopOperator();
    h_.StartOperator(tag);
    h_.Pass(2s);
    h_.RollOutCluster();
    h_.Pass(8s);
  }
  // The namespaces whose shard has the images `tag`, each as "ns ".
  std::string With(const std::string& tag) {
    std::string with;
    for (const std::string& ns : namespaces_) {
      if (ImageIn(ns) == "r.io/shard:" + tag) with += ns + " ";
    }
    return with;
  }
  std::string ImageIn(const std::string& ns) {
    kube::ObjectKey key{ns, std::string(api::kShardControllerName)};
    std::optional<Json> deployment = h_.api.GetJson(kube::kDeployments, key);
    if (!deployment) return "none";
    return (*deployment)["spec"]["template"]["spec"]["containers"][0]["image"];
  }
  // Two upgraded namespaces fail, which stops the upgrade. Returns: the namespaces as With().
  std::string StopUpgrade(const std::string& tag) {
    h_.MissDeadline("a", api::kShardControllerName);
    h_.MissDeadline("b", api::kShardWebhookName);
    EXPECT_TRUE(h_.Await([&] { return State() == "False UpgradeStopped"; })) << State();
    std::string stopped_at = With(tag);
    EXPECT_LE(stopped_at.size(), 6u) << "one more may have had its turn before";
    return stopped_at;
  }
  // The pods of all upgraded shards run, but for those of `but`.
  void RollOutUpgraded(const std::string& tag, const std::set<std::string>& but = {}) {
    for (int round = 0; round < 5; ++round) {
      for (const std::string& ns : namespaces_) {
        if (!but.contains(ns) && ImageIn(ns) == "r.io/shard:" + tag) h_.RollOutShard(ns);
      }
      h_.Pass(15s);
    }
  }
  std::string State() { return h_.ClusterCondition("ShardsUpToDate"); }

  Harness h_;
  std::vector<std::string> namespaces_ = {"a", "b", "c", "d", "e"};
};

TEST_F(StagedUpgradeTest, TheClusterIsFirstThenSomeNamespacesAtATime) {
  h_.StopOperator();
  h_.StartOperator("2");
  h_.Pass(30s);
  EXPECT_EQ(With("2"), "");
  EXPECT_EQ(State(), "False WaitingForCluster");
  EXPECT_EQ(h_.Condition("e", "a", "Progressing"), "True UpgradeWaiting");
  EXPECT_EQ(h_.Condition("e", "a", "Available"), "True AsExpected");
  h_.RollOutCluster();

  std::string upgraded;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(h_.Await([&] { return With("2").size() > upgraded.size(); })) << round;
    h_.Pass(30s);
    std::string now = With("2");
    EXPECT_EQ(now.size(), round < 2 ? upgraded.size() + 4 : 10u) << now;
    EXPECT_EQ(State(), "False Upgrading");
    EXPECT_EQ(h_.Metric("mto_ppo_shards_outdated"), 5 - static_cast<int>(now.size() / 2));
    for (const std::string& ns : namespaces_) {
      bool had_its_turn = now.find(ns) != std::string::npos;
      EXPECT_EQ(h_.Condition(ns, "a", "Progressing") == "True UpgradeWaiting", !had_its_turn);
      if (had_its_turn && upgraded.find(ns) == std::string::npos) h_.RollOutShard(ns);
    }
    upgraded = now;
  }
  EXPECT_TRUE(h_.Await([&] { return State() == "True AsExpected"; })) << State();
  h_.Pass(5s);
  for (const std::string& ns : namespaces_)
    EXPECT_EQ(h_.Condition(ns, "a", "Progressing"), "False AsExpected") << ns;
  EXPECT_EQ(h_.Metric("mto_ppo_shards"), 5);
  EXPECT_EQ(h_.Metric("mto_ppo_shards_outdated"), 0);
  EXPECT_EQ(h_.Events("ShardUpgradeBegun", "cluster"), 1);
  EXPECT_EQ(h_.Events("ShardUpgradeFinished", "cluster"), 1);
  EXPECT_EQ(h_.Events("ShardUpgradeStopped", "cluster"), 0);
}

TEST_F(StagedUpgradeTest, TwoShardsThatDoNotRunStopTheUpgradeAlsoForANewOperator) {
  Replace("2");
  ASSERT_EQ(With("2"), "a b ");
  std::string stopped_at = StopUpgrade("2");
  EXPECT_NE(h_.ClusterMessage("ShardsUpToDate").find("namespace a: ProgressDeadlineExceeded"),
            std::string::npos)
      << h_.ClusterMessage("ShardsUpToDate");
  h_.Pass(60s);
  EXPECT_EQ(With("2"), stopped_at);
  EXPECT_EQ(h_.Metric("mto_ppo_shard_upgrade_stopped"), 2);
  EXPECT_EQ(h_.Events("ShardUpgradeStopped", "cluster"), 1);

  h_.StopOperator();
  h_.StartOperator("2");
  h_.Pass(60s);
  EXPECT_EQ(With("2"), stopped_at);
  EXPECT_EQ(State(), "False UpgradeStopped");
  EXPECT_EQ(h_.Events("ShardUpgradeStopped", "cluster"), 1);

  h_.RollOutShard("a");
  EXPECT_TRUE(h_.Await([&] { return With("2").size() > stopped_at.size(); }));
  h_.Pass(10s);
  EXPECT_EQ(h_.Events("ShardUpgradeResumed", "cluster"), 1);
}

TEST_F(StagedUpgradeTest, ItContinuesWithoutTheNamespaceThatStoppedIt) {
  Replace("2");
  std::string stopped_at = StopUpgrade("2");
  h_.DeleteConfig("a", "a");
  EXPECT_TRUE(h_.Await([&] { return With("2").find("d") != std::string::npos; })) << stopped_at;
}

// Only new templates of running shards wait.
TEST_F(StagedUpgradeTest, WhileItIsStoppedEverythingElseIsApplied) {
  Replace("2");
  StopUpgrade("2");
  h_.api.DeleteJson(kube::kRoles, {"e", std::string(api::kShardControllerName)});
  EXPECT_TRUE(h_.Await([&] {
    return h_.Exists(kube::kRoles, {"e", std::string(api::kShardControllerName)});
  }));
  h_.CreateConfig("new", "a", 1);
  EXPECT_TRUE(h_.Await([&] { return ImageIn("new") == "r.io/shard:2"; }));
  h_.RollOutShard("new");
  EXPECT_TRUE(h_.Await([&] { return h_.Condition("new", "a", "Available") == "True AsExpected"; }));
  EXPECT_EQ(ImageIn("e"), "r.io/shard:1");
}

TEST_F(StagedUpgradeTest, ANewerOperatorRepairsAStoppedUpgrade) {
  Replace("2");
  StopUpgrade("2");
  Replace("3");
  RollOutUpgraded("3");
  EXPECT_EQ(With("3"), "a b c d e ");
}

// Its namespace's quota is full since long.
TEST_F(StagedUpgradeTest, AShardThatWasBrokenBeforeStopsNothing) {
  h_.MissDeadline("a", api::kShardControllerName);
  h_.Pass(2s);
  Replace("2");
  h_.MissDeadline("a", api::kShardControllerName);
  h_.Pass(15s);
  RollOutUpgraded("2", {"a"});
  EXPECT_EQ(With("2"), "a b c d e ");
  EXPECT_EQ(h_.Events("ShardUpgradeStopped", "cluster"), 0);
}

TEST_F(StagedUpgradeTest, ARefusedUpgradeKeepsNoOtherShardFromItsTurn) {
  h_.api.FailNext(kube::Error::FromHttpStatus(403, "Forbidden", "no, says the policy"),
                  "PATCH /apis/apps/v1/namespaces/a/", 1000000);
  Replace("2");
  RollOutUpgraded("2");
  EXPECT_EQ(With("2"), "b c d e ");
  EXPECT_EQ(State(), "True UpgradedWithFailures");
  EXPECT_LT(h_.api.CountCalls("PATCH /apis/apps/v1/namespaces/a/"), 40);
  EXPECT_EQ(h_.Condition("a", "a", "Degraded"), "True Forbidden");
}

// The owner of a namespace can make its shard fail in every way: one such namespace stops nothing,
// and namespaces without room for a pod stop nothing in any number.
TEST_F(StagedUpgradeTest, NamespacesThatFailByTheirOwnFaultStopNothing) {
  struct Row {
    const char* reason;
    std::set<std::string> failing;
  };
  int tag = 2;
  for (const Row& row :
       {Row{"ProgressDeadlineExceeded", {"a"}}, Row{"QuotaExceeded", {"a", "b"}}}) {
    std::string version = std::to_string(tag++);
    Replace(version);
    for (const std::string& ns : row.failing) {
      row.failing.size() == 1 ? h_.MissDeadline(ns, api::kShardControllerName)
                              : h_.ExceedQuota(ns, api::kShardControllerName);
    }
    h_.Pass(15s);
    RollOutUpgraded(version, row.failing);
    EXPECT_EQ(With(version), "a b c d e ") << row.reason;
    EXPECT_EQ(State(), "True UpgradedWithFailures");
    EXPECT_NE(h_.ClusterMessage("ShardsUpToDate").find("namespace a: " + std::string(row.reason)),
              std::string::npos)
        << h_.ClusterMessage("ShardsUpToDate");
    EXPECT_EQ(h_.Condition("a", "a", "Degraded"), "True " + std::string(row.reason));
    for (const std::string& ns : namespaces_) h_.RollOutShard(ns);
    h_.Pass(15s);
    EXPECT_EQ(State(), "True AsExpected");
  }
  EXPECT_EQ(h_.Events("ShardUpgradeStopped", "cluster"), 0);
}

// The shards neither run nor fail, because their owners delete the pods in a loop.
TEST_F(StagedUpgradeTest, ATurnThatDoesNotEndIsTakenAway) {
  Replace("2");
  h_.RollOut("a", api::kShardControllerName, /*runs=*/false);
  h_.RollOut("b", api::kShardControllerName, /*runs=*/false);
  h_.Pass(60s);
  EXPECT_EQ(With("2"), "a b ");
  EXPECT_EQ(State(), "False Upgrading");
  h_.Pass(180s);
  EXPECT_NE(h_.ClusterMessage("ShardsUpToDate").find("namespace a: UpgradeTimeout"),
            std::string::npos)
      << h_.ClusterMessage("ShardsUpToDate");
  EXPECT_EQ(h_.Metric("mto_ppo_shards_upgrade_failed"), 2);
  h_.RollOutShard("b");
  RollOutUpgraded("2", {"a"});
  EXPECT_EQ(With("2"), "a b c d e ");
}

// The progress is written to the cluster's config at intervals, not once for each namespace.
TEST_F(StagedUpgradeTest, TheStatusIsWrittenAtABoundedRate) {
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(h_.BringUp("more-" + std::to_string(i)));
  int before = h_.api.CountCalls("clusterpodplacementconfigs/cluster/status");
  Replace("2");
  kube::TimePoint begin = h_.clock.Now();
  for (int step = 0; step < 300 && State() != "True AsExpected"; ++step) {
    for (int i = 0; i < 40; ++i) {
      std::string ns = "more-" + std::to_string(i);
      if (ImageIn(ns) == "r.io/shard:2") h_.RollOutShard(ns);
    }
    for (const std::string& ns : namespaces_) {
      if (ImageIn(ns) == "r.io/shard:2") h_.RollOutShard(ns);
    }
    h_.Pass(300ms);
  }
  EXPECT_EQ(State(), "True AsExpected");
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(h_.clock.Now() - begin).count();
  int writes = h_.api.CountCalls("clusterpodplacementconfigs/cluster/status") - before;
  // Replace() causes some: its changes come together or one by one. One for each namespace is 45.
  EXPECT_LE(writes, seconds / 5 + 12) << seconds << " s";
}

}  // namespace
}  // namespace operator_
