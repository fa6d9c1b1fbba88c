// SPDX-License-Identifier: Apache-2.0
#include "templates/waiting_templates.h"

#include <gtest/gtest.h>

namespace templates {
namespace {

constexpr WaitingOptions kSmall{.per_namespace = 3, .total = 5, .always = 1};

TEST(WaitingTemplatesTest, ANamespaceHasAtMostItsShare) {
  WaitingTemplates waiting(kSmall);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(waiting.Add({"ns", name}));
  EXPECT_FALSE(waiting.Add({"ns", "d"}));
  // One that waits is known.
  waiting.Add({"ns", "a"})->failed = 2;
  EXPECT_EQ(waiting.Add({"ns", "a"})->failed, 2);
  // One that leaves makes room.
  EXPECT_EQ(waiting.Remove({"ns", "a"})->failed, 2);
  EXPECT_TRUE(waiting.Add({"ns", "d"}));
  EXPECT_FALSE(waiting.Add({"ns", "e"}));
}

TEST(WaitingTemplatesTest, FewOfEachNamespaceWaitWhateverOthersDo) {
  WaitingTemplates waiting(kSmall);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(waiting.Add({"one", name}));
  for (const char* name : {"a", "b"}) EXPECT_TRUE(waiting.Add({"two", name}));
  EXPECT_FALSE(waiting.Add({"two", "c"}));
  EXPECT_TRUE(waiting.Add({"three", "a"}));
  EXPECT_FALSE(waiting.Add({"three", "b"}));
  EXPECT_EQ(waiting.Keys().size(), 6u);
}

TEST(WaitingTemplatesTest, WhatDoesNotWaitIsNotRemoved) {
  WaitingTemplates waiting(kSmall);
  EXPECT_TRUE(waiting.Add({"ns", "a"}));
  EXPECT_FALSE(waiting.Remove({"ns", "b"}));
  waiting.Remove({"other", "a"});
  EXPECT_EQ(waiting.size(), 1u);
}

}  // namespace
}  // namespace templates
