// SPDX-License-Identifier: Apache-2.0
#include "operator/status/status_events.h"

#include <gtest/gtest.h>

#include "operator/status/upgrade_progress.h"

namespace operator_ {
namespace {

template <class Status>
Status With(std::string_view type, const char* status, std::string_view reason,
            const char* message = "m") {
  Status made;
  made.conditions.push_back({.type = std::string(type),
                             .status = status,
                             .reason = std::string(reason),
                             .message = message});
  return made;
}

template <class Status>
std::string Reasons(const Status& before, const Status& after) {
  std::string reasons;
  for (const StatusEvent& event : EventsOf(before, after)) {
    EXPECT_FALSE(event.message.empty()) << event.reason;
    reasons += (event.warning ? "!" : "") + std::string(event.reason) + " ";
  }
  return reasons;
}

using Shard = api::PodPlacementConfigStatus;
using Cluster = api::ClusterPodPlacementConfigStatus;

TEST(StatusEventsTest, TheSameStatusIsNoEvent) {
  auto degraded = With<Shard>(api::kDegraded, "True", "QuotaExceeded");
  EXPECT_EQ(Reasons(degraded, degraded), "");
  auto longer = With<Shard>(api::kDegraded, "True", "QuotaExceeded", "other");
  EXPECT_EQ(Reasons(degraded, longer), "");
  EXPECT_EQ(Reasons(Shard(), With<Shard>(api::kDegraded, "False", "AsExpected")), "");
}

TEST(StatusEventsTest, OfAShard) {
  EXPECT_EQ(Reasons(Shard(), With<Shard>(api::kAvailable, "True", "AsExpected")),
            "ShardAvailable ");
  auto healthy = With<Shard>(api::kDegraded, "False", "AsExpected");
  auto quota = With<Shard>(api::kDegraded, "True", "QuotaExceeded");
  EXPECT_EQ(Reasons(healthy, quota), "!ShardDegraded ");
  EXPECT_EQ(Reasons(quota, With<Shard>(api::kDegraded, "True", "CrashLoopBackOff")),
            "!ShardDegraded ");
  EXPECT_EQ(Reasons(quota, healthy), "ShardRecovered ");
}

TEST(StatusEventsTest, OfTheCluster) {
  auto current = With<Cluster>(kShardsUpToDate, "True", "AsExpected");
  auto upgrading = With<Cluster>(kShardsUpToDate, "False", kUpgrading);
  auto stopped = With<Cluster>(kShardsUpToDate, "False", kUpgradeStopped);
  EXPECT_EQ(Reasons(Cluster(), current), "");
  EXPECT_EQ(Reasons(current, upgrading), "ShardUpgradeBegun ");
  EXPECT_EQ(Reasons(upgrading, stopped), "!ShardUpgradeStopped ");
  EXPECT_EQ(Reasons(stopped, upgrading), "ShardUpgradeResumed ");
  EXPECT_EQ(Reasons(stopped, current), "ShardUpgradeFinished ");
  EXPECT_EQ(Reasons(With<Cluster>(api::kDeprovisioning, "False", "NotDeleted"),
                    With<Cluster>(api::kDeprovisioning, "True", "Deleted")),
            "OperandsTeardown ");
  EXPECT_EQ(Reasons(Cluster(), With<Cluster>(api::kDegraded, "True", "RightsMissing")),
            "!OperandsDegraded ");
}

}  // namespace
}  // namespace operator_
