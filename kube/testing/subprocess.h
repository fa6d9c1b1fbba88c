// SPDX-License-Identifier: Apache-2.0
// Subprocess: runs a binary of the runfiles in a test: arguments in; output, signals and exit code
// out.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace kube {

class Subprocess {
 public:
  // Starts `program`, a path in the runfiles ("examples/namespace_labeler/namespace_labeler").
  // Fails the test if it cannot be started.
  Subprocess(const std::string& program, std::vector<std::string> arguments);
  // Kills the process if it still runs.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }
  // Everything on stdout and stderr so far, together.
  const std::string& output() const { return output_; }

  void Signal(int signal);
  // Reads the output until it contains `text`; false at the end of the output or after a minute.
  bool WaitForOutput(const std::string& text);
  // Reads the rest of the output and returns the exit code, or 128 + signal as a shell does. Kills
  // it after a minute.
  int Wait();

 private:
  // False at the end of the output or of the time.
  bool ReadSome();

  pid_t pid_ = -1;
  int pipe_ = -1;
  std::string output_;
};

}  // namespace kube
