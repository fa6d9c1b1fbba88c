// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/pod_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::ObjectKey;
using testing::ElementsAre;
using testing::IsEmpty;

const ObjectKey kA{"ns", "a"};
const ObjectKey kB{"ns", "b"};

class PodLedgerTest : public testing::Test {
 protected:
  kube::TimePoint start_{};
  PodLedger ledger_{20s};
};

TEST_F(PodLedgerTest, TheLongestGatedPodIsTheOldest) {
  EXPECT_FALSE(ledger_.LongestGated(0s));
  ledger_.OnPod(kB, true, start_, 3s);
  ledger_.OnPod(kA, true, start_, 5s);
  ledger_.OnPod(kB, true, start_, 9s);  // an event that changes nothing
  ASSERT_TRUE(ledger_.LongestGated(10s));
  EXPECT_EQ(ledger_.LongestGated(10s)->pod, kB);
  EXPECT_EQ(ledger_.LongestGated(10s)->waited, 7s);
  EXPECT_EQ(ledger_.gated(), 2u);

  ledger_.OnPod(kB, false, start_, 10s);
  EXPECT_EQ(ledger_.LongestGated(10s)->pod, kA);
  ledger_.OnDeleted(kA);
  EXPECT_FALSE(ledger_.LongestGated(10s));
  EXPECT_EQ(ledger_.gated(), 0u);
  EXPECT_EQ(ledger_.size(), 1u);
}

TEST_F(PodLedgerTest, ALateResponseDoesNotGateThePodAgain) {
  ledger_.OnPod(kA, false, start_, 0s);  // the watch was faster
  ledger_.OnPod(kA, true, start_, 1s);
  EXPECT_EQ(ledger_.gated(), 0u);
  EXPECT_THAT(ledger_.TakeDue(start_ + 20s, 9), ElementsAre(kA));
}

TEST_F(PodLedgerTest, APodIsDueSomeTimeAfterItWasUngated) {
  ledger_.OnPod(kA, true, start_, 0s);
  EXPECT_THAT(ledger_.TakeDue(start_ + 60s, 9), IsEmpty());
  ledger_.OnPod(kA, false, start_ + 60s, 0s);
  ledger_.OnPod(kB, false, start_ + 61s, 0s);
  EXPECT_THAT(ledger_.TakeDue(start_ + 79s, 9), IsEmpty());
  EXPECT_THAT(ledger_.TakeDue(start_ + 90s, 1), ElementsAre(kA));
  EXPECT_THAT(ledger_.TakeDue(start_ + 90s, 9), ElementsAre(kB));
  EXPECT_THAT(ledger_.TakeDue(start_ + 900s, 9), IsEmpty());
}

TEST_F(PodLedgerTest, AFailedDeletionIsRepeatedUnlessThePodIsGone) {
  for (const ObjectKey& pod : {kA, kB}) ledger_.OnPod(pod, false, start_, 0s);
  EXPECT_THAT(ledger_.TakeDue(start_ + 20s, 9), ElementsAre(kA, kB));
  ledger_.Return(kA, start_ + 20s);
  ledger_.Return(kB, start_ + 20s);
  ledger_.OnDeleted(kB);
  EXPECT_THAT(ledger_.TakeDue(start_ + 40s, 9), ElementsAre(kA));
}

}  // namespace
}  // namespace e2e
