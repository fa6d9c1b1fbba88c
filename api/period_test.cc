// SPDX-License-Identifier: Apache-2.0
#include "api/period.h"

#include <gtest/gtest.h>

namespace api {
namespace {

using namespace std::chrono_literals;

constexpr Period kLimits{.low = 5s, .high = 1h};

TEST(PeriodTest, ReadsPeriods) {
  const std::pair<const char*, std::chrono::seconds> good[] = {
      {"5s", 5s}, {"30s", 30s}, {"1m30s", 90s}, {"60m", 3600s}, {"1h", 3600s}};
  for (auto& [text, delay] : good) {
    auto parsed = ParsePeriod(text, kLimits);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, delay) << text;
  }
  for (const char* text : {"", "s", "30", "-30s", "+30s", "4s", "1h1s", "99999999999s", "86400h",
                           "1d", "30 s", "1.5m"}) {
    EXPECT_TRUE(kube::FailedWith(ParsePeriod(text, kLimits), kube::Code::kInvalid)) << text;
  }
}

TEST(PeriodTest, NamesTheLimits) {
  EXPECT_EQ(ParsePeriod("1s", kLimits).error().message(),
            "must be a duration from 5s to 1h, for example 30s or 1m30s");
  EXPECT_EQ(ParsePeriod("1s", {.low = 90s, .high = 2min}).error().message(),
            "must be a duration from 90s to 2m, for example 30s or 1m30s");
}

}  // namespace
}  // namespace api
