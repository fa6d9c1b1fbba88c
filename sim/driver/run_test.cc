// SPDX-License-Identifier: Apache-2.0
// Whole runs.
#include <gtest/gtest.h>

#include "sim/driver/isolated.h"
#include "sim/driver/make_plan.h"
#include "sim/driver/plan_file.h"

namespace sim {
namespace {

TEST(RunTest, ASeedGivesTheSameCommits) {
  const Outcome outcome = PlayIsolated(MakePlan(3));
  EXPECT_GT(outcome.commits, 100u);
  EXPECT_EQ(PlayIsolated(MakePlan(3)).hash, outcome.hash);
  EXPECT_NE(PlayIsolated(MakePlan(4)).hash, outcome.hash);
}

TEST(RunTest, APlanIsReadAsItWasWritten) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const Plan plan = MakePlan(seed);
    kube::Result<Plan> read = ParsePlan(FormatPlan(plan));
    ASSERT_TRUE(read) << seed << ": " << read.error();
    EXPECT_EQ(*read, plan) << seed;
  }
}

}  // namespace
}  // namespace sim
