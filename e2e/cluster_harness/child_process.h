// SPDX-License-Identifier: Apache-2.0
// ChildProcess: a program that this process starts and that never outlives it.
//
//   auto etcd = ChildProcess::Start(
//       {.path = assets + "/etcd", .args = {"--data-dir", dir}, .log_file = dir + "/log"});
//   if (!etcd) return etcd.error();
//   (*etcd)->Signal(SIGTERM);
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/error.h"

namespace e2e {

struct ProcessSpec {
  // Looked up in PATH unless it has a slash.
  std::string path;
  std::vector<std::string> args;
  // The environment, in addition to PATH, HOME and the options of sanitizers.
  std::map<std::string, std::string> env;
  // Standard output and error are appended to this file; /dev/null if empty.
  std::string log_file;
  // The cgroup.procs of a cgroup that the program joins before exec; none if empty.
  std::string cgroup;
  // RLIMIT_DATA; none if 0.
  int64_t data_bytes = 0;
};

class ChildProcess {
 public:
  // Errors: kNotFound (no such program), kUnavailable.
  static kube::Result<std::unique_ptr<ChildProcess>> Start(const ProcessSpec& spec);

  // Kills the program and waits for its end.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  // No effect once it has ended.
  void Signal(int signal);
  // The exit status, or 128 plus the signal that ended it; nullopt while it runs.
  std::optional<int> ExitStatus();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  std::optional<int> status_;
};

struct Finished {
  int status = 0;
  std::string output;  // standard output and error
};

// Runs a program to its end and reads its output. kDeadlineExceeded, with the output so far, after
// `limit`. Blocks.
kube::Result<Finished> RunToEnd(const ProcessSpec& spec,
                                std::chrono::milliseconds limit = std::chrono::seconds(60));

// The last `bytes` of a file; empty if it cannot be read.
std::string TailOfFile(const std::string& path, size_t bytes = 4000);

}  // namespace e2e
