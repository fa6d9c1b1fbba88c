// SPDX-License-Identifier: Apache-2.0
// CommandLine: the words of a command line as kubectl has it, with flags before, between and after
// them, and short flags. The flags are those of gflags.
//
//   kubectl-placement why pod web-0 -n shop -o json
//     words: why pod web-0    flags: kubectl-placement --namespace=shop --output=json
#pragma once

#include <list>
#include <string>
#include <vector>

namespace plugin {

struct CommandLine {
  std::vector<std::string> words;
  // argv for gflags, which ends with a nullptr. It refers to `texts`.
  std::vector<char*> flags;
  std::list<std::string> texts;
};

// A flag that takes a value has it after "=", or as the next argument.
CommandLine ParseCommandLine(int argc, char** argv);

}  // namespace plugin
