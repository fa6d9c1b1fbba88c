// SPDX-License-Identifier: Apache-2.0
// The fuzz targets of exec-format.
#pragma once

#include <vector>

#include "fuzz/base/fuzz_target.h"

namespace exec_format {

// Files, layers, and the documents of images that name them.
std::vector<fuzz::FuzzTarget> ExecFormatTargets();

}  // namespace exec_format
