// SPDX-License-Identifier: Apache-2.0
#include "kube/base/lru_map.h"

#include <gtest/gtest.h>

namespace kube {
namespace {

TEST(LruMapTest, TheLeastRecentlyUsedEntryIsEvicted) {
  LruMap<int> map(2);
  map.Put("a", 1);
  map.Put("b", 2);
  ASSERT_NE(map.Find("a"), nullptr);
  map.Put("c", 3);
  EXPECT_EQ(map.Find("b"), nullptr);
  ASSERT_NE(map.Find("a"), nullptr);
  EXPECT_EQ(*map.Find("a"), 1);
  EXPECT_EQ(*map.Find("c"), 3);
  EXPECT_EQ(map.size(), 2u);
}

TEST(LruMapTest, OnlyEvictableEntriesAreEvicted) {
  LruMap<int> map(2);
  map.Put("odd", 1);
  map.Put("even", 2);
  auto even = [](int value) { return value % 2 == 0; };
  EXPECT_TRUE(map.Put("three", 3, even));
  EXPECT_EQ(map.Find("even"), nullptr);
  EXPECT_EQ(*map.Find("odd"), 1);
  EXPECT_FALSE(map.Put("five", 5, even));
  EXPECT_EQ(map.Find("five"), nullptr);
  EXPECT_EQ(map.size(), 2u);
  EXPECT_EQ(map.oldest_key(), "three");
}

TEST(LruMapTest, PutReplaces) {
  LruMap<int> map(1);
  map.Put("a", 1);
  map.Put("a", 2);
  EXPECT_EQ(*map.Find("a"), 2);
  EXPECT_EQ(map.size(), 1u);
  map.Erase("a");
  map.Erase("a");
  EXPECT_EQ(map.Find("a"), nullptr);
}

}  // namespace
}  // namespace kube
