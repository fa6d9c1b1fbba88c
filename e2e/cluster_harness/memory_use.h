// SPDX-License-Identifier: Apache-2.0
// MemoryUse: what budgets leave of the memory limits of the operator's programs.
#pragma once

#include <string>

namespace e2e {

// Expects that each process of `program` in `ns` has stayed below 60 % of its memory limit since it
// started, and prints the figures. `when`: "with every budget full".
void ExpectFarBelowLimit(const std::string& program, const std::string& ns,
                         const std::string& when);

}  // namespace e2e
