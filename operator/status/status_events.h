// SPDX-License-Identifier: Apache-2.0
// Events about both configs: what the operator did, and what it saw. Each is derived from a change
// of the status, which is written once, so a restarted operator repeats none. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/pod_placement_config.h"

namespace operator_ {

// The reasons of events of PodPlacementConfigs.
inline constexpr std::string_view kShardAvailable = "ShardAvailable";
inline constexpr std::string_view kShardDegraded = "ShardDegraded";
inline constexpr std::string_view kShardRecovered = "ShardRecovered";
inline constexpr std::string_view kShardUpgraded = "ShardUpgraded";
inline constexpr std::string_view kShardTeardown = "ShardTeardown";
inline constexpr std::string_view kShardRemoved = "ShardRemoved";
// The reasons of events of the ClusterPodPlacementConfig.
inline constexpr std::string_view kOperandsAvailable = "OperandsAvailable";
inline constexpr std::string_view kOperandsDegraded = "OperandsDegraded";
inline constexpr std::string_view kOperandsRecovered = "OperandsRecovered";
inline constexpr std::string_view kOperandsTeardown = "OperandsTeardown";
inline constexpr std::string_view kShardUpgradeBegun = "ShardUpgradeBegun";
inline constexpr std::string_view kShardUpgradeStopped = "ShardUpgradeStopped";
inline constexpr std::string_view kShardUpgradeResumed = "ShardUpgradeResumed";
inline constexpr std::string_view kShardUpgradeFinished = "ShardUpgradeFinished";
// A reason of events of both kinds.
inline constexpr std::string_view kCertificateRenewed = "CertificateRenewed";

struct StatusEvent {
  bool warning = false;
  std::string_view reason;
  std::string message;
};

std::vector<StatusEvent> EventsOf(const api::PodPlacementConfigStatus& before,
                                  const api::PodPlacementConfigStatus& after);
std::vector<StatusEvent> EventsOf(const api::ClusterPodPlacementConfigStatus& before,
                                  const api::ClusterPodPlacementConfigStatus& after);

}  // namespace operator_
