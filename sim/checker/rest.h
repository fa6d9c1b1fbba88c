// SPDX-License-Identifier: Apache-2.0
// No writes at rest: while nothing changes, the programs write their Leases and nothing else.
#pragma once

#include "sim/checker/violation.h"
#include "sim/checker/writer.h"

namespace sim::checker {

// A commit after the time when everything was done.
void CheckAtRest(const Commit& commit, const Writer& writer, Violations& violations);

}  // namespace sim::checker
