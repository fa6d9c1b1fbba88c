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

// The limiter remembers the latest events only: an older one is allowed again.
TEST(EventLimiterTest, MemoryIsBoundedForManyObjects) {
  constexpr int kObjects = 20'000;
  FakeClock clock;
  EventLimiter limiter(clock, 1min);
  auto allow = [&](int i) { return limiter.Allow({"ns", std::to_string(i)}, "refused"); };
  for (int i = 0; i < kObjects; ++i) EXPECT_TRUE(allow(i));
  int remembered = 0;
  while (remembered < kObjects && !allow(kObjects - 1 - remembered)) ++remembered;
  EXPECT_GT(remembered, 0);
  EXPECT_LE(remembered, 4096);
}

TEST(EventLimiterTest, ExpiredEventsAreForgottenFirst) {
  FakeClock clock;
  EventLimiter limiter(clock, 1min);
  auto allow = [&](int i) { return limiter.Allow({"ns", std::to_string(i)}, "refused"); };
  for (int i = 0; i < 4000; ++i) EXPECT_TRUE(allow(i));
  clock.Advance(1min);
  for (int i = 4000; i < 8000; ++i) EXPECT_TRUE(allow(i));
  for (int i = 4000; i < 8000; ++i) EXPECT_FALSE(allow(i)) << i;
}

}  // namespace
}  // namespace kube
