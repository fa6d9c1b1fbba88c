// SPDX-License-Identifier: Apache-2.0
// The command `simulate`: what would happen to pods that do not exist yet.
#pragma once

#include "plugin/command/chosen.h"

namespace CLI {
class App;
}

namespace plugin {

void AddSimulate(CLI::App& app, Chosen& chosen);

}  // namespace plugin
