// SPDX-License-Identifier: Apache-2.0
// The fuzz targets of the plugin.
#pragma once

#include <vector>

#include "fuzz/base/fuzz_target.h"

namespace plugin {

// Manifests and tags of registries, pods with the events of others, and files of manifests.
std::vector<fuzz::FuzzTarget> PluginTargets();

}  // namespace plugin
