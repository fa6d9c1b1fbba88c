// SPDX-License-Identifier: Apache-2.0
// The command `report`: what could run on another architecture, and what keeps the rest from it.
#pragma once

#include "plugin/command/chosen.h"

namespace CLI {
class App;
}

namespace plugin {

void AddReport(CLI::App& app, Chosen& chosen);

}  // namespace plugin
