// SPDX-License-Identifier: Apache-2.0
// Small random fleets and Placements that mix all features of scheduling.
#pragma once

#include <cstdint>

#include "fleet/scheduling/testing/world.h"

namespace fleet {

// The same world for the same seed.
World RandomWorld(uint32_t seed);

}  // namespace fleet
