// SPDX-License-Identifier: Apache-2.0
// The kinds of faults of a run.
#pragma once

#include <vector>

#include "e2e/chaos/faults/fault_kind.h"

namespace e2e {

// Connections to API servers, etcd and the registry.
std::vector<FaultKind> NetworkFaults();
// Processes of the control plane, and etcd's data.
std::vector<FaultKind> ControlPlaneFaults();
// Processes of the operator.
std::vector<FaultKind> ProgramFaults();
// What processes of the operator get from the machine: memory, descriptors, room, time.
std::vector<FaultKind> ResourceFaults();

// All of them.
std::vector<FaultKind> AllFaults();

}  // namespace e2e
