// SPDX-License-Identifier: Apache-2.0
#include "operator/pacer.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_clock.h"

namespace operator_ {
namespace {

using namespace std::chrono_literals;

class PacerTest : public testing::Test {
 protected:
  // The wakes that events bring which come every 10 ms for that long.
  int ReconcilesOf(const std::string& key, std::chrono::milliseconds time) {
    int wakes = 0;
    kube::TimePoint due{};
    for (; time > 0ms; time -= 10ms, clock_.Advance(10ms)) {
      kube::TimePoint at = clock_.Now() + pacer_.Delay(key);
      if (at != due) ++wakes;
      due = at;
    }
    return wakes;
  }

  kube::FakeClock clock_;
  Pacer pacer_{clock_, {.settle = 200ms, .burst = 50, .period = 2s}};
};

TEST_F(PacerTest, ABurstIsOneReconcile) {
  EXPECT_EQ(pacer_.Delay("shop"), 200ms);
  clock_.Advance(150ms);
  EXPECT_EQ(pacer_.Delay("shop"), 50ms);
  clock_.Advance(50ms);
  EXPECT_EQ(pacer_.Delay("shop"), 200ms);
}

TEST_F(PacerTest, ARolloutIsNotDelayed) { EXPECT_EQ(ReconcilesOf("shop", 8s), 40); }

TEST_F(PacerTest, ALoopIsDelayedAndNoOtherKey) {
  ReconcilesOf("shop", 60s);
  EXPECT_NEAR(ReconcilesOf("shop", 60s), 30, 1);
  EXPECT_EQ(pacer_.Delay("farm"), 200ms);
  // After some time, the whole burst is available again.
  clock_.Advance(2min);
  EXPECT_EQ(ReconcilesOf("shop", 8s), 40);
}

TEST_F(PacerTest, WritesAreCounted) {
  for (int i = 0; i < 50; ++i) EXPECT_EQ(pacer_.Take("a"), 0ms);
  EXPECT_EQ(pacer_.Take("a"), 2s);
  clock_.Advance(500ms);
  EXPECT_EQ(pacer_.Take("a"), 1500ms) << "a refused one does not count";
  EXPECT_EQ(pacer_.Take("b"), 0ms);
  clock_.Advance(1500ms);
  EXPECT_EQ(pacer_.Take("a"), 0ms);
  EXPECT_EQ(pacer_.Take("a"), 2s);
  clock_.Advance(1min);
  int writes = 0;
  while (pacer_.Take("a") == 0ms) ++writes;
  EXPECT_EQ(writes, 30);
}

TEST_F(PacerTest, IdleKeysAreRemoved) {
  for (int i = 0; i < 10'000; ++i) {
    pacer_.Delay(std::to_string(i));
    clock_.Advance(100ms);
  }
  EXPECT_LT(pacer_.size(), 130u);
}

}  // namespace
}  // namespace operator_
