// SPDX-License-Identifier: Apache-2.0
#include "exec-format/handler/limits.h"

#include <gtest/gtest.h>

#include <string>

#include "kube/testing/fake_clock.h"

namespace exec_format {
namespace {

using namespace std::chrono_literals;

TEST(PodEventLimitTest, APodHasSoManyWithinTheWindow) {
  kube::FakeClock clock;
  PodEventLimit limit(clock);
  for (size_t i = 0; i < kEventsOfPod; ++i) {
    EXPECT_TRUE(limit.HasRoom("a"));
    limit.Count("a");
    clock.Advance(1min);
  }
  EXPECT_FALSE(limit.HasRoom("a"));
  EXPECT_TRUE(limit.HasRoom("b"));
  // The first of them is an hour old.
  clock.Advance(kPodWindow - std::chrono::minutes(kEventsOfPod));
  EXPECT_TRUE(limit.HasRoom("a"));
  limit.Count("a");
  EXPECT_FALSE(limit.HasRoom("a"));
}

TEST(PodEventLimitTest, ManyPodsTakeNoMoreMemory) {
  kube::FakeClock clock;
  PodEventLimit limit(clock);
  for (size_t i = 0; i < kEventsOfPod; ++i) limit.Count("first");
  for (size_t i = 0; i < kMaxPods; ++i) limit.Count(std::to_string(i));
  EXPECT_TRUE(limit.HasRoom("first"));
}

}  // namespace
}  // namespace exec_format
