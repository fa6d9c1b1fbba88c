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

kube::apps::Deployment MakeDeployment(int available) {
  kube::apps::Deployment deployment;
  deployment.mutable_metadata()->set_namespace_("ns");
  deployment.mutable_status()->set_available_replicas(available);
  return deployment;
}

class ShardWatchTest : public testing::Test {
 protected:
  kube::Duration WaitLeft(const std::string& ns, kube::TimePoint first_seen) {
    return watch_.WaitLeft(ns, first_seen, /*takeover_after=*/30s);
  }

  kube::FakeClock clock_;
  ShardWatch watch_{clock_};
};

TEST_F(ShardWatchTest, WithoutALeaseAPodWaitsFromItsFirstObservation) {
  kube::TimePoint seen = clock_.Now();
  EXPECT_EQ(WaitLeft("ns", seen), 30s);
  clock_.Advance(29s);
  EXPECT_EQ(WaitLeft("ns", seen), 1s);
  clock_.Advance(2s);
  EXPECT_EQ(WaitLeft("ns", seen), 0s);
}

TEST_F(ShardWatchTest, ARenewingShardKeepsItsPodsForALimitedTime) {
  watch_.OnDeployment(EventType::kAdded, MakeDeployment(1));
  kube::TimePoint seen = clock_.Now();
  for (int renewal = 0; renewal < 7; ++renewal) {
    watch_.OnLease(EventType::kModified, MakeLease("shard-1", renewal));
    clock_.Advance(10s);
    EXPECT_EQ(WaitLeft("ns", seen), 20s);
    EXPECT_EQ(WaitLeft("ns", clock_.Now()), 30s) << "a new pod";
  }
  // A tenant who writes the Lease, or stops the shard, cannot delay the pod without limit.
  for (int renewal = 7; renewal < 9; ++renewal) {
    watch_.OnLease(EventType::kModified, MakeLease("shard-1", renewal));
    clock_.Advance(10s);
  }
  EXPECT_EQ(WaitLeft("ns", seen), 0s);
}

TEST_F(ShardWatchTest, AnUnavailableShardWithARenewedLeaseDoesNotWork) {
  watch_.OnLease(EventType::kAdded, MakeLease("shard-1", 1));
  kube::TimePoint seen = clock_.Now();
  clock_.Advance(20s);
  watch_.OnLease(EventType::kModified, MakeLease("shard-1", 2));
  EXPECT_EQ(WaitLeft("ns", seen), 10s) << "no Deployment at all";
  watch_.OnDeployment(EventType::kAdded, MakeDeployment(0));
  EXPECT_EQ(WaitLeft("ns", seen), 10s);
  watch_.OnDeployment(EventType::kModified, MakeDeployment(1));
  EXPECT_EQ(WaitLeft("ns", seen), 30s);
  clock_.Advance(1s);
  watch_.OnDeployment(EventType::kModified, MakeDeployment(0));
  clock_.Advance(10s);
  watch_.OnLease(EventType::kModified, MakeLease("shard-1", 3));
  EXPECT_EQ(WaitLeft("ns", seen), 20s) << "since it was available last";
  watch_.OnDeployment(EventType::kDeleted, MakeDeployment(1));
  EXPECT_EQ(WaitLeft("ns", seen), 20s);
}

TEST_F(ShardWatchTest, ANewTermTakesNoPodOverBeforeItHasSynced) {
  watch_.OnLease(EventType::kAdded, MakeLease("shard-1", 1));
  watch_.OnDeployment(EventType::kAdded, MakeDeployment(1));
  clock_.Advance(10s);
  kube::TimePoint seen = clock_.Now();
  clock_.Advance(50s);
  watch_.BeginTerm();
  EXPECT_GT(WaitLeft("ns", seen), 0s);
  // The dead shard is taken over: its pods have waited.
  watch_.OnLease(EventType::kAdded, MakeLease("shard-1", 1));
  watch_.OnDeployment(EventType::kAdded, MakeDeployment(1));
  clock_.Advance(5s);
  EXPECT_EQ(WaitLeft("ns", seen), 0s);
  // The working shard keeps its pods.
  watch_.OnLease(EventType::kModified, MakeLease("shard-1", 2));
  EXPECT_GT(WaitLeft("ns", seen), 0s);
}

TEST_F(ShardWatchTest, InformersKeepOnlyTheUsedFields) {
  kube::apps::Deployment deployment = MakeDeployment(2);
  deployment.mutable_metadata()->set_name("shard");
  (*deployment.mutable_metadata()->mutable_annotations())["a"] = std::string(1000, 'x');
  deployment.mutable_unknown_fields()->append(
      std::string("\x12\x03"
                  "far"));
  auto packed = ShardDeployments().pack(deployment.SerializeAsString());
  ASSERT_TRUE(packed && *packed);
  EXPECT_LT((*packed)->size(), 20u);
  kube::apps::Deployment held;
  ASSERT_TRUE(held.ParseFromString(**packed));
  EXPECT_EQ(held.metadata().namespace_(), "ns");
  EXPECT_EQ(held.status().available_replicas(), 2);

  kube::coordination::Lease lease = MakeLease("shard-1", 7);
  lease.mutable_metadata()->add_managed_fields(std::string(1000, 'x'));
  auto packed_lease = ShardLeases().pack(lease.SerializeAsString());
  ASSERT_TRUE(packed_lease && *packed_lease);
  EXPECT_LT((*packed_lease)->size(), 40u);
  EXPECT_FALSE(ShardLeases().pack("\x0a\x02\xff\xff"));
}

TEST_F(ShardWatchTest, AShardThatStopsRenewingLosesItsPods) {
  kube::TimePoint seen = clock_.Now();
  watch_.OnDeployment(EventType::kAdded, MakeDeployment(1));
  watch_.OnLease(EventType::kAdded, MakeLease("shard-1", 1));
  clock_.Advance(20s);
  watch_.OnLease(EventType::kModified, MakeLease("shard-1", 1));  // a write without a renewal
  clock_.Advance(10s);
  EXPECT_EQ(WaitLeft("ns", seen), 0s);
}

TEST_F(ShardWatchTest, AShardWithoutALeaseHolderDoesNotWork) {
  watch_.OnDeployment(EventType::kAdded, MakeDeployment(1));
  watch_.OnLease(EventType::kAdded, MakeLease("shard-1", 1));
  clock_.Advance(25s);
  watch_.OnLease(EventType::kModified, MakeLease("", 2));
  EXPECT_EQ(WaitLeft("ns", clock_.Now() - 25s), 5s);
  watch_.OnLease(EventType::kDeleted, MakeLease("", 2));
  EXPECT_EQ(WaitLeft("ns", clock_.Now() - 30s), 0s);
}

TEST_F(ShardWatchTest, ANewPodOfADeadShardWaitsAsWell) {
  watch_.OnLease(EventType::kAdded, MakeLease("shard-1", 1));
  clock_.Advance(1h);
  EXPECT_EQ(WaitLeft("ns", clock_.Now()), 30s);
}

}  // namespace
}  // namespace cluster_controller
