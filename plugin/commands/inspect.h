// SPDX-License-Identifier: Apache-2.0
// The command `inspect`: what a registry says about images.
#pragma once

#include "plugin/command/chosen.h"

namespace CLI {
class App;
}

namespace plugin {

void AddInspect(CLI::App& app, Chosen& chosen);

}  // namespace plugin
