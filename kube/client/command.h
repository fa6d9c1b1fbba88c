// SPDX-License-Identifier: Apache-2.0
// RunCommand(): runs a command without blocking the event loop, bounded in time and output.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

struct Command {
  // argv[0] is looked up in PATH unless it contains a slash.
  std::vector<std::string> argv;
  // Added to this process's environment.
  std::vector<std::pair<std::string, std::string>> env;
  // Variables of this process whose names begin with one of these are not inherited.
  std::vector<std::string> hidden_prefixes = {};
  // Written to its standard input.
  std::string input;
  std::chrono::milliseconds timeout{30'000};
  size_t max_output = 1024 * 1024;
};

// Returns the command's standard output after exit code 0; its standard error goes to this
// process's. The command and its process group have ended when this returns, in every case. Errors:
// kNotFound (no such command), kUnavailable (another exit code or a signal), kInvalid (output too
// large), kDeadlineExceeded, kCancelled.
Async<std::string> RunCommand(Command command);

}  // namespace kube
