// SPDX-License-Identifier: Apache-2.0
// The status of the ClusterPodPlacementConfig. Pure.
#pragma once

#include <optional>

#include "api/cluster_pod_placement_config.h"
#include "kube/base/clock.h"
#include "operator/status/rollout.h"

namespace operator_ {

struct ClusterView {
  Rollout controller;
  Rollout webhook;
  // The API server has been told to call the webhook.
  bool webhook_configured = false;
  // What keeps the operands from running, or the operator from setting them up.
  std::optional<Trouble> trouble;
  // What is wrong with the objects that the config names.
  std::optional<Trouble> named_objects;
  // What the deletion waits for, in words; empty while the config is not being deleted.
  std::string deprovisioning;
};

// The status of `config`, on top of the one that it has: a condition that stays keeps its
// transition time.
api::ClusterPodPlacementConfigStatus ClusterStatus(const api::ClusterPodPlacementConfig& config,
                                                   const ClusterView& view, kube::WallTime now);

}  // namespace operator_
