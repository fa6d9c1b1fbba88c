// SPDX-License-Identifier: Apache-2.0
// The status of PodPlacementConfigs: each config of a namespace reports the state of the
// namespace's shard. Pure.
#pragma once

#include <optional>
#include <string>

#include "api/pod_placement_config.h"
#include "kube/base/clock.h"
#include "operator/rules/left_out_rules.h"
#include "operator/status/rollout.h"

namespace operator_ {

// Why a namespace with PodPlacementConfigs has no shard.
enum class NoShard {
  kNoClusterConfig,       // there is no ClusterPodPlacementConfig
  kReservedNamespace,     // kube-*, or the operator's own
  kNamespaceNotSelected,  // by the ClusterPodPlacementConfig, or it is excluded
};

struct ShardView {
  std::optional<NoShard> none;
  // With kNamespaceNotSelected: the namespaceSelector, whether the namespace has the label
  // api::kExcludeLabel, and whether it needs the label api::kIncludeLabel as well.
  std::string selector;
  bool opted_out = false;
  bool excluded = false;
  // With `none`: what the teardown of the shard waits for; empty when nothing of it is left.
  std::string teardown;
  OperandHealth operands;
  // The shard has an older pod template, and waits for its turn (upgrade_queue.h).
  bool waits_for_upgrade = false;
  LeftOutRulesOf left_out_rules;
  // The policy gates for configs in force. nullopt: as before.
  std::optional<bool> gate_by_policy;
  // A webhook gates although spec.gating is Policy, because of rules.
  bool rules_need_webhook = false;
};

// The new status of `config`, based on its current one: an unchanged condition keeps its transition
// time. `priority_holder`: the older config of the namespace with the same priority, or nullptr.
api::PodPlacementConfigStatus ShardStatus(const api::PodPlacementConfig& config,
                                          const ShardView& shard,
                                          const api::PodPlacementConfig* priority_holder,
                                          kube::WallTime now);

}  // namespace operator_
