// SPDX-License-Identifier: Apache-2.0
#include "exec-format/pace.h"

#include <gtest/gtest.h>

#include <chrono>

#include "kube/testing/fake_clock.h"

namespace exec_format {
namespace {

using namespace std::chrono_literals;

constexpr int kAtOnce = 10;
constexpr auto kPeriod = 1s;

TEST(PaceTest, ABurstAndThenOneInAPeriod) {
  kube::FakeClock clock;
  Pace pace(clock, kAtOnce, kPeriod);
  for (int i = 0; i < kAtOnce; ++i) EXPECT_EQ(pace.Take(), clock.Now());
  EXPECT_EQ(pace.Take(), clock.Now() + kPeriod);
  EXPECT_EQ(pace.Take(), clock.Now() + 2 * kPeriod);
}

TEST(PaceTest, TimeRegainsABurstAndNoMore) {
  kube::FakeClock clock;
  Pace pace(clock, kAtOnce, kPeriod);
  for (int i = 0; i < kAtOnce; ++i) pace.Take();
  clock.Advance(kPeriod);
  EXPECT_EQ(pace.Take(), clock.Now());
  EXPECT_EQ(pace.Take(), clock.Now() + kPeriod);
  clock.Advance(1h);
  for (int i = 0; i < kAtOnce; ++i) EXPECT_EQ(pace.Take(), clock.Now());
  EXPECT_EQ(pace.Take(), clock.Now() + kPeriod);
}

}  // namespace
}  // namespace exec_format
