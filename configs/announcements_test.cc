// SPDX-License-Identifier: Apache-2.0
#include "configs/announcements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace configs {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

TEST(AnnouncementsTest, SurviveTheirText) {
  Announcements written;
  Announcement first{.uid = "u1", .generation = 1, .since_epoch = 100s};
  Announcement second{.uid = "u2", .generation = 7, .since_epoch = 101s};
  written.Add("shop", "a", first);
  written.Add("shop", "b", second);
  written.Add("shop-2", "c", second);
  EXPECT_THAT(Announcements::Parse(written.ToString()).Of("shop"), ElementsAre(Pair("a", first), Pair("b", second)));
  EXPECT_THAT(written.Of("sho"), IsEmpty());
}

TEST(AnnouncementsTest, OfOneConfigOnlyTheNewestCounts) {
  Announcements announcements;
  announcements.Add("shop", "a", {.uid = "u1", .generation = 1, .since_epoch = 100s});
  announcements.Add("shop", "a", {.uid = "u1", .generation = 2, .since_epoch = 101s});
  EXPECT_THAT(announcements.Of("shop"), SizeIs(1));
  EXPECT_EQ(announcements.Of("shop").at("a").generation, 2);
}

TEST(AnnouncementsTest, WhatIsOldIsForgotten) {
  Announcements announcements;
  announcements.Add("shop", "old", {.since_epoch = 100s});
  announcements.Add("shop", "young", {.since_epoch = 150s});
  announcements.Add("shop", "new", {.since_epoch = 300s});
  EXPECT_THAT(announcements.Of("shop"), ElementsAre(Pair("new", testing::_), Pair("young", testing::_)));
}

TEST(AnnouncementsTest, AreBoundedAndLoseTheOldest) {
  Announcements announcements;
  for (int i = 0; i < 2000; ++i) {
    announcements.Add("shop", "c" + std::to_string(i), {.since_epoch = std::chrono::seconds(1000 + i / 100)});
  }
  EXPECT_THAT(announcements.Of("shop"), SizeIs(1024));
  EXPECT_TRUE(announcements.Of("shop").contains("c1999"));
}

TEST(AnnouncementsTest, WhatCannotBeReadIsNotThere) {
  for (const char* text : {"", "{", "[]", "null", R"({"no-namespace": 3})"}) {
    EXPECT_THAT(Announcements::Parse(text).Of("shop"), IsEmpty()) << text;
  }
  EXPECT_EQ(Announcements::Parse(R"({"shop/a": {"uid": 7, "generation": "x"}})").Of("shop").at("a"), Announcement{});
}

}  // namespace
}  // namespace configs
