// SPDX-License-Identifier: Apache-2.0
// A command run beside the event loop, bounded in time and output.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

struct Command {
  // argv[0] is looked up in PATH unless it has a "/".
  std::vector<std::string> argv;
  // Beside our own environment.
  std::vector<std::pair<std::string, std::string>> env;
  // On its standard input.
  std::string input;
  std::chrono::milliseconds timeout{30'000};
  size_t max_output = 1024 * 1024;
};

// What it printed, if it ended with code 0. Its standard error is ours. However this ends,
// the command and the process group it leads have ended before.
// Errors: kNotFound (no such command), kUnavailable (it failed), kInvalid (printed too much),
// kDeadlineExceeded, kCancelled.
Async<std::string> RunCommand(Command command);

}  // namespace kube
