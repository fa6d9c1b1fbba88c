// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/shard_watch.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_clock.h"

namespace cluster_controller {
namespace {

using kube::EventType;
using namespace std::chrono_literals;

kube::coordination::Lease MakeLease(const std::string& holder, int64_t renewed) {
  kube::coordination::Lease lease;
  lease.mutable_metadata()->set_namespace_("ns");
  lease.mutable_spec()->set_holder_identity(holder);
  lease.mutable_spec()->mutable_renew_time()->set_seconds(renewed);
  return lease;
}

class ShardWatchTest : public testing::Test {
 protected:
  kube::FakeClock clock_;
  ShardWatch watch_{clock_, 30s};
};

TEST_F(ShardWatchTest, WithoutALeaseAPodWaitsFromWhenItWasSeen) {
  kube::TimePoint seen = clock_.Now();
  EXPECT_EQ(watch_.WaitLeft("ns", seen), 30s);
  clock_.Advance(29s);
  EXPECT_EQ(watch_.WaitLeft("ns", seen), 1s);
  clock_.Advance(2s);
  EXPECT_EQ(watch_.WaitLeft("ns", seen), 0s);
}

TEST_F(ShardWatchTest, ARenewingShardKeepsItsPods) {
  kube::TimePoint seen = clock_.Now();
  for (int renewal = 0; renewal < 10; ++renewal) {
    watch_.OnLease(EventType::kModified, MakeLease("shard-1", renewal));
    clock_.Advance(10s);
    EXPECT_EQ(watch_.WaitLeft("ns", seen), 20s);
  }
}

TEST_F(ShardWatchTest, AShardThatStopsRenewingLosesItsPods) {
  kube::TimePoint seen = clock_.Now();
  watch_.OnLease(EventType::kAdded, MakeLease("shard-1", 1));
  clock_.Advance(20s);
  watch_.OnLease(EventType::kModified, MakeLease("shard-1", 1));  // a write that is no renewal
  clock_.Advance(10s);
  EXPECT_EQ(watch_.WaitLeft("ns", seen), 0s);
}

TEST_F(ShardWatchTest, AReleasedOrDeletedLeaseIsNoSignOfLife) {
  watch_.OnLease(EventType::kAdded, MakeLease("shard-1", 1));
  clock_.Advance(25s);
  watch_.OnLease(EventType::kModified, MakeLease("", 2));
  EXPECT_EQ(watch_.WaitLeft("ns", clock_.Now() - 25s), 5s);
  watch_.OnLease(EventType::kDeleted, MakeLease("", 2));
  EXPECT_EQ(watch_.WaitLeft("ns", clock_.Now() - 30s), 0s);
}

TEST_F(ShardWatchTest, AYoungPodOfADeadShardStillGetsItsWait) {
  watch_.OnLease(EventType::kAdded, MakeLease("shard-1", 1));
  clock_.Advance(1h);
  EXPECT_EQ(watch_.WaitLeft("ns", clock_.Now()), 30s);
}

}  // namespace
}  // namespace cluster_controller
