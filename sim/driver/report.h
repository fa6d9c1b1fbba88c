// SPDX-License-Identifier: Apache-2.0
// What //sim prints. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "sim/driver/outcome.h"

namespace sim {

// One line, and one for each violation.
std::string DescribeRun(const Outcome& outcome);
// The table of all runs. `runs`: their number.
std::string DescribeSum(const Outcome& sum, uint64_t runs);

}  // namespace sim
