// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/budget.h"

#include <gtest/gtest.h>

namespace fleet::cel {
namespace {

using namespace std::chrono_literals;
using kube::Duration;
using kube::TimePoint;

constexpr TimePoint kStart{std::chrono::hours(1)};

TEST(Budget, ANamespaceWaitsForWhatItUsedBeyondItsBudget) {
  Budget budget;
  EXPECT_EQ(budget.Wait("a", kStart), 0s);
  budget.Charge("a", Budget::kAtOnce, kStart);
  EXPECT_EQ(budget.Wait("a", kStart), 0s);
  budget.Charge("a", 300ms, kStart);
  EXPECT_EQ(budget.Wait("a", kStart), 1500ms);
  EXPECT_EQ(budget.Wait("a", kStart + 500ms), 1s);
  EXPECT_EQ(budget.Wait("a", kStart + 1500ms), 0s);
  EXPECT_EQ(budget.Wait("b", kStart), 0s);
}

TEST(Budget, AFifthOfTheTimeInTheLongRun) {
  Budget budget;
  TimePoint now = kStart;
  Duration used{};
  while (now < kStart + 1h) {
    Duration wait = budget.Wait("a", now);
    now += wait;
    budget.Charge("a", 100ms, now);
    used += 100ms;
    now += 100ms;
  }
  EXPECT_GE(used, 12min);
  EXPECT_LE(used, 12min + 2 * Budget::kAtOnce);
}

TEST(Budget, NamespacesWithoutDebtAreForgotten) {
  Budget budget;
  TimePoint now = kStart;
  for (int i = 0; i < 10'000; ++i) {
    now += 10ms;
    budget.Charge("ns" + std::to_string(i), 1ms, now);
  }
  EXPECT_LE(budget.size(), 128u);
  budget.Charge("a", 10s, now);
  for (int i = 0; i < 1000; ++i) budget.Charge("b" + std::to_string(i), 1ms, now + 10ms);
  EXPECT_GT(budget.Wait("a", now + 10ms), 20s);
}

}  // namespace
}  // namespace fleet::cel
