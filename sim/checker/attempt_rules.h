// SPDX-License-Identifier: Apache-2.0
// I3, as far as single commits show it: how often the images of a pod are inspected, over which
// time, and when the work of a shard is taken over (docs/reference.md, Limits and fields).
#pragma once

#include "sim/checker/history.h"
#include "sim/checker/pod_fields.h"
#include "sim/checker/violation.h"

namespace sim::checker {

// The label image-inspect-error-count goes from 1 to 5, never back, and is not removed.
void CheckErrorCount(const PodChange& change, Violations& violations);

// A pod whose images could not be inspected is released after the fifth attempt, and these are
// spread over spec.inspectionRetryPeriod, unless the ClusterPodPlacementConfig is being deleted.
// The time is only judged if no new term of leadership began, as a new leader makes its attempts
// sooner.
void CheckAttempts(const PodChange& change, const PodLife& life, const History& history,
                   const Facts& facts, Violations& violations);

// The cluster controller does not do the shard's work before a pod has waited for
// spec.shardTakeoverAfter.
void CheckTakeover(const PodChange& change, const PodLife& life, const History& history,
                   const Facts& facts, Violations& violations);

}  // namespace sim::checker
