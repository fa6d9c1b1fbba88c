// SPDX-License-Identifier: Apache-2.0
// UpgradeProgress: how far the upgrade of the shards is, for the status of the
// ClusterPodPlacementConfig and for metrics. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/conditions.h"
#include "operator/status/rollout.h"

namespace operator_ {

// The condition of the ClusterPodPlacementConfig.
inline constexpr std::string_view kShardsUpToDate = "ShardsUpToDate";
// Its reasons.
inline constexpr std::string_view kWaitingForCluster = "WaitingForCluster";
inline constexpr std::string_view kUpgrading = "Upgrading";
inline constexpr std::string_view kUpgradeStopped = "UpgradeStopped";
inline constexpr std::string_view kUpgradedWithFailures = "UpgradedWithFailures";

struct UpgradeProgress {
  int shards = 0;
  // Those with an older pod template, and those with the new one that do not run yet.
  int outdated = 0;
  int rolling_out = 0;
  // The shards that do not run since their upgrade, and those of `outdated` that could not be
  // upgraded, by namespace.
  std::map<std::string, Problem> failed;
  // How many of `failed` could not be upgraded.
  int refused = 0;
  // So many failed that no other shard is upgraded.
  bool stopped = false;
  // False after a start, until every shard was looked at.
  bool known = true;
  // False while the upgrade waits for the operands of the cluster.
  bool cluster_current = false;

  bool operator==(const UpgradeProgress&) const = default;
};

// The condition kShardsUpToDate without its generation; `before`: the current conditions. It is
// True when no shard waits for a turn or has one. Shards that failed do not keep it False unless
// they stop the upgrade, nor does a shard whose pod is replaced when no upgrade is in progress.
api::Condition UpgradeCondition(const UpgradeProgress& progress,
                                const std::vector<api::Condition>& before);

}  // namespace operator_
