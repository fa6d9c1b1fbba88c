// SPDX-License-Identifier: Apache-2.0
#include "kube/base/clock.h"

#include <gtest/gtest.h>

#include "kube/base/error.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

TEST(ClockTest, TimesSurviveTheRoundTrip) {
  WallTime time = WallTime(1'700'000'000s);
  EXPECT_EQ(FormatTime(time), "2023-11-14T22:13:20Z");
  EXPECT_EQ(*ParseTime("2023-11-14T22:13:20Z"), time);
  EXPECT_EQ(*ParseTime("2023-11-14T22:13:20.250000Z"), time + 250ms);
}

TEST(ClockTest, RefusesMalformedTimes) {
  for (const char* text :
       {"", "yesterday", "2023-11-14", "2023-11-14T22:13:20", "2023-11-14T22:13:20+01:00"}) {
    EXPECT_TRUE(FailedWith(ParseTime(text), Code::kInvalid)) << text;
  }
}

TEST(ClockTest, ReadsDurations) {
  EXPECT_EQ(*ParseDuration("0s"), 0s);
  EXPECT_EQ(*ParseDuration("500ms"), 500ms);
  EXPECT_EQ(*ParseDuration("20s"), 20s);
  EXPECT_EQ(*ParseDuration("5m"), 5min);
  EXPECT_EQ(*ParseDuration("1h"), 1h);
}

TEST(ClockTest, RefusesMalformedDurations) {
  for (const char* text :
       {"", "s", "20", "-1s", "1d", "1h30m", "1.5s", " 1s", "99999999999999999999s", "999999h"}) {
    EXPECT_TRUE(FailedWith(ParseDuration(text), Code::kInvalid)) << text;
  }
}

}  // namespace
}  // namespace kube
