// SPDX-License-Identifier: Apache-2.0
// Spawn(): starts a program in a child process.
//
//   Result<pid_t> pid = Spawn({.argv = {"sh", "-c", "date"}, .output = pipe[1]});
//   if (!pid) return pid.error();
//   int status = 0;
//   ::waitpid(*pid, &status, 0);
//   if (ExitCode(status) != 0) ...
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/error.h"

namespace kube {

struct SpawnOptions {
  // argv[0] is looked up in PATH unless it contains a slash.
  std::vector<std::string> argv;
  // The whole environment as "NAME=value". Defaults to that of this process.
  std::optional<std::vector<std::string>> env;
  // The child's standard streams; -1 inherits. All other descriptors with O_CLOEXEC are closed.
  int input = -1;
  int output = -1;
  int error = -1;
  // Makes the child the leader of a new process group, for signals to it and its own children.
  bool new_group = false;
  // Called in the child before the program, where only async-signal-safe functions may be used (see
  // signal-safety(7)). The program is not started if it returns false.
  std::function<bool()> prepare;
};

// Returns once the program runs, with SIGPIPE at its default. The caller reaps the child.
// Errors: kNotFound (the program cannot be executed), kUnavailable (no process, `prepare` failed).
// Blocks until the program is loaded.
Result<pid_t> Spawn(const SpawnOptions& options);

// The exit code for a status of waitpid(), as a shell counts: 128 plus the signal if there was one.
int ExitCode(int wait_status);

}  // namespace kube
