// SPDX-License-Identifier: Apache-2.0
// I1 and I2 on one change of a pod by a program of the product: which gate it removes, and what it
// sets with it.
#pragma once

#include "sim/checker/pod_fields.h"
#include "sim/checker/violation.h"

namespace sim::checker {

// I1: the cluster gate is never removed from a pod that keeps the local gate, and a shard never
// removes it.
void CheckGateOrder(const PodChange& change, Violations& violations);

// I2: requirement, preferences and tolerations change only in a write that removes a gate, with its
// label (the operator may remove the label instead, as it has decided nothing); a pod without a
// gate of the operator is not written any more; no program of the product adds a gate to a pod that
// exists. A pod with gates of other controllers has one write more, which keeps the cluster gate
// and sets no toleration (docs/compatibility.md, Other scheduling gates).
void CheckGateWithDecision(const PodChange& change, Violations& violations);

// The write of a pod that keeps the cluster gate for the gates of other controllers.
bool IsFirstDecision(const PodChange& change);
// Whether the node affinity or the tolerations differ.
bool ChangesPlacement(const PodChange& change);

}  // namespace sim::checker
