// SPDX-License-Identifier: Apache-2.0
// No writes at rest: while nothing changes, the programs write their Leases and nothing else, but
// for what keeps images known with knownImages: PlaceAtCreation.
#pragma once

#include "sim/checker/configs.h"
#include "sim/checker/violation.h"
#include "sim/checker/writer.h"

namespace sim::checker {

// A commit after the time when everything was done. `config`: the ClusterPodPlacementConfig.
void CheckAtRest(const Commit& commit, const Writer& writer, const ClusterConfig& config,
                 Violations& violations);

}  // namespace sim::checker
