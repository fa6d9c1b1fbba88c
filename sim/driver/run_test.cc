// SPDX-License-Identifier: Apache-2.0
// Whole runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "sim/driver/isolated.h"
#include "sim/driver/make_plan.h"
#include "sim/driver/plan_file.h"
#include "sim/driver/report.h"

namespace sim {
namespace {

// As many as a minute allows.
constexpr uint64_t kSeeds = 40;

TEST(RunTest, SeedsBreakNoRule) {
  Outcome sum;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Outcome outcome = PlayIsolated(MakePlan(seed));
    EXPECT_FALSE(outcome.failed()) << "seed " << seed << ": " << DescribeRun(outcome);
    Add(outcome, sum);
  }
  // What is not judged breaks no rule.
  EXPECT_GT(sum.judged, 10 * kSeeds) << DescribeSum(sum, kSeeds);
}

TEST(RunTest, ASeedGivesTheSameCommits) {
  const Outcome outcome = PlayIsolated(MakePlan(3));
  EXPECT_GT(outcome.commits, 100u);
  EXPECT_EQ(PlayIsolated(MakePlan(3)).hash, outcome.hash);
  EXPECT_NE(PlayIsolated(MakePlan(4)).hash, outcome.hash);
}

TEST(RunTest, MendedDefectsStayMended) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("sim/regressions")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  ASSERT_FALSE(files.empty());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    kube::Result<Plan> plan = ReadPlan(file);
    ASSERT_TRUE(plan) << plan.error();
    const Outcome outcome = PlayIsolated(*plan);
    EXPECT_FALSE(outcome.failed()) << file << ": " << DescribeRun(outcome);
  }
}

}  // namespace
}  // namespace sim
