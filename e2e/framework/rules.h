// SPDX-License-Identifier: Apache-2.0
// Violations of invariants that no event of any pod may show; see flow.h.
#pragma once

#include "e2e/framework/flow.h"

namespace e2e {

// I1: the cluster gate was removed while the pod had the local gate.
PodRule ClusterGateRemovedBeforeLocal();
// I2: a write changed preferences, requirement or tolerations without removing a gate, or removed a
// gate without setting its label. The first write for a pod with gates of other controllers is none
// (other_gates.h).
PodRule GateRemovedWithoutItsDecision();
// The first event of the pod has no cluster gate.
PodRule CreatedWithoutClusterGate();
// An event of the pod has the local gate.
PodRule HadLocalGate();
// An event of the pod has the local or the cluster gate.
PodRule HadGate();
// I8: an operand in the scene had a gate.
PodRule OperandHadGate();

}  // namespace e2e
