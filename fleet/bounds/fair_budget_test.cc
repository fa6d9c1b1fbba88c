// SPDX-License-Identifier: Apache-2.0
#include "fleet/bounds/fair_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/types/resource.h"

namespace fleet {
namespace {

using kube::ObjectKey;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Budget kSmall{.object = 60,
                        .owner = 80,
                        .total = 100,
                        .share = 10,
                        .shares = 30,
                        .owner_objects = 100,
                        .objects = 100};

// "a/1 b/2": the objects whose state has changed.
std::vector<std::string> Changed(FairBudget& budget) {
  std::vector<std::string> changed;
  for (const ObjectKey& key : budget.TakeChanged())
    changed.push_back((budget.Fits(key) ? "+" : "-") + key.ToString());
  return changed;
}

TEST(FairBudgetTest, GreedyOwnersLeaveOthersTheirShares) {
  FairBudget budget(kSmall);
  budget.Put({"greedy", "1"}, "1", 60);
  budget.Put({"greedy", "2"}, "2", 20);
  budget.Put({"second", "1"}, "3", 20);
  EXPECT_THAT(Changed(budget), ElementsAre("+greedy/1", "+greedy/2", "+second/1"));

  budget.Put({"late", "1"}, "4", 8);
  budget.Put({"late", "2"}, "5", 8);
  EXPECT_THAT(Changed(budget), ElementsAre("+late/1"));
  EXPECT_EQ(budget.Exceeds({"late", "2"}), Excess::kTotal);
  budget.Put({"greedy", "3"}, "6", 5);
  budget.Put({"greedy", "4"}, "7", 61);
  EXPECT_EQ(budget.Exceeds({"greedy", "3"}), std::nullopt) << "its share";
  EXPECT_EQ(budget.Exceeds({"greedy", "4"}), Excess::kObject);
  budget.Put({"greedy", "5"}, "8", 20);
  EXPECT_EQ(budget.Exceeds({"greedy", "5"}), Excess::kOwner);
  (void)budget.TakeChanged();

  // There is room again.
  budget.Remove({"second", "1"});
  EXPECT_THAT(Changed(budget), ElementsAre("+late/2"));
  EXPECT_FALSE(budget.Fits({"second", "1"}));
  EXPECT_EQ(budget.Exceeds({"second", "1"}), std::nullopt) << "it is not known";
}

TEST(FairBudgetTest, AnOlderObjectDisplacesYoungerOnes) {
  FairBudget budget(kSmall);
  budget.Put({"a", "1"}, "5", 60);
  budget.Put({"b", "1"}, "6", 40);
  (void)budget.TakeChanged();
  budget.Put({"c", "1"}, "1", 30);
  EXPECT_THAT(Changed(budget), ElementsAre("-b/1", "+c/1"));
  budget.Put({"c", "1"}, "1", 5);
  EXPECT_THAT(Changed(budget), IsEmpty()) << "b/1 needs 40 of 35";
  budget.Remove({"c", "1"});
  EXPECT_THAT(Changed(budget), ElementsAre("+b/1"));
}

TEST(FairBudgetTest, WithoutSharesTheOldestStay) {
  FairBudget budget({.object = 50, .owner = 50, .total = 60, .owner_objects = 9, .objects = 9});
  budget.Put({"a", "1"}, "2", 50);
  budget.Put({"b", "1"}, "1", 20);
  EXPECT_THAT(Changed(budget), ElementsAre("+b/1"));
  EXPECT_EQ(budget.Exceeds({"a", "1"}), Excess::kTotal);
}

}  // namespace
}  // namespace fleet
