// SPDX-License-Identifier: Apache-2.0
// The command `why`: what keeps a pod, or the pods of a workload, from running; what a
// PodPlacementConfig does.
#pragma once

#include "plugin/command/chosen.h"

namespace CLI {
class App;
}

namespace plugin {

void AddWhy(CLI::App& app, Chosen& chosen);

}  // namespace plugin
