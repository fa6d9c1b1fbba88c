// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/signs_of_life.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_clock.h"

namespace fleet {
namespace {

using namespace std::chrono_literals;

class SignsOfLifeTest : public testing::Test {
 protected:
  kube::FakeClock clock_;
  SignsOfLife signs_{clock_};
};

TEST_F(SignsOfLifeTest, OnlyAChangedLeaseIsASign) {
  EXPECT_TRUE(signs_.Renewed("c1", {100, 5}));
  clock_.Advance(10s);
  EXPECT_FALSE(signs_.Renewed("c1", {100, 5}));
  EXPECT_EQ(signs_.Silence("c1"), 10s);
  EXPECT_FALSE(signs_.Renewed("c1", {100, 6}));
  EXPECT_EQ(signs_.Silence("c1"), 0s);
  // A time far in the future is a sign once.
  EXPECT_FALSE(signs_.Renewed("c1", {99'000'000'000, 0}));
  clock_.Advance(1h);
  EXPECT_FALSE(signs_.Renewed("c1", {99'000'000'000, 0}));
  EXPECT_EQ(signs_.Silence("c1"), 1h);
}

TEST_F(SignsOfLifeTest, ClustersWithoutALeaseHaveAFullGracePeriod) {
  EXPECT_FALSE(signs_.HasLease("c1"));
  EXPECT_EQ(signs_.Silence("c1"), 0s);
  EXPECT_FALSE(signs_.HasLease("c1"));
  clock_.Advance(7s);
  EXPECT_EQ(signs_.Silence("c1"), 7s);
  EXPECT_TRUE(signs_.Renewed("c1", {0, 0}));
  EXPECT_TRUE(signs_.HasLease("c1"));
  EXPECT_EQ(signs_.Silence("c1"), 0s);
}

TEST_F(SignsOfLifeTest, AReportIsASign) {
  EXPECT_TRUE(signs_.Renewed("c1", {1, 0}));
  clock_.Advance(7s);
  signs_.Reported("c1");
  EXPECT_EQ(signs_.Silence("c1"), 0s);
  EXPECT_FALSE(signs_.Renewed("c1", {1, 0}));
}

TEST_F(SignsOfLifeTest, NobodyIsSilentWhileTheHubIsBlind) {
  EXPECT_TRUE(signs_.Renewed("c1", {1, 0}));
  clock_.Advance(1h);
  signs_.Blind();
  EXPECT_EQ(signs_.Silence("c1"), 0s);
  EXPECT_EQ(signs_.Silence("c2"), 0s);
  clock_.Advance(3s);
  EXPECT_EQ(signs_.Silence("c1"), 3s);
  EXPECT_FALSE(signs_.Renewed("c1", {2, 0}));
  clock_.Advance(1s);
  EXPECT_EQ(signs_.Silence("c1"), 1s);
}

TEST_F(SignsOfLifeTest, ForgetsClusters) {
  EXPECT_TRUE(signs_.Renewed("c1", {1, 0}));
  signs_.Forget("c1");
  EXPECT_EQ(signs_.size(), 0u);
  EXPECT_TRUE(signs_.Renewed("c1", {1, 0}));
}

}  // namespace
}  // namespace fleet
