// SPDX-License-Identifier: Apache-2.0
#include "operator/preferring_namespaces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_clock.h"

namespace operator_ {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;
using Reason = PreferringNamespaces::Reason;

class PreferringNamespacesTest : public testing::Test {
 protected:
  // Lets the time of the next removal come.
  void AwaitRemoval() { clock_.Advance(*namespaces_.NextRemoval() - clock_.Now()); }

  kube::FakeClock clock_;
  PreferringNamespaces namespaces_{clock_};
};

TEST_F(PreferringNamespacesTest, OneReasonIsEnough) {
  EXPECT_TRUE(namespaces_.Set(Reason::kAnnounced, "shop", true));
  EXPECT_FALSE(namespaces_.Set(Reason::kStored, "shop", true));
  EXPECT_FALSE(namespaces_.Set(Reason::kAnnounced, "shop", false));
  EXPECT_EQ(namespaces_.NextRemoval(), std::nullopt);
  EXPECT_TRUE(namespaces_.Set(Reason::kStored, "db", true));
  EXPECT_FALSE(namespaces_.Set(Reason::kStored, "farm", false)) << "never had one";
  EXPECT_THAT(namespaces_.List(), ElementsAre("db", "shop"));
}

TEST_F(PreferringNamespacesTest, ANamespaceWithoutAReasonIsKeptForAWhile) {
  namespaces_.Set(Reason::kStored, "shop", true);
  namespaces_.Set(Reason::kStored, "shop", false);
  kube::TimePoint ended = clock_.Now();
  ASSERT_TRUE(namespaces_.NextRemoval());
  EXPECT_GE(*namespaces_.NextRemoval(), ended + PreferringNamespaces::kKept);
  EXPECT_LT(*namespaces_.NextRemoval(),
            ended + PreferringNamespaces::kKept + PreferringNamespaces::kRemovedEvery);
  clock_.Advance(*namespaces_.NextRemoval() - ended - 1ms);
  EXPECT_THAT(namespaces_.List(), ElementsAre("shop"));
  clock_.Advance(1ms);
  EXPECT_THAT(namespaces_.List(), IsEmpty());
  EXPECT_EQ(namespaces_.NextRemoval(), std::nullopt);
  EXPECT_TRUE(namespaces_.Set(Reason::kAnnounced, "shop", true)) << "it is new again";
  EXPECT_THAT(namespaces_.List(), ElementsAre("shop"));
}

TEST_F(PreferringNamespacesTest, AReasonThatComesBackChangesNothing) {
  EXPECT_TRUE(namespaces_.Set(Reason::kStored, "shop", true));
  for (int i = 0; i < 1'000; ++i) {
    clock_.Advance(1s);
    EXPECT_FALSE(namespaces_.Set(Reason::kStored, "shop", i % 2 == 1));
    EXPECT_THAT(namespaces_.List(), ElementsAre("shop")) << i;
  }
  EXPECT_EQ(namespaces_.NextRemoval(), std::nullopt);
}

// A reason that is missing for another time does not keep it longer.
TEST_F(PreferringNamespacesTest, TheRemovalIsNotPutOff) {
  namespaces_.Set(Reason::kStored, "shop", true);
  namespaces_.Set(Reason::kStored, "shop", false);
  auto removal = namespaces_.NextRemoval();
  clock_.Advance(40s);
  namespaces_.Set(Reason::kAnnounced, "shop", false);
  EXPECT_EQ(namespaces_.NextRemoval(), removal);
}

TEST_F(PreferringNamespacesTest, NamespacesAreRemovedTogether) {
  // One after the other, in 100 s.
  for (int i = 0; i < 200; ++i) {
    std::string ns = "ns-" + std::to_string(i);
    namespaces_.Set(Reason::kStored, ns, true);
    namespaces_.Set(Reason::kStored, ns, false);
    clock_.Advance(500ms);
  }
  EXPECT_EQ(namespaces_.List().size(), 200u);
  int removals = 0;
  for (; namespaces_.NextRemoval(); ++removals) AwaitRemoval();
  EXPECT_THAT(namespaces_.List(), IsEmpty());
  EXPECT_LE(removals, 5);
}

TEST_F(PreferringNamespacesTest, NotMoreAreKeptThanTheLimit) {
  constexpr size_t kMost = PreferringNamespaces::kMaxKept;
  namespaces_.Set(Reason::kStored, "has-one", true);
  namespaces_.Set(Reason::kStored, "first", true);
  namespaces_.Set(Reason::kStored, "first", false);
  clock_.Advance(PreferringNamespaces::kRemovedEvery);
  for (size_t i = 1; i < kMost; ++i) {
    std::string ns = "ns-" + std::to_string(i);
    namespaces_.Set(Reason::kAnnounced, ns, true);
    namespaces_.Set(Reason::kAnnounced, ns, false);
  }
  EXPECT_EQ(namespaces_.List().size(), kMost + 1);
  EXPECT_THAT(namespaces_.List(), testing::Contains("first"));
  namespaces_.Set(Reason::kAnnounced, "last", true);
  namespaces_.Set(Reason::kAnnounced, "last", false);
  EXPECT_EQ(namespaces_.List().size(), kMost + 1);
  EXPECT_THAT(namespaces_.List(), testing::Not(testing::Contains("first")));
  EXPECT_THAT(namespaces_.List(), testing::Contains("has-one"));
}

}  // namespace
}  // namespace operator_
