// SPDX-License-Identifier: Apache-2.0
// Makes the plan of a seed. Each seed has some of the operations only (swarm testing: what others
// would hide is seen), and a third of them no faults, so that the checker's strictest rules apply.
#pragma once

#include <cstdint>

#include "sim/driver/plan.h"

namespace sim {

Plan MakePlan(uint64_t seed);

}  // namespace sim
