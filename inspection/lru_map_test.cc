// SPDX-License-Identifier: Apache-2.0
#include "inspection/lru_map.h"

#include <gtest/gtest.h>

namespace inspection {
namespace {

TEST(LruMapTest, TheEntryUnusedForLongestMakesRoom) {
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
}  // namespace inspection
