// SPDX-License-Identifier: Apache-2.0
// Chosen: what the command line asks for. Each command adds itself to CLI11's parser
// (commands/*.h), and puts what is to be run here.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "plugin/command/tool.h"

namespace plugin {

// Of the process. 1 is for errors, and 2 for a wrong command line.
enum ExitCode : int {
  kSuccess = 0,
  // Something that was asked for could not be read; what could be is printed.
  kIncomplete = 4,
  // What `simulate` was asked about would not be placed as its author wants, or `inspect --deep`
  // has found an image whose program does not start.
  kNotPlaced = 3,
};

struct Chosen {
  ToolFlags flags;
  // By the name of a command: what --output may be.
  std::map<std::string, std::vector<std::string>> formats;
  std::function<kube::Async<ExitCode>(Tool& tool)> run;
};

}  // namespace plugin
