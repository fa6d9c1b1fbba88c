// SPDX-License-Identifier: Apache-2.0
#include "exec-format/handler/limits.h"

#include <gtest/gtest.h>

#include <string>

#include "kube/testing/fake_clock.h"

namespace exec_format {
namespace {

using namespace std::chrono_literals;

TEST(PassBudgetTest, ABurstAndThenOneInAPeriod) {
  kube::FakeClock clock;
  PassBudget budget(clock);
  for (int i = 0; i < kBurst; ++i) EXPECT_EQ(budget.Take(), clock.Now());
  EXPECT_EQ(budget.Take(), clock.Now() + kPeriod);
  EXPECT_EQ(budget.Take(), clock.Now() + 2 * kPeriod);
}

TEST(PassBudgetTest, TimeRegainsABurstAndNoMore) {
  kube::FakeClock clock;
  PassBudget budget(clock);
  for (int i = 0; i < kBurst; ++i) budget.Take();
  clock.Advance(kPeriod);
  EXPECT_EQ(budget.Take(), clock.Now());
  EXPECT_EQ(budget.Take(), clock.Now() + kPeriod);
  clock.Advance(1h);
  for (int i = 0; i < kBurst; ++i) EXPECT_EQ(budget.Take(), clock.Now());
  EXPECT_EQ(budget.Take(), clock.Now() + kPeriod);
}

TEST(PodEventLimitTest, APodHasSoManyWithinTheWindow) {
  kube::FakeClock clock;
  PodEventLimit limit(clock);
  for (size_t i = 0; i < kEventsOfPod; ++i) {
    EXPECT_TRUE(limit.HasRoom("a"));
    limit.Count("a");
    clock.Advance(1min);
  }
  EXPECT_FALSE(limit.HasRoom("a"));
  EXPECT_TRUE(limit.HasRoom("b"));
  // The first of them is an hour old.
  clock.Advance(kPodWindow - std::chrono::minutes(kEventsOfPod));
  EXPECT_TRUE(limit.HasRoom("a"));
  limit.Count("a");
  EXPECT_FALSE(limit.HasRoom("a"));
}

TEST(PodEventLimitTest, ManyPodsTakeNoMoreMemory) {
  kube::FakeClock clock;
  PodEventLimit limit(clock);
  for (size_t i = 0; i < kEventsOfPod; ++i) limit.Count("first");
  for (size_t i = 0; i < kMaxPods; ++i) limit.Count(std::to_string(i));
  EXPECT_TRUE(limit.HasRoom("first"));
}

}  // namespace
}  // namespace exec_format
