// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/quiet_clock.h"

#include <gtest/gtest.h>

namespace e2e {
namespace {

using namespace std::chrono_literals;

TEST(QuietClockTest, StandsStillDuringFaults) {
  kube::TimePoint start{};
  QuietClock clock(start);
  EXPECT_EQ(clock.At(start + 5s), 5s);
  clock.BeginFault(start + 10s);
  EXPECT_FALSE(clock.quiet());
  EXPECT_EQ(clock.At(start + 30s), 10s);
  clock.EndFault(start + 40s);
  EXPECT_TRUE(clock.quiet());
  EXPECT_EQ(clock.At(start + 41s), 11s);
}

TEST(QuietClockTest, IsQuietWhenAllFaultsHaveEnded) {
  kube::TimePoint start{};
  QuietClock clock(start);
  clock.BeginFault(start + 10s);
  clock.BeginFault(start + 15s);
  clock.EndFault(start + 20s);
  EXPECT_EQ(clock.At(start + 25s), 10s);
  clock.EndFault(start + 30s);
  EXPECT_EQ(clock.At(start + 35s), 15s);
}

}  // namespace
}  // namespace e2e
