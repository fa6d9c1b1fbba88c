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

TEST(ClockTest, ReadsTimesOfAllZonesAndYears) {
  struct Row {
    const char* text;
    const char* time;
  };
  const Row rows[] = {
      {"2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"},
      {"2026-03-01T12:00:00.5Z", "2026-03-01T12:00:00Z"},
      {"2026-03-01T12:00:00.123456789+02:30", "2026-03-01T09:30:00Z"},
      {"2026-03-01T12:00:00-01:00", "2026-03-01T13:00:00Z"},
      {"2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
      {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},
      {"0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"},
      {"9999-12-31T23:59:59Z", "2260-12-31T23:59:59Z"},
      {"9999-12-31T23:59:59-23:59", "2261-01-01T23:58:59Z"},
  };
  for (const Row& row : rows) EXPECT_EQ(FormatTime(ParseTime(row.text).value()), row.time);
}

TEST(ClockTest, RefusesMalformedTimes) {
  for (const char* text :
       {"", "yesterday", "2023-11-14", "2023-11-14T22:13:20", "2023-11-14 22:13:20Z",
        "2023-11-14T22:13:20ZZ", "2023-11-14T22:13:20Z ", "2023-11-14T22:13:20+99:00",
        "2023-11-14T22:13:20+01", "2023-11-14T22:13:20+1:000", "2026", "2026-",
        "2023-11-14T24:00:00Z", "2023-11-14T22:60:00Z", "2023-02-29T00:00:00Z",
        "2260-99-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026--1-01T00:00:00Z",
        "-026-03-01T12:00:00Z"}) {
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
