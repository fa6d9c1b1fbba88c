// SPDX-License-Identifier: Apache-2.0
// ProcessCost: CPU time and memory of a process of this machine, as counted by the kernel.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "kube/base/error.h"

namespace e2e {

struct ProcessCost {
  std::chrono::nanoseconds cpu{};     // user and system, all running threads
  std::chrono::nanoseconds system{};  // part of `cpu` in the kernel; resolution 10 ms
  long wakeups = 0;                   // times that a thread has waited, all running threads
  long rss_kb = 0;                    // shared pages included
  long own_rss_kb = 0;                // part of `rss_kb` that is not file-backed
  long peak_rss_kb = 0;               // since the start
};

// Errors: kNotFound if the process does not exist.
kube::Result<ProcessCost> CostOf(pid_t pid);

}  // namespace e2e
