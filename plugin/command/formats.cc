// SPDX-License-Identifier: Apache-2.0
#include "plugin/command/formats.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "kube/base/join.h"

namespace plugin {

void AddFormats(CLI::App& command, std::vector<std::string> formats, Chosen& chosen) {
  chosen.formats[command.get_name()] = formats;
  const std::string names = kube::Join(formats, formats.size());
  command.add_option("-o,--output", chosen.flags.output, "Output: " + names)
      ->check(CLI::IsMember(std::move(formats)))
      ->option_text("FORMAT");
}

}  // namespace plugin
