// SPDX-License-Identifier: Apache-2.0
#include "kube/queue/fair_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FairShareTest : public testing::Test {
 protected:
  void Make(FairShareOptions options) {
    share_ = FairShare(options);
    share_.OnTurn([this](const ObjectKey& pod) { woken_.push_back(pod.ToString()); });
  }

  FairShare share_{{}};
  std::vector<std::string> woken_;
};

TEST_F(FairShareTest, APodBeyondItsNamespacesShareWaitsForItsTurn) {
  Make({.per_namespace = 2, .total = 10});
  EXPECT_TRUE(share_.Enter({"a", "1"}));
  EXPECT_TRUE(share_.Enter({"a", "2"}));
  EXPECT_FALSE(share_.Enter({"a", "3"}));
  EXPECT_FALSE(share_.Enter({"a", "3"}));
  EXPECT_TRUE(share_.Enter({"b", "1"}));
  share_.Leave({"a", "1"});
  EXPECT_THAT(woken_, ElementsAre("a/3"));
  // It keeps its place.
  EXPECT_FALSE(share_.Enter({"a", "4"}));
  EXPECT_TRUE(share_.Enter({"a", "3"}));
}

TEST_F(FairShareTest, NamespacesTakeTurns) {
  Make({.per_namespace = 8, .total = 2});
  EXPECT_TRUE(share_.Enter({"a", "1"}));
  EXPECT_TRUE(share_.Enter({"a", "2"}));
  for (const char* pod : {"3", "4", "5"}) EXPECT_FALSE(share_.Enter({"a", pod}));
  EXPECT_FALSE(share_.Enter({"b", "1"}));
  share_.Leave({"a", "1"});
  share_.Leave({"a", "2"});
  EXPECT_THAT(woken_, ElementsAre("a/3", "b/1"));
}

TEST_F(FairShareTest, AmountsAreCounted) {
  Make({.per_namespace = 100, .total = 1000});
  EXPECT_TRUE(share_.Enter({"a", "1"}));
  share_.Take({"a", "1"}, 100);
  EXPECT_FALSE(share_.Enter({"a", "2"}));
  EXPECT_FALSE(share_.Enter({"a", "3"}));
  share_.Take({"a", "1"}, 10);
  EXPECT_THAT(woken_, ElementsAre("a/2", "a/3"));
  EXPECT_EQ(share_.taken(), 12u);
  share_.Take({"a", "unknown"}, 500);
  EXPECT_EQ(share_.taken(), 12u);
}

TEST_F(FairShareTest, TheFirstPodOfANamespaceAlwaysEnters) {
  Make({.per_namespace = 100, .total = 100, .first_always_enters = true});
  EXPECT_TRUE(share_.Enter({"a", "1"}));
  share_.Take({"a", "1"}, 100);
  EXPECT_TRUE(share_.Enter({"b", "1"}));
  EXPECT_FALSE(share_.Enter({"b", "2"}));
  EXPECT_THAT(woken_, IsEmpty());
}

// A namespace that leaves its place is the next to get one, before those that have several.
TEST_F(FairShareTest, FirstPodsEnterUpToTheMaximum) {
  Make({.per_namespace = 2, .total = 2, .first_always_enters = true, .most = 4});
  EXPECT_TRUE(share_.Enter({"a", "1"}));
  EXPECT_TRUE(share_.Enter({"a", "2"}));
  EXPECT_FALSE(share_.Enter({"a", "3"}));
  EXPECT_TRUE(share_.Enter({"b", "1"}));
  EXPECT_FALSE(share_.Enter({"b", "2"}));
  EXPECT_TRUE(share_.Enter({"c", "1"}));
  EXPECT_FALSE(share_.Enter({"d", "1"})) << "the maximum";
  share_.Leave({"b", "1"});
  EXPECT_THAT(woken_, ElementsAre("b/2"));
  share_.Leave({"b", "2"});
  EXPECT_THAT(woken_, ElementsAre("b/2", "d/1"));
  share_.Leave({"c", "1"});
  share_.Leave({"d", "1"});
  EXPECT_THAT(woken_, ElementsAre("b/2", "d/1")) << "only one that has places waits";
  EXPECT_EQ(share_.taken(), 2u);
  share_.Leave({"a", "1"});
  EXPECT_THAT(woken_, ElementsAre("b/2", "d/1", "a/3"));
}

TEST_F(FairShareTest, ADeletedPodLeavesTheQueue) {
  Make({.per_namespace = 1, .total = 1});
  EXPECT_TRUE(share_.Enter({"a", "1"}));
  EXPECT_FALSE(share_.Enter({"a", "2"}));
  EXPECT_FALSE(share_.Enter({"b", "1"}));
  share_.Leave({"a", "2"});
  share_.Leave({"a", "1"});
  EXPECT_THAT(woken_, ElementsAre("b/1"));
  share_.Leave({"b", "1"});
  share_.Leave({"b", "1"});
  EXPECT_EQ(share_.taken() + share_.queued(), 0u);
  EXPECT_TRUE(share_.Enter({"c", "1"}));
}

}  // namespace
}  // namespace kube
