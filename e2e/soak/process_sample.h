// SPDX-License-Identifier: Apache-2.0
// What a sample of a process consists of: what the kernel knows, and what its metrics say.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace e2e {

struct KernelSample {
  long rss_kb = 0;     // without pages of files
  long fds = 0;        // open descriptors
  long log_bytes = 0;  // the size of its log
};

// Errors: kNotFound if the process has ended.
kube::Result<KernelSample> ReadKernelSample(pid_t pid, const std::string& log_file);

// The sum of all series of a metric in Prometheus's text format; nullopt if it has none.
std::optional<double> SumOfMetric(std::string_view text, std::string_view name);

}  // namespace e2e
