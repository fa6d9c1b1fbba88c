// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/event_limiter.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_clock.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

TEST(EventLimiterTest, TheSameEventIsAllowedOncePerInterval) {
  FakeClock clock;
  EventLimiter limiter(clock, 1min);
  EXPECT_TRUE(limiter.Allow({"ns", "a"}, "refused"));
  EXPECT_FALSE(limiter.Allow({"ns", "a"}, "refused"));
  EXPECT_TRUE(limiter.Allow({"ns", "b"}, "refused"));
  EXPECT_TRUE(limiter.Allow({"ns", "a"}, "refused otherwise"));
  EXPECT_FALSE(limiter.Allow({"ns", "a"}, "refused")) << "also when two messages alternate";
  clock.Advance(1min);
  EXPECT_TRUE(limiter.Allow({"ns", "a"}, "refused"));
}

TEST(EventLimiterTest, MemoryIsBoundedForManyObjects) {
  FakeClock clock;
  EventLimiter limiter(clock, 1min);
  for (int i = 0; i < 20'000; ++i) EXPECT_TRUE(limiter.Allow({"ns", std::to_string(i)}, "refused"));
}

}  // namespace
}  // namespace kube
