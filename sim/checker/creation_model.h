// SPDX-License-Identifier: Apache-2.0
// I4: what admission makes of a new pod whose images are known (docs/reference.md, Known images):
// what a release would make of it, by the ClusterPodPlacementConfig alone. Whether the pod had to
// be gated instead, gating_model.h says.
#pragma once

#include "sim/checker/history.h"
#include "sim/checker/release_model.h"
#include "sim/checker/violation.h"

namespace sim::checker {

// Judges a commit that says what was sent. `history`: before the commit.
void CheckPlacedAtCreation(const Commit& commit, const History& history, const Facts& facts,
                           JudgedReleases& judged, Violations& violations);

}  // namespace sim::checker
