// SPDX-License-Identifier: Apache-2.0
// TestRegistry: Debian's docker-registry as a child process, with the demo images of
// e2e/cluster/images/push_demo.py.
#pragma once

#include <csignal>
#include <memory>
#include <string>

#include "e2e/cluster_harness/child_process.h"

namespace e2e {

class TestRegistry {
 public:
  // Starts the registry, waits until it responds, and pushes the images. Blocks. kNotFound if
  // docker-registry is not installed.
  static kube::Result<std::unique_ptr<TestRegistry>> Start(const std::string& folder);

  // host:port, plain HTTP, no credentials.
  static std::string address() { return "10.250.255.253:5000"; }

  // Freeze(): connections stay open, and no request is answered.
  void Freeze() { process_->Signal(SIGSTOP); }
  void Thaw() { process_->Signal(SIGCONT); }

 private:
  explicit TestRegistry(std::unique_ptr<ChildProcess> process) : process_(std::move(process)) {}

  std::unique_ptr<ChildProcess> process_;
};

}  // namespace e2e
