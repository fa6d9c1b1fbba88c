// SPDX-License-Identifier: Apache-2.0
// The fuzz targets of the warnings about ephemeral containers.
#pragma once

#include <vector>

#include "fuzz/base/fuzz_target.h"

namespace ephemeral {

// Reviews, and the warnings about what they add.
std::vector<fuzz::FuzzTarget> WarningTargets();

}  // namespace ephemeral
