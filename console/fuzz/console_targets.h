// SPDX-License-Identifier: Apache-2.0
// The fuzz targets of the console.
#pragma once

#include <vector>

#include "fuzz/base/fuzz_target.h"

namespace console {

// The query of a request.
std::vector<fuzz::FuzzTarget> ConsoleTargets();

}  // namespace console
