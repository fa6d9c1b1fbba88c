// SPDX-License-Identifier: Apache-2.0
// KernelWatch: tells of each execve() that returns ENOEXEC on this node, within the bounds of
// exec_errors.bpf.c: a cgroup, and the node, report so many in ten seconds, and the rest is
// counted.
//
// Needs CAP_BPF and CAP_PERFMON, a kernel of 5.8 or newer with BTF, and no lockdown that keeps BPF
// programs from reading kernel memory. Thread: the executor's.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "exec-format/monitor/kernel/exec_error.h"
#include "kube/base/async.h"
#include "kube/base/error.h"

namespace exec_format {

class KernelWatch {
 public:
  using Listener = std::function<void(ExecError)>;

  // How many were not told of, since the start.
  struct Losses {
    uint64_t of_cgroup = 0;  // their cgroup had told of its share
    uint64_t of_node = 0;    // the node had
    uint64_t full = 0;       // they came quicker than they were read
  };

  // Loads the program into the kernel, for as long as the result lives. Errors: kUnavailable, whose
  // message says what the kernel lacks, or kPermissionDenied.
  static kube::Result<std::unique_ptr<KernelWatch>> New(kube::Executor executor);
  virtual ~KernelWatch() = default;

  // Calls `listener` with what is recorded, until cancelled. Errors: kCancelled, kInternal.
  virtual kube::Async<> Run(Listener listener) = 0;
  virtual Losses losses() const = 0;
};

}  // namespace exec_format
