// SPDX-License-Identifier: Apache-2.0
// ProcessCost: what a process of this machine has cost so far, as the kernel counts it.
#pragma once

#include <sys/types.h>

#include <chrono>

#include "kube/base/error.h"

namespace e2e {

struct ProcessCost {
  std::chrono::nanoseconds cpu{};     // user and system, all threads that still live
  std::chrono::nanoseconds system{};  // of it in the kernel; known to 10 ms
  long rss_kb = 0;                    // shared pages included
  long own_rss_kb = 0;                // of it in no file
  long peak_rss_kb = 0;               // since the start
};

// kNotFound if there is no such process (any more).
kube::Result<ProcessCost> CostOf(pid_t pid);

}  // namespace e2e
