// SPDX-License-Identifier: Apache-2.0
// The invariants that hold for every event of every pod; see flow.h.
#pragma once

#include "e2e/framework/flow.h"

namespace e2e {

// I1: the cluster gate goes while the local gate is there.
PodRule ClusterGateGoesBeforeLocal();
// I2: preferences or requirement change in a write that drops no gate, or a gate goes in a write
// that does not say so in its label.
PodRule GateAndItsWorkGoApart();
// The pod did not have the cluster gate in its first event.
PodRule CameWithoutClusterGate();
// The pod was seen with the local gate.
PodRule HadLocalGate();
// The pod was seen with a gate of ours.
PodRule HadGate();
// I8, for the operands in the scene.
PodRule OperandHadGate();

}  // namespace e2e
