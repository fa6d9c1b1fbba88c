// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/process_sample.h"

#include <cstdlib>
#include <filesystem>

#include "e2e/cluster_harness/process_cost.h"

namespace e2e {

using kube::Error;
using kube::Result;

namespace {

Result<long> CountDescriptors(pid_t pid) {
  std::error_code ec;
  std::filesystem::directory_iterator entries("/proc/" + std::to_string(pid) + "/fd", ec);
  long count = 0;
  for (std::filesystem::directory_iterator end; !ec && entries != end; entries.increment(ec))
    ++count;
  if (ec) return Error::NotFound("descriptors of " + std::to_string(pid) + ": " + ec.message());
  return count;
}

}  // namespace

Result<KernelSample> ReadKernelSample(pid_t pid, const std::string& log_file) {
  Result<long> fds = CountDescriptors(pid);
  if (!fds) return fds.error();
  Result<ProcessCost> cost = CostOf(pid);
  if (!cost) return cost.error();
  // A process that has ended and was not awaited has no memory.
  if (cost->own_rss_kb == 0) return Error::NotFound("process " + std::to_string(pid) + " ended");
  std::error_code ec;
  auto size = std::filesystem::file_size(log_file, ec);
  return KernelSample{
      .rss_kb = cost->own_rss_kb, .fds = *fds, .log_bytes = ec ? 0 : static_cast<long>(size)};
}

std::optional<double> SumOfMetric(std::string_view text, std::string_view name) {
  std::optional<double> sum;
  while (!text.empty()) {
    std::string line(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(name) || line.find_first_of("{ ") != name.size()) continue;
    sum = sum.value_or(0) + std::strtod(line.c_str() + line.rfind(' '), nullptr);
  }
  return sum;
}

}  // namespace e2e
