// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/namespace_lru_map.h"

#include <gtest/gtest.h>

namespace inspection {
namespace {

TEST(NamespaceLruMapTest, ANamespaceEvictsItsOwnEntries) {
  NamespaceLruMap<int> map(/*total=*/8, /*per_namespace=*/3);
  map.Put("quiet", "a", 1);
  for (int i = 0; i < 100; ++i) map.Put("greedy", std::to_string(i), i);
  EXPECT_EQ(map.size(), 4u);
  ASSERT_NE(map.Find("quiet", "a"), nullptr);
  EXPECT_EQ(*map.Find("quiet", "a"), 1);
  EXPECT_EQ(map.Find("greedy", "96"), nullptr);
  EXPECT_NE(map.Find("greedy", "97"), nullptr);
  EXPECT_EQ(map.Find("quiet", "97"), nullptr);
}

TEST(NamespaceLruMapTest, BeyondTheTotalTheLargestNamespaceLosesItsLeastRecentlyUsed) {
  NamespaceLruMap<int> map(/*total=*/4, /*per_namespace=*/3);
  map.Put("quiet", "a", 1);
  for (const char* key : {"x", "y", "z"}) map.Put("large", key, 2);
  EXPECT_NE(map.Find("large", "x"), nullptr);
  map.Put("new", "b", 3);
  EXPECT_EQ(map.size(), 4u);
  EXPECT_EQ(map.Find("large", "y"), nullptr);
  EXPECT_NE(map.Find("large", "x"), nullptr);
  EXPECT_NE(map.Find("quiet", "a"), nullptr);
  EXPECT_NE(map.Find("new", "b"), nullptr);
}

TEST(NamespaceLruMapTest, AReplacedEntryCountsOnce) {
  NamespaceLruMap<int> map(/*total=*/2, /*per_namespace=*/2);
  for (int i = 0; i < 5; ++i) map.Put("ns", "a", i);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(*map.Find("ns", "a"), 4);
  // One entry each: any of them may be evicted, and no namespace stays empty.
  for (int i = 0; i < 100; ++i) map.Put("ns" + std::to_string(i), "a", i);
  EXPECT_EQ(map.size(), 2u);
}

}  // namespace
}  // namespace inspection
