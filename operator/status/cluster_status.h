// SPDX-License-Identifier: Apache-2.0
// The status of the ClusterPodPlacementConfig. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "kube/base/clock.h"
#include "operator/status/feature_condition.h"
#include "operator/status/rollout.h"
#include "operator/status/upgrade_progress.h"

namespace operator_ {

struct ClusterView {
  OperandHealth operands;
  // The problem of the objects that the config names.
  std::optional<Problem> named_objects;
  // Why webhooks gate the pods although spec.gating is Policy.
  std::optional<Problem> gating;
  // The state of the provider of certificates, if there is one: with a reason, and a message unless
  // its certificates are in use.
  std::optional<Problem> certificates;
  // The shards; nullopt keeps the condition as it is.
  std::optional<UpgradeProgress> upgrade;
  // Other conditions of features stay as they are.
  std::vector<FeatureCondition> of_features = {};
  // What the deletion waits for, as a line; empty while the config is not being deleted.
  std::string deprovisioning;
};

// The new status of `config`, based on its current one: an unchanged condition keeps its transition
// time.
api::ClusterPodPlacementConfigStatus ClusterStatus(const api::ClusterPodPlacementConfig& config,
                                                   const ClusterView& view, kube::WallTime now);

}  // namespace operator_
