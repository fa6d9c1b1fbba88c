// SPDX-License-Identifier: Apache-2.0
// The fuzz targets of image facts.
#pragma once

#include <vector>

#include "fuzz/base/fuzz_target.h"

namespace image_facts {

// ImageFacts objects, files of `facts export`, reports of webhooks, and pods that are placed.
std::vector<fuzz::FuzzTarget> FactTargets();

}  // namespace image_facts
