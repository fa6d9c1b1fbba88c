// SPDX-License-Identifier: Apache-2.0
// The fuzz targets of scheduling policies.
#pragma once

#include <vector>

#include "fuzz/base/fuzz_target.h"

namespace policy {

// Policies, and reviews of the objects that they change.
std::vector<fuzz::FuzzTarget> PolicyTargets();

}  // namespace policy
