// SPDX-License-Identifier: Apache-2.0
// Which pods are gated, and which gated pods are only released (docs/reference.md, Which pods are
// gated and Opting out).
#pragma once

#include <string>
#include <vector>

#include "sim/checker/history.h"
#include "sim/checker/pod_fields.h"
#include "sim/checker/violation.h"

namespace sim::checker {

enum class Placement {
  kYes,
  kNo,
  // What decides has changed, or only the author of the request decides.
  kEither,
};

// Whether a gated pod is placed, or its gates are only removed, by a write at `change`. `life`: of
// that pod.
Placement IsPlaced(const PodChange& change, const PodLife& life, const History& history,
                   const Facts& facts);

// The creation of a pod: a gate that admission has added is allowed by the configurations and the
// namespace, as an API server may have known them. No gate is never wrong: a webhook may not
// answer. Judges only commits that say what was sent.
void CheckGatesAdded(const Commit& commit, const History& history, const Facts& facts,
                     Violations& violations);

// The reverse: once there is no fault, and configurations and namespace have not changed for
// Timing::rollout, a pod that is to be gated has its gates, unless it may be and was placed.
void CheckGatesMissing(const Commit& commit, const History& history, const Facts& facts,
                       Violations& violations);

// The versions of the ClusterPodPlacementConfig by which admission may have placed this new pod,
// instead of gating it (docs/reference.md, Known images), as an API server or a webhook may have
// known them.
std::vector<const ClusterConfig*> PlacingConfigs(const Commit& commit, const History& history,
                                                 const Facts& facts);

// A write of the operator that removes a gate: something is being removed, so that no controller
// may do it.
void CheckTeardownIsDue(const PodChange& change, const History& history, const Facts& facts,
                        Violations& violations);

// The pod sets its architecture in nodeSelector or in every required term.
bool RequiresArchitectureItself(const Json& pod);
bool PrefersArchitecture(const Json& pod);

}  // namespace sim::checker
