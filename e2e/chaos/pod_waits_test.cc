// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/pod_waits.h"

#include <gtest/gtest.h>

namespace e2e {
namespace {

using namespace std::chrono_literals;

void Waits(PodWaits& waits, const std::string& pod, PodWaits::Time from, PodWaits::Time to) {
  waits.Saw(pod, pod, true, from);
  waits.Saw(pod, pod, true, from + (to - from) / 2);
  waits.Saw(pod, pod, false, to);
}

TEST(PodWaitsTest, AWaitIsFromTheGateToItsRemoval) {
  PodWaits waits;
  Waits(waits, "web", 10s, 12s);
  waits.Saw("web", "web", false, 60s);
  ASSERT_EQ(waits.waits().size(), 1U);
  EXPECT_EQ(waits.Total().longest, 2s);
  EXPECT_EQ(waits.Total().pod, "web");
}

TEST(PodWaitsTest, APodWithoutAGateIsCountedAndDoesNotWait) {
  PodWaits waits;
  waits.Saw("web", "web", false, 1s);
  EXPECT_EQ(waits.pods(), 1U);
  EXPECT_EQ(waits.Total().pods, 0U);
}

TEST(PodWaitsTest, WaitingAreThoseWithAGate) {
  PodWaits waits;
  waits.Saw("1", "shop/web", true, 1s);
  waits.Saw("2", "shop/db", true, 1s);
  waits.Saw("2", "shop/db", false, 2s);
  EXPECT_EQ(waits.Waiting(), (std::map<std::string, std::string>{{"1", "shop/web"}}));
}

TEST(PodWaitsTest, AFaultHasTheWaitsThatItTouches) {
  PodWaits waits;
  Waits(waits, "before", 1s, 2s);
  waits.FaultBegins("cut", 10s);
  Waits(waits, "into", 9s, 11s);
  Waits(waits, "in", 12s, 15s);
  waits.FaultEnds("cut", 20s);
  Waits(waits, "aftermath", 24s, 28s);
  Waits(waits, "after", 26s, 40s);

  EXPECT_EQ(waits.Of("cut").pods, 3U);
  EXPECT_EQ(waits.Of("cut").longest, 4s);
  EXPECT_EQ(waits.Of("cut").pod, "aftermath");
  EXPECT_EQ(waits.WithoutFault().pods, 2U);
  EXPECT_EQ(waits.WithoutFault().longest, 14s);
  EXPECT_EQ(waits.Total().pods, 5U);
  EXPECT_EQ(waits.Of("another").pods, 0U);
}

TEST(PodWaitsTest, AWaitCountsForEveryFaultThatItTouches) {
  PodWaits waits;
  waits.FaultBegins("cut", 10s);
  waits.FaultBegins("killed", 11s);
  waits.FaultEnds("killed", 12s);
  Waits(waits, "web", 12s, 20s);
  EXPECT_EQ(waits.Of("cut").longest, 8s);
  EXPECT_EQ(waits.Of("killed").longest, 8s);
  EXPECT_EQ(waits.WithoutFault().pods, 0U);
}

TEST(PodWaitsTest, AKindMayComeAgain) {
  PodWaits waits;
  waits.FaultBegins("cut", 10s);
  waits.FaultEnds("cut", 11s);
  waits.FaultBegins("cut", 50s);
  waits.FaultEnds("cut", 51s);
  Waits(waits, "between", 30s, 31s);
  Waits(waits, "second", 50s, 51s);
  EXPECT_EQ(waits.Of("cut").pods, 1U);
  EXPECT_EQ(waits.WithoutFault().pods, 1U);
}

}  // namespace
}  // namespace e2e
