// SPDX-License-Identifier: Apache-2.0
#include "kube/cache/age_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr CacheBudget kLimits{
    .object = 64 * 1024, .one_namespace = 256 * 1024, .total = 4 * 1024 * 1024};
constexpr size_t kLarge = 60 * 1024;  // four of them fit into a namespace

struct Object {
  std::string created;
  size_t bytes = 0;
};
using Objects = std::map<ObjectKey, Object>;

// The result, computed from the set of objects as the header says it.
std::vector<ObjectKey> Fitting(const Objects& objects, size_t share) {
  std::vector<std::tuple<std::string, ObjectKey, size_t>> by_age;
  for (const auto& [key, object] : objects) {
    if (object.bytes <= kLimits.object) by_age.emplace_back(object.created, key, object.bytes);
  }
  std::sort(by_age.begin(), by_age.end());
  std::map<std::string, size_t> of_namespace;
  std::map<std::string, bool> full;
  std::map<std::string, size_t> of_share;
  std::map<std::string, bool> share_full;
  size_t all = 0;
  bool all_full = false;
  std::vector<ObjectKey> fitting;
  for (const auto& [created, key, bytes] : by_age) {
    full[key.ns] = full[key.ns] || of_namespace[key.ns] + bytes > kLimits.one_namespace;
    if (full[key.ns]) continue;
    of_namespace[key.ns] += bytes;
    share_full[key.ns] = share_full[key.ns] || of_share[key.ns] + bytes > share;
    if (!share_full[key.ns]) {
      of_share[key.ns] += bytes;
      fitting.push_back(key);
      continue;
    }
    all_full = all_full || all + bytes > kLimits.total;
    if (all_full) continue;
    all += bytes;
    fitting.push_back(key);
  }
  std::sort(fitting.begin(), fitting.end());
  return fitting;
}

std::vector<ObjectKey> Fitting(const AgeBudget& budget, const Objects& objects) {
  std::vector<ObjectKey> fitting;
  for (const auto& [key, object] : objects) {
    if (budget.Fits(key)) fitting.push_back(key);
  }
  return fitting;
}

std::string Second(size_t number) {
  std::string text = std::to_string(number);
  return "2026-01-01T00:00:" + std::string(2 - text.size(), '0') + text + "Z";
}

TEST(AgeBudgetTest, TheOldestOfANamespaceFit) {
  AgeBudget budget(kLimits);
  for (int i = 5; i >= 0; --i) budget.Put({"a", "p" + std::to_string(i)}, Second(10 + i), kLarge);
  EXPECT_TRUE(budget.Fits({"a", "p0"}));
  EXPECT_TRUE(budget.Fits({"a", "p3"}));
  EXPECT_FALSE(budget.Fits({"a", "p4"}));
  EXPECT_FALSE(budget.Fits({"a", "p5"}));
  EXPECT_EQ(budget.Exceeds({"a", "p5"}), AgeBudget::Limit::kNamespace);
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

TEST(AgeBudgetTest, OfOneSecondTheNameDecides) {
  AgeBudget budget(kLimits);
  for (const char* name : {"e", "d", "c", "b", "a"}) budget.Put({"n", name}, Second(1), kLarge);
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"n", "a"}, ObjectKey{"n", "b"},
                                                ObjectKey{"n", "c"}, ObjectKey{"n", "d"}));
}

TEST(AgeBudgetTest, TellsWhatChanges) {
  AgeBudget budget(kLimits);
  for (size_t i = 0; i < 5; ++i) budget.Put({"a", "p" + std::to_string(i)}, Second(i), kLarge);
  EXPECT_THAT(budget.TakeChanged(), testing::SizeIs(4));
  EXPECT_THAT(budget.TakeChanged(), IsEmpty());
  budget.Remove({"a", "p1"});
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"a", "p4"}));
  // An older one that grows displaces the youngest.
  budget.Put({"a", "p5"}, Second(5), 14 * 1024);
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"a", "p5"}));
  budget.Put({"a", "p0"}, Second(0), kLimits.object);
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"a", "p5"}));
  // One that is replaced by itself changes nothing.
  budget.Put({"a", "p0"}, Second(0), kLimits.object - 1);
  EXPECT_THAT(budget.TakeChanged(), IsEmpty());
}

TEST(AgeBudgetTest, OneThatIsTooLargeAloneDisplacesNoOther) {
  AgeBudget budget(kLimits);
  budget.Put({"a", "huge"}, Second(0), kLimits.object + 1);
  EXPECT_FALSE(budget.Fits({"a", "huge"}));
  for (size_t i = 0; i < 4; ++i) budget.Put({"a", "p" + std::to_string(i)}, Second(1), kLarge);
  EXPECT_EQ(budget.LeftOut("a"), 1u);
  EXPECT_EQ(budget.Exceeds({"a", "huge"}), AgeBudget::Limit::kObject);
  budget.Put({"a", "huge"}, Second(0), 1);
  EXPECT_TRUE(budget.Fits({"a", "huge"}));
  EXPECT_EQ(budget.LeftOut("a"), 0u);
}

TEST(AgeBudgetTest, TheLimitOfAllNamespacesIsOfTheOldestToo) {
  AgeBudget budget(kLimits);
  // 64 KiB each, 64 of them fit.
  for (size_t i = 0; i < 70; ++i)
    budget.Put({"n" + std::to_string(i), "p"}, Second(i % 10), kLimits.object);
  EXPECT_EQ(budget.LeftOut(""), 6u);
  EXPECT_TRUE(budget.Fits({"n8", "p"}));
  EXPECT_FALSE(budget.Fits({"n9", "p"}));
  // What does not fit into its namespace does not count here.
  for (size_t i = 0; i < 10; ++i)
    budget.Put({"n0", "q" + std::to_string(i)}, Second(59), kLimits.object);
  EXPECT_EQ(budget.LeftOut(""), 16u);
  EXPECT_EQ(budget.Exceeds({"n9", "p"}), AgeBudget::Limit::kTotal);
  EXPECT_EQ(budget.Exceeds({"n8", "p"}), AgeBudget::Limit::kNone);
  budget.TakeChanged();
  budget.Remove({"n0", "p"});
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"n29", "p"}));
}

TEST(AgeBudgetTest, TheShareOfANamespaceFitsWhateverOthersHave) {
  constexpr size_t kShare = 4 * 1024;
  AgeBudget budget(kLimits, kShare);
  for (size_t i = 0; i < 70; ++i)
    budget.Put({"n" + std::to_string(i), "p"}, Second(1), kLimits.object);
  EXPECT_EQ(budget.LeftOut(""), 6u);
  budget.Put({"shop", "a"}, Second(10), 3 * 1024);
  budget.Put({"shop", "b"}, Second(11), 1024);
  budget.Put({"shop", "c"}, Second(12), 1);
  EXPECT_TRUE(budget.Fits({"shop", "a"}));
  EXPECT_TRUE(budget.Fits({"shop", "b"}));
  EXPECT_EQ(budget.Exceeds({"shop", "c"}), AgeBudget::Limit::kTotal) << "beyond the share";
  EXPECT_EQ(budget.LeftOut(""), 7u);
  budget.TakeChanged();

  // Older ones of others that grow displace none of them.
  budget.Put({"blog", "old"}, Second(0), 1024);
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"blog", "old"}));
  budget.Put({"blog", "old"}, Second(0), kLimits.object);
  EXPECT_TRUE(budget.Fits({"shop", "b"}));
  budget.TakeChanged();
  // Older ones of the namespace do.
  budget.Put({"shop", "0"}, Second(9), 1024);
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"shop", "0"}, ObjectKey{"shop", "b"}));
  budget.Remove({"shop", "0"});
  EXPECT_THAT(budget.TakeChanged(), ElementsAre(ObjectKey{"shop", "b"}));
}

// `share` of each namespace.
void CompareWithModel(size_t share) {
  std::mt19937 random(1);
  auto number = [&](size_t limit) { return random() % limit; };
  for (int round = 0; round < 7; ++round) {
    Objects objects;
    AgeBudget budget(kLimits, share);
    std::map<ObjectKey, bool> told;
    for (int change = 0; change < 2'000; ++change) {
      ObjectKey key{"n" + std::to_string(number(40)), "p" + std::to_string(number(12))};
      if (number(5) == 0) {
        objects.erase(key);
        told.erase(key);
        budget.Remove(key);
      } else {
        // An object keeps its age while it exists.
        auto [object, added] = objects.try_emplace(key, Object{Second(number(60)), 0});
        object->second.bytes = number(20) == 0 ? kLimits.object + 1 : number(kLimits.object);
        budget.Put(key, object->second.created, object->second.bytes);
      }
      for (const ObjectKey& changed : budget.TakeChanged()) told[changed] = budget.Fits(changed);
      if (change % 100 != 0) continue;
      std::vector<ObjectKey> expected = Fitting(objects, share);
      ASSERT_EQ(Fitting(budget, objects), expected);
      ASSERT_EQ(budget.LeftOut(""), objects.size() - expected.size());
      for (const auto& [known, object] : objects) ASSERT_EQ(told[known], budget.Fits(known));
    }
    // Another process lists them in another order.
    std::vector<ObjectKey> order;
    for (const auto& [key, object] : objects) order.push_back(key);
    std::shuffle(order.begin(), order.end(), random);
    AgeBudget restarted(kLimits, share);
    for (const ObjectKey& key : order) restarted.Put(key, objects[key].created, objects[key].bytes);
    ASSERT_EQ(Fitting(restarted, objects), Fitting(budget, objects));
    ASSERT_LT(Fitting(budget, objects).size(), objects.size());
  }
}

TEST(AgeBudgetTest, TheOrderOfArrivalDoesNotCount) {
  for (size_t share : {size_t{0}, size_t{48 * 1024}, size_t{100 * 1024}}) {
    SCOPED_TRACE(share);
    CompareWithModel(share);
  }
}

}  // namespace
}  // namespace kube
