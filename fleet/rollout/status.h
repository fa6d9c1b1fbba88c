// SPDX-License-Identifier: Apache-2.0
// StatusOf() - the status of a FleetPodPlacement after a plan; and what a status says in one word.
#pragma once

#include <array>
#include <string_view>

#include "api/conditions.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/rollout/plan.h"
#include "kube/base/clock.h"

namespace fleet {

// `plan` is null if `fleet` has problems, and so was not planned: then only the condition kAccepted
// changes, as the clusters keep what they have. Without a change, the result equals fleet.status.
FleetPodPlacementStatus StatusOf(const FleetPodPlacement& fleet, const RolloutPlan* plan,
                                 kube::WallTime now);

// One of kRolloutStates, by the stored status.
inline constexpr std::array<std::string_view, 7> kRolloutStates = {
    "progressing", "succeeded", "failed", "stopped", "undecided", "invalid", "deleting"};
std::string_view RolloutStateOf(const FleetPodPlacement& fleet);

}  // namespace fleet
