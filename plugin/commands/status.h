// SPDX-License-Identifier: Apache-2.0
// The command `status`: how the operator is, and which pods wait.
#pragma once

#include "plugin/command/chosen.h"

namespace CLI {
class App;
}

namespace plugin {

void AddStatus(CLI::App& app, Chosen& chosen);

}  // namespace plugin
