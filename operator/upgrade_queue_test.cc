// SPDX-License-Identifier: Apache-2.0
#include "operator/upgrade_queue.h"

#include <gtest/gtest.h>

#include <set>

#include "kube/testing/fake_clock.h"

namespace operator_ {
namespace {

const ShardSeen kOutdated{.outdated = true};
const ShardSeen kRollingOut{.rolling_out = true, .ran_before = true};
const ShardSeen kPullFails{
    .rolling_out = true, .ran_before = true, .problem = Problem{"ImagePullBackOff", "pod p"}};
const ShardSeen kQuota{
    .rolling_out = true, .ran_before = true, .problem = Problem{"QuotaExceeded", "no room"}};
const ShardSeen kDone{.ran_before = true, .runs = true};

class UpgradeQueueTest : public testing::Test {
 protected:
  UpgradeQueueTest() {
    queue_.OnTurn([this](const std::string& ns) { called_ += ns + " "; });
    queue_.OnProgress([this] { ++reports_; });
  }
  // Five shards with an older template.
  void StartUpgrade() {
    for (const char* ns : {"a", "b", "c", "d", "e"}) queue_.See(ns, kOutdated);
    queue_.SeeCluster(true);
    called_.clear();
  }
  // As soon as it has its turn.
  void Upgrade(const std::string& ns, const ShardSeen& seen) {
    ASSERT_TRUE(queue_.TakeTurn(ns)) << ns;
    queue_.See(ns, seen);
  }
  // Those of the five that get a turn now.
  std::string Turns() {
    std::string turns;
    for (const char* ns : {"a", "b", "c", "d", "e"}) {
      if (queue_.TakeTurn(ns)) turns += std::string(ns) + " ";
    }
    return turns;
  }
  std::string Called() { return std::exchange(called_, ""); }

  kube::FakeClock clock_;
  UpgradeQueue queue_{clock_, {.at_a_time = 2}};
  std::string called_;
  int reports_ = 0;
};

TEST_F(UpgradeQueueTest, TheClusterIsFirst) {
  queue_.See("a", kOutdated);
  EXPECT_FALSE(queue_.TakeTurn("a"));
  EXPECT_EQ(Called(), "");
  queue_.SeeCluster(true);
  EXPECT_EQ(Called(), "a ");
  EXPECT_TRUE(queue_.TakeTurn("a"));
}

TEST_F(UpgradeQueueTest, SomeAtATime) {
  StartUpgrade();
  EXPECT_EQ(Turns(), "a b ");
  queue_.See("a", kRollingOut);
  queue_.See("b", kRollingOut);
  EXPECT_EQ(Turns(), "a b ");  // their own turns last
  queue_.See("b", kDone);
  EXPECT_EQ(Called(), "c ");
  EXPECT_FALSE(queue_.TakeTurn("d")) << "c is before";
  EXPECT_TRUE(queue_.TakeTurn("c"));
  EXPECT_FALSE(queue_.TakeTurn("d"));
  UpgradeProgress progress = queue_.progress();
  EXPECT_EQ(progress.shards, 5);
  EXPECT_EQ(progress.outdated, 2);
  EXPECT_EQ(progress.rolling_out, 2);
}

TEST_F(UpgradeQueueTest, TwoNamespacesThatFailStopTheUpgradeUntilOneRuns) {
  StartUpgrade();
  Upgrade("a", kPullFails);
  EXPECT_FALSE(queue_.progress().stopped);
  Upgrade("b", kPullFails);
  EXPECT_EQ(Turns(), "");
  EXPECT_TRUE(queue_.progress().stopped);
  EXPECT_EQ(queue_.progress().failed,
            (std::map<std::string, Problem>{{"a", {"ImagePullBackOff", "pod p"}},
                                            {"b", {"ImagePullBackOff", "pod p"}}}));
  Called();
  // Between two crashes.
  queue_.See("a", kRollingOut);
  EXPECT_EQ(Turns(), "");
  EXPECT_EQ(Called(), "");
  queue_.See("a", kDone);
  EXPECT_EQ(Called(), "c d ");
  EXPECT_FALSE(queue_.progress().stopped);
}

TEST_F(UpgradeQueueTest, OneNamespaceAloneStopsNothing) {
  StartUpgrade();
  Upgrade("a", kPullFails);
  for (const char* ns : {"b", "c", "d", "e"}) Upgrade(ns, kDone);
  EXPECT_FALSE(queue_.progress().stopped);
  EXPECT_EQ(queue_.progress().outdated, 0);
  EXPECT_EQ(queue_.progress().failed.size(), 1u);
}

TEST_F(UpgradeQueueTest, WhatTheNamespacesCauseStopsNothing) {
  StartUpgrade();
  for (const char* ns : {"a", "b", "c", "d"}) Upgrade(ns, kQuota);
  EXPECT_TRUE(queue_.TakeTurn("e"));
  EXPECT_EQ(queue_.progress().failed.size(), 4u);
  EXPECT_FALSE(queue_.progress().stopped);
}

TEST_F(UpgradeQueueTest, LessThanHalfOfTheLastTurnsStopNothing) {
  StartUpgrade();
  for (const char* ns : {"a", "b", "c"}) Upgrade(ns, kDone);
  Upgrade("d", kPullFails);
  Upgrade("e", kPullFails);
  queue_.See("f", kOutdated);
  EXPECT_TRUE(queue_.TakeTurn("f"));
}

// As when the registry fails after a hundred shards.
TEST_F(UpgradeQueueTest, OnlyTheLastTurnsCount) {
  StartUpgrade();
  for (int i = 0; i < 100; ++i) {
    std::string ns = "later-" + std::to_string(100 + i);
    queue_.See(ns, kOutdated);
  }
  int failed = 0;
  int succeeded = 0;
  for (const char* ns : {"a", "b", "c", "d", "e"}) Upgrade(ns, kDone);
  for (int i = 0; i < 100; ++i) {
    std::string ns = "later-" + std::to_string(100 + i);
    if (!queue_.TakeTurn(ns)) continue;
    bool fails = i >= 50;
    queue_.See(ns, fails ? kPullFails : kDone);
    ++(fails ? failed : succeeded);
  }
  EXPECT_EQ(succeeded, 50);
  EXPECT_EQ(failed, 8);
  EXPECT_TRUE(queue_.progress().stopped);
}

// Example: its owner deletes its pods in a loop, which the Deployment does not show.
TEST_F(UpgradeQueueTest, ATurnHasAnEnd) {
  StartUpgrade();
  Upgrade("a", kRollingOut);
  Upgrade("b", kRollingOut);
  clock_.Advance(std::chrono::seconds(170));
  queue_.See("a", kRollingOut);
  EXPECT_EQ(Turns(), "a b ");
  clock_.Advance(std::chrono::seconds(20));
  queue_.See("a", kRollingOut);
  EXPECT_EQ(queue_.progress().failed.at("a").reason, "UpgradeTimeout");
  EXPECT_TRUE(queue_.TakeTurn("c"));
}

// Its pods are replaced once more, for whatever reason.
TEST_F(UpgradeQueueTest, AShardThatHadItsTurnTakesNoOther) {
  StartUpgrade();
  Upgrade("a", kDone);
  Upgrade("b", kDone);
  queue_.See("a", kRollingOut);
  queue_.See("b", kRollingOut);
  Called();
  queue_.See("c", kOutdated);
  EXPECT_EQ(queue_.progress().rolling_out, 0);
  EXPECT_EQ(Called(), "c d ");
}

// The owner changes the operator's mark on the Deployment in a loop.
TEST_F(UpgradeQueueTest, AShardThatIsOutdatedAgainWaitsBehindAllOthers) {
  StartUpgrade();
  for (const char* ns : {"a", "b"}) Upgrade(ns, kDone);
  for (const char* ns : {"a", "b"}) queue_.See(ns, kOutdated);
  EXPECT_EQ(Turns(), "c d ");
}

TEST_F(UpgradeQueueTest, TheOrderIsThatOfTheSeed) {
  std::set<std::string> firsts;
  for (int seed = 0; seed < 20; ++seed) {
    UpgradeQueue queue(clock_, {.at_a_time = 1, .order_seed = std::to_string(seed)});
    for (const char* ns : {"a", "b", "c", "d", "e"}) queue.See(ns, kOutdated);
    std::string first;
    queue.OnTurn([&](const std::string& ns) { first = ns; });
    queue.SeeCluster(true);
    firsts.insert(first);
  }
  EXPECT_GT(firsts.size(), 2u);
}

TEST_F(UpgradeQueueTest, AShardThatIsRemovedStopsNothing) {
  StartUpgrade();
  Upgrade("a", kPullFails);
  Upgrade("b", kPullFails);
  Called();
  queue_.Forget("a");
  EXPECT_EQ(Called(), "c d ");
  EXPECT_EQ(queue_.progress().shards, 4);
}

// A newer operator repairs what the last one broke.
TEST_F(UpgradeQueueTest, AFailedShardWithAnotherTemplateWaitsForATurn) {
  StartUpgrade();
  Upgrade("a", kPullFails);
  queue_.See("a", kOutdated);
  EXPECT_EQ(Turns(), "b c ");
  for (const char* ns : {"b", "c", "d", "e"}) {
    EXPECT_TRUE(queue_.TakeTurn(ns)) << ns;
    queue_.See(ns, kDone);
  }
  EXPECT_TRUE(queue_.TakeTurn("a"));
}

TEST_F(UpgradeQueueTest, AShardThatWasBrokenBeforeStopsNothing) {
  StartUpgrade();
  ASSERT_TRUE(queue_.TakeTurn("a"));
  queue_.See("a", {.rolling_out = true});
  ASSERT_TRUE(queue_.TakeTurn("b"));
  EXPECT_FALSE(queue_.TakeTurn("c"));
  queue_.See("a", {.rolling_out = true, .problem = Problem{"QuotaExceeded", ""}});
  EXPECT_TRUE(queue_.TakeTurn("c"));
  EXPECT_TRUE(queue_.progress().failed.empty());
}

// A new operator does not know yet which shards have failed.
TEST_F(UpgradeQueueTest, EveryShardIsSeenBeforeTheFirstTurn) {
  queue_.Expect({"a", "b", "c"});
  queue_.SeeCluster(true);
  queue_.See("a", kOutdated);
  EXPECT_FALSE(queue_.TakeTurn("a"));
  queue_.See("b", kPullFails);
  EXPECT_FALSE(queue_.TakeTurn("a"));
  queue_.See("c", kPullFails);
  EXPECT_EQ(Called(), "");
  EXPECT_FALSE(queue_.TakeTurn("a")) << "two have failed";
}

// Its namespace refuses the Deployment: the shard is not notified in a loop, and no other shard
// waits for it.
TEST_F(UpgradeQueueTest, ARefusedShardIsNotCalled) {
  StartUpgrade();
  ASSERT_TRUE(queue_.TakeTurn("a"));
  queue_.See("a", {.outdated = true, .problem = Problem{"AdmissionDenied", "no"}, .refused = true});
  EXPECT_EQ(Called(), "b c ");
  EXPECT_EQ(queue_.progress().outdated, 5);
  EXPECT_EQ(queue_.progress().refused, 1);
  EXPECT_EQ(queue_.progress().failed.at("a").reason, "AdmissionDenied");
  EXPECT_TRUE(queue_.TakeTurn("a"));
}

TEST_F(UpgradeQueueTest, ProgressIsReportedWhenItChanges) {
  StartUpgrade();
  int before = reports_;
  queue_.See("a", kOutdated);
  EXPECT_EQ(reports_, before);
  queue_.See("a", kRollingOut);
  EXPECT_EQ(reports_, before + 1);
}

TEST(UnlimitedUpgradeQueueTest, UpgradesAllAtOnceWithoutAStop) {
  kube::FakeClock clock;
  UpgradeQueue queue(clock, {.at_a_time = 0});
  for (const char* ns : {"a", "b", "c"}) queue.See(ns, kPullFails);
  queue.See("d", kOutdated);
  EXPECT_TRUE(queue.TakeTurn("d"));
  EXPECT_FALSE(queue.progress().stopped);
}

}  // namespace
}  // namespace operator_
