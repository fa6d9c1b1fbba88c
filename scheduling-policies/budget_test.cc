// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace policy {
namespace {

using kube::ObjectKey;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr size_t kLarge = 60 * 1024;  // four of them fit into a namespace

struct Policy {
  std::string created;
  size_t bytes = 0;
};
using Policies = std::map<ObjectKey, Policy>;

// The result, computed from the set of policies as the header says it.
std::vector<ObjectKey> Fitting(const Policies& policies) {
  std::vector<std::tuple<std::string, ObjectKey, size_t>> by_age;
  for (const auto& [key, policy] : policies) {
    if (policy.bytes <= kPolicyBytes) by_age.emplace_back(policy.created, key, policy.bytes);
  }
  std::sort(by_age.begin(), by_age.end());
  std::map<std::string, size_t> of_namespace;
  std::map<std::string, bool> full;
  size_t all = 0;
  bool all_full = false;
  std::vector<ObjectKey> fitting;
  for (const auto& [created, key, bytes] : by_age) {
    full[key.ns] = full[key.ns] || of_namespace[key.ns] + bytes > kNamespaceBytes;
    if (full[key.ns]) continue;
    of_namespace[key.ns] += bytes;
    all_full = all_full || all + bytes > kTotalBytes;
    if (all_full) continue;
    all += bytes;
    fitting.push_back(key);
  }
  std::sort(fitting.begin(), fitting.end());
  return fitting;
}

std::vector<ObjectKey> Fitting(const Budget& budget, const Policies& policies) {
  std::vector<ObjectKey> fitting;
  for (const auto& [key, policy] : policies) {
    if (budget.Fits(key)) fitting.push_back(key);
  }
  return fitting;
}

std::string Second(size_t number) {
  std::string text = std::to_string(number);
  return "2026-01-01T00:00:" + std::string(2 - text.size(), '0') + text + "Z";
}

TEST(BudgetTest, TheOldestOfANamespaceFit) {
  Budget budget;
  for (int i = 5; i >= 0; --i) budget.Put({"a", "p" + std::to_string(i)}, Second(10 + i), kLarge);
  EXPECT_TRUE(budget.Fits({"a", "p0"}));
  EXPECT_TRUE(budget.Fits({"a", "p3"}));
  EXPECT_FALSE(budget.Fits({"a", "p4"}));
  EXPECT_FALSE(budget.Fits({"a", "p5"}));
  EXPECT_FALSE(budget.Fits({"a", "unknown"}));
  EXPECT_EQ(budget.LeftOut("a"), 2u);
  EXPECT_EQ(budget.LeftOut(""), 2u);
  // The first one that does not fit is the limit of age, also for smaller ones.
  budget.Put({"a", "small"}, Second(20), 1);
  EXPECT_FALSE(budget.Fits({"a", "small"}));
  budget.Put({"b", "small"}, Second(20), 1);
  EXPECT_TRUE(budget.Fits({"b", "small"}));
  EXPECT_EQ(budget.LeftOut("b"), 0u);
}

TEST(BudgetTest, OfOneSecondTheNameDecides) {
  Budget budget;
  for (const char* name : {"e", "d", "c", "b", "a"}) budget.Put({"n", name}, Second(1), kLarge);
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"n", "a"}, ObjectKey{"n", "b"},
                                                ObjectKey{"n", "c"}, ObjectKey{"n", "d"}));
}

TEST(BudgetTest, TellsWhatChanges) {
  Budget budget;
  for (size_t i = 0; i < 5; ++i) budget.Put({"a", "p" + std::to_string(i)}, Second(i), kLarge);
  EXPECT_THAT(budget.TakeChanged(), testing::SizeIs(4));
  EXPECT_THAT(budget.TakeChanged(), IsEmpty());
  budget.Remove({"a", "p1"});
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"a", "p4"}));
  // An older one that grows displaces the youngest.
  budget.Put({"a", "p5"}, Second(5), 14 * 1024);
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"a", "p5"}));
  budget.Put({"a", "p0"}, Second(0), kPolicyBytes);
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"a", "p5"}));
  // One that is replaced by itself changes nothing.
  budget.Put({"a", "p0"}, Second(0), kPolicyBytes - 1);
  EXPECT_THAT(budget.TakeChanged(), IsEmpty());
}

TEST(BudgetTest, OneThatIsTooLargeAloneDisplacesNoOther) {
  Budget budget;
  budget.Put({"a", "huge"}, Second(0), kPolicyBytes + 1);
  EXPECT_FALSE(budget.Fits({"a", "huge"}));
  for (size_t i = 0; i < 4; ++i) budget.Put({"a", "p" + std::to_string(i)}, Second(1), kLarge);
  EXPECT_EQ(budget.LeftOut("a"), 1u);
  budget.Put({"a", "huge"}, Second(0), 1);
  EXPECT_TRUE(budget.Fits({"a", "huge"}));
  EXPECT_EQ(budget.LeftOut("a"), 0u);
}

TEST(BudgetTest, TheLimitOfAllNamespacesIsOfTheOldestToo) {
  Budget budget;
  // 64 KiB each, 64 of them fit.
  for (size_t i = 0; i < 70; ++i)
    budget.Put({"n" + std::to_string(i), "p"}, Second(i % 10), kPolicyBytes);
  EXPECT_EQ(budget.LeftOut(""), 6u);
  EXPECT_TRUE(budget.Fits({"n8", "p"}));
  EXPECT_FALSE(budget.Fits({"n9", "p"}));
  // What does not fit into its namespace does not count here.
  for (size_t i = 0; i < 10; ++i)
    budget.Put({"n0", "q" + std::to_string(i)}, Second(59), kPolicyBytes);
  EXPECT_EQ(budget.LeftOut(""), 16u);
  budget.TakeChanged();
  budget.Remove({"n0", "p"});
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"n29", "p"}));
}

TEST(BudgetTest, TheOrderOfArrivalDoesNotCount) {
  std::mt19937 random(1);
  auto number = [&](size_t limit) { return random() % limit; };
  for (int round = 0; round < 20; ++round) {
    Policies policies;
    Budget budget;
    std::map<ObjectKey, bool> told;
    for (int change = 0; change < 2'000; ++change) {
      ObjectKey key{"n" + std::to_string(number(40)), "p" + std::to_string(number(12))};
      if (number(5) == 0) {
        policies.erase(key);
        told.erase(key);
        budget.Remove(key);
      } else {
        // A policy keeps its age while it exists.
        auto [policy, added] = policies.try_emplace(key, Policy{Second(number(60)), 0});
        policy->second.bytes = number(20) == 0 ? kPolicyBytes + 1 : number(kPolicyBytes);
        budget.Put(key, policy->second.created, policy->second.bytes);
      }
      for (const ObjectKey& changed : budget.TakeChanged()) told[changed] = budget.Fits(changed);
      if (change % 100 != 0) continue;
      std::vector<ObjectKey> expected = Fitting(policies);
      ASSERT_EQ(Fitting(budget, policies), expected);
      ASSERT_EQ(budget.LeftOut(""), policies.size() - expected.size());
      for (const auto& [known, policy] : policies) ASSERT_EQ(told[known], budget.Fits(known));
    }
    // Another process lists them in another order.
    std::vector<ObjectKey> order;
    for (const auto& [key, policy] : policies) order.push_back(key);
    std::shuffle(order.begin(), order.end(), random);
    Budget restarted;
    for (const ObjectKey& key : order)
      restarted.Put(key, policies[key].created, policies[key].bytes);
    ASSERT_EQ(Fitting(restarted, policies), Fitting(budget, policies));
    ASSERT_LT(Fitting(budget, policies).size(), policies.size());
  }
}

TEST(BudgetTest, CountsTheSpecAlone) {
  kube::Json policy = {{"metadata", {{"name", "a"}}}, {"spec", {{"schedulerName", "s"}}}};
  size_t bytes = BudgetBytes(policy);
  EXPECT_EQ(bytes, kube::PackJson(policy["spec"]).size());
  policy["metadata"]["managedFields"] = kube::Json::array({"much"});
  policy["status"] = {{"observedGeneration", 1}};
  EXPECT_EQ(BudgetBytes(policy), bytes);
  EXPECT_EQ(BudgetBytes(kube::Json::object()), 0u);
}

}  // namespace
}  // namespace policy
