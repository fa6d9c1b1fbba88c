// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/circuit_breaker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_clock.h"

namespace inspection {
namespace {

using namespace std::chrono_literals;
using kube::Code;
using kube::Error;
using ::testing::HasSubstr;

class CircuitBreakerTest : public ::testing::Test {
 protected:
  std::optional<Error> Check(const std::string& key) { return breaker_.Check({&key, 1}); }

  kube::FakeClock clock_;
  CircuitBreaker breaker_{clock_, 2};
};

TEST_F(CircuitBreakerTest, WhatIsDownIsProbedOnceInAnInterval) {
  const Error refused = Error::Unavailable("registry r.io: connection refused");
  EXPECT_FALSE(Check("r.io"));
  breaker_.Fail("r.io", refused);
  for (auto interval : {1s, 2s, 4s, 5s, 5s}) {
    clock_.Advance(interval - 1s);
    for (int i = 0; i < 1000; ++i) {
      std::optional<Error> down = Check("r.io");
      ASSERT_TRUE(down);
      EXPECT_EQ(down->code(), Code::kUnavailable);
      EXPECT_EQ(down->retry_after(), 1s);
    }
    EXPECT_FALSE(Check("other.io"));
    clock_.Advance(1s);
    EXPECT_FALSE(Check("r.io"));
    breaker_.Fail("r.io", refused);
  }
  clock_.Advance(2s);
  EXPECT_EQ(Check("r.io")->message(),
            "it failed 2 s ago and is asked again in 3 s: registry r.io: connection refused");
  clock_.Advance(3s);
  EXPECT_FALSE(Check("r.io"));
  // Also if the probe never ends.
  EXPECT_TRUE(Check("r.io"));
  clock_.Advance(5s);
  EXPECT_FALSE(Check("r.io"));
  breaker_.Succeed("r.io", clock_.Now());
  EXPECT_FALSE(Check("r.io"));
  EXPECT_FALSE(Check("r.io"));
}

TEST_F(CircuitBreakerTest, RetryAfterIsRespectedWithinLimits) {
  breaker_.Fail("r.io", Error::Throttled("429").WithRetryAfter(60s));
  clock_.Advance(59s);
  EXPECT_TRUE(Check("r.io"));
  clock_.Advance(1s);
  EXPECT_FALSE(Check("r.io"));
  breaker_.Fail("r.io", Error::Throttled("429").WithRetryAfter(0s));
  EXPECT_TRUE(Check("r.io"));
  breaker_.Fail("r.io", Error::Throttled("429").WithRetryAfter(1'000'000s));
  clock_.Advance(kMaxRetryAfter);
  EXPECT_FALSE(Check("r.io"));
}

TEST_F(CircuitBreakerTest, CallsInFlightTogetherCountOnce) {
  kube::TimePoint started = clock_.Now();
  clock_.Advance(100ms);
  for (int i = 0; i < 16; ++i) breaker_.Fail("r.io", Error::Unavailable("reset"));
  // One that began before says nothing of what came after.
  breaker_.Succeed("r.io", started);
  EXPECT_TRUE(Check("r.io"));
  clock_.Advance(1s);
  EXPECT_FALSE(Check("r.io"));
  breaker_.Succeed("r.io", clock_.Now());
  EXPECT_FALSE(Check("r.io"));
}

// A call that is refused because of one key is no probe of another one.
TEST_F(CircuitBreakerTest, ACallNeedsAllOfItsKeys) {
  const std::vector<std::string> both = {"host", "repository"};
  breaker_.Fail("host", Error::Unavailable("connection refused"));
  clock_.Advance(500ms);
  breaker_.Fail("repository", Error::Unavailable("503"));
  clock_.Advance(500ms);
  ASSERT_TRUE(breaker_.Check(both));
  EXPECT_THAT(breaker_.Check(both)->message(), HasSubstr("503"));
  EXPECT_FALSE(Check("host"));
  clock_.Advance(5s);
  EXPECT_FALSE(breaker_.Check(both));
  EXPECT_TRUE(Check("host"));
  EXPECT_TRUE(Check("repository"));
}

TEST_F(CircuitBreakerTest, NamesOfTenantsDoNotFillTheMemory) {
  for (int i = 0; i < 1000; ++i)
    breaker_.Fail(std::to_string(i) + ".io", Error::Unavailable("connection refused"));
  EXPECT_FALSE(Check("0.io"));
  EXPECT_TRUE(Check("999.io"));
}

}  // namespace
}  // namespace inspection
