// SPDX-License-Identifier: Apache-2.0
// RolloutOf() - the input of a plan from stored PlacementDecisions: which of them count, and which
// of their clusters. Pure.
//
// Writing PlacementDecisions in a namespace, as a tenant or as OCM's controller, must not reach
// more clusters than a Placement there could select:
//   - only PlacementDecisions count that the Placement controls (by its uid) and that have its
//     label, in the Placement's namespace;
//   - of their entries only clusters that exist and are in a cluster set that is bound there. A
//     cluster's name becomes the namespace of its work object.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/rollout/plan.h"

namespace fleet {

// Whether Placements of the namespace may select the cluster.
using MaySelect = std::function<bool(const std::string& cluster)>;

// `placement` is the one that `ref` names in the namespace of the FleetPodPlacement, or nullptr.
// `decisions` are in any order; one without a usable index is of group 0.
//
// The Placement is decided if one of its PlacementDecisions has a status, or if its own status says
// that it selects no cluster: a PlacementDecision that was always empty has no status.
PlacementRollout RolloutOf(const PlacementRef& ref, const Placement* placement,
                           std::span<const PlacementDecision> decisions,
                           const MaySelect& may_select);

}  // namespace fleet
