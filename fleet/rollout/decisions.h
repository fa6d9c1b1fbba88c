// SPDX-License-Identifier: Apache-2.0
// The input of a plan from stored PlacementDecisions.
#pragma once

#include <span>

#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/rollout/plan.h"

namespace fleet {

// `decisions` are those of the Placement that `ref` names, in any order; none if it does not exist.
// The Placement is decided if any of them has a status. One without a usable index is of group 0.
// The caller passes only PlacementDecisions that the Placement controls, and removes clusters that
// have no ManagedCluster: a cluster's name becomes the namespace of its work object.
PlacementRollout RolloutOf(const PlacementRef& ref,
                           std::span<const PlacementDecision* const> decisions);

}  // namespace fleet
