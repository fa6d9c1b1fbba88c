// SPDX-License-Identifier: Apache-2.0
// The status of a Placement after a pass: how many clusters are selected, in which decision groups,
// and the conditions PlacementMisconfigured and PlacementSatisfied. Pure.
//
//   PlacementStatus status = StatusOf(placement, view, clock.WallNow());
//   if (status != placement.status) ... patch StatusToJson(status) ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/api/placement.h"
#include "kube/base/clock.h"

namespace fleet {

// What one pass found out.
struct PlacementView {
  // "PLUGIN:WHY"; nullopt if nothing is wrong with the Placement.
  std::optional<std::string> misconfigured;
  // `misconfigured` is that a limit is exceeded (fleet/api/budgets.h).
  bool too_large = false;
  // The decisions are those of an earlier pass: what the status says about them stays.
  bool kept = false;
  // Unless `kept`: of the condition PlacementSatisfied.
  bool satisfied = false;
  std::string reason;
  std::string message;
  // Unless `kept`.
  std::vector<DecisionGroupStatus> groups;
  // The scores or their order were written: the new lastScoreUpdateTime.
  std::optional<kube::WallTime> scores_written;
};

// Returns: the status of `placement`, changed to what `view` says. An unchanged condition keeps its
// time, and conditions of others stay.
PlacementStatus StatusOf(const Placement& placement, const PlacementView& view, kube::WallTime now);

}  // namespace fleet
