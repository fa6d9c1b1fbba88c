// SPDX-License-Identifier: Apache-2.0
// The flag --output (-o) of a command, with the formats that the command has.
#pragma once

#include <string>
#include <vector>

#include "plugin/command/chosen.h"

namespace CLI {
class App;
}

namespace plugin {

// Besides the one for people, which is the default.
void AddFormats(CLI::App& command, std::vector<std::string> formats, Chosen& chosen);

}  // namespace plugin
