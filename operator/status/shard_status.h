// SPDX-License-Identifier: Apache-2.0
// The status of PodPlacementConfigs: every one of a namespace tells how the shard of that namespace
// is. Pure.
#pragma once

#include <optional>
#include <string>

#include "api/pod_placement_config.h"
#include "kube/base/clock.h"
#include "operator/status/rollout.h"

namespace operator_ {

// Why a namespace with PodPlacementConfigs has no shard.
enum class NoShard {
  kNoClusterConfig,       // there is no ClusterPodPlacementConfig
  kReservedNamespace,     // kube-*, or the operator's own
  kNamespaceNotSelected,  // by the ClusterPodPlacementConfig's namespaceSelector
};

// What is known of a namespace's shard.
struct ShardView {
  std::optional<NoShard> none;
  // With kNamespaceNotSelected: the namespaceSelector.
  std::string selector;
  // With `none`: what the removal of a shard that was there waits for; empty when nothing is left
  // of it.
  std::string removal;
  Rollout controller;
  Rollout webhook;
  // The API server has been told to call the webhook, with the entries as they are to be.
  bool webhook_configured = false;
  // What keeps the shard from running, or the operator from setting it up.
  std::optional<Trouble> trouble;
};

// The status of `config` under `shard`, on top of the one that it has: a condition that stays keeps
// its transition time. `priority_holder`: the older config of the namespace with the same priority,
// or nullptr.
api::PodPlacementConfigStatus ShardStatus(const api::PodPlacementConfig& config,
                                          const ShardView& shard,
                                          const api::PodPlacementConfig* priority_holder,
                                          kube::WallTime now);

}  // namespace operator_
