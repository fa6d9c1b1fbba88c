// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace e2e {
namespace {

using namespace std::chrono_literals;

std::vector<FaultOutline> Kinds() {
  return {{"kill a", "a", 1s, 2s},
          {"stop a", "a", 5s, 20s},
          {"kill b", "b", 1s, 2s},
          {"cut", "network", 2s, 10s},
          {"slow", "network", 2s, 10s}};
}

std::string AreaOf(const std::string& kind) {
  for (const FaultOutline& outline : Kinds()) {
    if (outline.name == kind) return outline.area;
  }
  return "";
}

TEST(PlanTest, ASeedMakesOnePlan) {
  EXPECT_EQ(MakePlan(Kinds(), {.seed = 7}), MakePlan(Kinds(), {.seed = 7}));
  EXPECT_NE(MakePlan(Kinds(), {.seed = 7}), MakePlan(Kinds(), {.seed = 8}));
}

TEST(PlanTest, EachFaultHasTheLengthOfItsKindAndEndsInTime) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    for (const PlannedFault& fault : MakePlan(Kinds(), {.seed = seed, .length = 2min})) {
      auto length = fault.end - fault.begin;
      for (const FaultOutline& outline : Kinds()) {
        if (outline.name != fault.kind) continue;
        EXPECT_GE(length, outline.shortest) << fault.kind;
        EXPECT_LE(length, outline.longest) << fault.kind;
      }
      EXPECT_LE(fault.end, 2min);
    }
  }
}

TEST(PlanTest, FaultsOfOneAreaDoNotOverlap) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto plan = MakePlan(Kinds(), {.seed = seed, .length = 3min});
    for (size_t i = 0; i < plan.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (AreaOf(plan[i].kind) == AreaOf(plan[k].kind)) {
          EXPECT_GT(plan[i].begin, plan[k].end) << plan[k].kind << ", " << plan[i].kind;
        }
      }
    }
  }
}

TEST(PlanTest, FaultsOverlapUpToTheLimit) {
  size_t most = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto plan = MakePlan(Kinds(), {.seed = seed, .length = 10min, .most_at_once = 2});
    for (const PlannedFault& one : plan) {
      auto active = [&one](const PlannedFault& other) {
        return other.begin <= one.begin && other.end > one.begin;
      };
      most = std::max<size_t>(most, std::count_if(plan.begin(), plan.end(), active));
    }
  }
  EXPECT_EQ(most, 2U);
}

TEST(PlanTest, EveryKindComesBeforeOneComesTwice) {
  const auto plan = MakePlan(Kinds(), {.seed = 3, .length = 10min});
  ASSERT_GE(plan.size(), 2 * Kinds().size());
  for (size_t round = 0; round < 2; ++round) {
    std::set<std::string> kinds;
    for (size_t i = 0; i < Kinds().size(); ++i) kinds.insert(plan[round * Kinds().size() + i].kind);
    EXPECT_EQ(kinds.size(), Kinds().size());
  }
}

TEST(PlanTest, WithoutTimeOrKindsThereIsNoFault) {
  EXPECT_TRUE(MakePlan({}, {}).empty());
  EXPECT_TRUE(MakePlan(Kinds(), {.length = 1s}).empty());
}

}  // namespace
}  // namespace e2e
