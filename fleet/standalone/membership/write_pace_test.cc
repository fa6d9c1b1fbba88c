// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/write_pace.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_clock.h"

namespace fleet {
namespace {

using namespace std::chrono_literals;

TEST(WritePace, LimitsTheWritesOfEachObjectInAMinute) {
  kube::FakeClock clock;
  WritePace pace(clock);
  for (int i = 0; i < WritePace::kWrites; ++i) {
    EXPECT_EQ(pace.Take("c1"), 0s) << i;
    clock.Advance(1s);
  }
  EXPECT_EQ(pace.Take("c1"), 50s);
  EXPECT_EQ(pace.Take("c2"), 0s);
  clock.Advance(49s);
  EXPECT_EQ(pace.Take("c1"), 1s);
  clock.Advance(1s);
  for (int i = 0; i < WritePace::kWrites; ++i) EXPECT_EQ(pace.Take("c1"), 0s) << i;
  EXPECT_EQ(pace.Take("c1"), 60s);
  pace.Forget("c1");
  EXPECT_EQ(pace.Take("c1"), 0s);
}

}  // namespace
}  // namespace fleet
