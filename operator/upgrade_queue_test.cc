// SPDX-License-Identifier: Apache-2.0
#include "operator/upgrade_queue.h"

#include <gtest/gtest.h>

namespace operator_ {
namespace {

const ShardSeen kOutdated{.outdated = true};
const ShardSeen kRollingOut{.rolling_out = true, .ran_before = true};
const ShardSeen kPullFails{
    .rolling_out = true, .ran_before = true, .problem = Problem{"ImagePullBackOff", "pod p"}};
const ShardSeen kDone{.ran_before = true};

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
  // Those of the five that get a turn now.
  std::string Turns() {
    std::string turns;
    for (const char* ns : {"a", "b", "c", "d", "e"}) {
      if (queue_.TakeTurn(ns)) turns += std::string(ns) + " ";
    }
    return turns;
  }
  std::string Called() { return std::exchange(called_, ""); }

  UpgradeQueue queue_{2};
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
  EXPECT_TRUE(queue_.TakeTurn("d"));
  EXPECT_FALSE(queue_.TakeTurn("c"));
  UpgradeProgress progress = queue_.progress();
  EXPECT_EQ(progress.shards, 5);
  EXPECT_EQ(progress.outdated, 2);
  EXPECT_EQ(progress.rolling_out, 2);
}

TEST_F(UpgradeQueueTest, AShardThatDoesNotRunStopsTheUpgradeUntilItRuns) {
  StartUpgrade();
  ASSERT_TRUE(queue_.TakeTurn("a"));
  queue_.See("a", kPullFails);
  EXPECT_EQ(Turns(), "");
  EXPECT_EQ(queue_.progress().failed,
            (std::map<std::string, Problem>{{"a", {"ImagePullBackOff", "pod p"}}}));
  // Between two crashes.
  queue_.See("a", kRollingOut);
  EXPECT_EQ(Turns(), "");
  EXPECT_EQ(Called(), "");
  queue_.See("a", kDone);
  EXPECT_EQ(Called(), "b c ");
  EXPECT_TRUE(queue_.progress().failed.empty());
}

TEST_F(UpgradeQueueTest, AShardThatIsRemovedStopsNothing) {
  StartUpgrade();
  queue_.See("a", kPullFails);
  queue_.Forget("a");
  EXPECT_EQ(Called(), "b c ");
  EXPECT_EQ(queue_.progress().shards, 4);
}

// A newer operator repairs what the last one broke.
TEST_F(UpgradeQueueTest, AFailedShardWithAnotherTemplateWaitsForATurn) {
  StartUpgrade();
  queue_.See("a", kPullFails);
  queue_.See("a", kOutdated);
  EXPECT_EQ(Turns(), "a b ");
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
  queue_.Forget("c");
  EXPECT_EQ(Called(), "");
  EXPECT_FALSE(queue_.TakeTurn("a"));
}

// Its namespace refuses the Deployment: it is not called in a loop, and nobody waits for it.
TEST_F(UpgradeQueueTest, ARefusedShardIsNotCalled) {
  StartUpgrade();
  ASSERT_TRUE(queue_.TakeTurn("a"));
  queue_.See("a", {.outdated = true, .refused = true});
  EXPECT_EQ(Called(), "b c ");
  EXPECT_EQ(queue_.progress().outdated, 5);
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
  UpgradeQueue queue(0);
  queue.See("a", kPullFails);
  queue.See("b", kOutdated);
  EXPECT_TRUE(queue.TakeTurn("b"));
}

}  // namespace
}  // namespace operator_
