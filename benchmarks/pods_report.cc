// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/pods_report.h"

#include <cstdio>

namespace benchmarks {
namespace {

double Millis(kube::Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}
double Seconds(kube::Duration time) { return std::chrono::duration<double>(time).count(); }

// `share` between 0 and 1 of the sorted `times`.
double Percentile(const std::vector<kube::Duration>& times, double share) {
  if (times.empty()) return 0;
  return Millis(times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))]);
}

}  // namespace

void PodsReport::Header(const PodsOptions& options) {
  std::printf("%d pods a run, %d calls at a time\n", options.pods, options.connections);
}

void PodsReport::Load(const std::string& title, const LoadOptions& options,
                      const LoadResult& result) {
  double per_second = options.pods / Seconds(result.ungated);
  if (bare_per_second_ == 0) bare_per_second_ = per_second;
  std::printf("%-45s", title.c_str());
  if (options.rate == 0) {
    std::printf("  %5.0f pods/s  %3.0f %% of bare", per_second,
                per_second / bare_per_second_ * 100);
  } else {
    std::printf("  %5d pods/s              ", options.rate);
  }
  std::printf("   ungated after p50 %.1f ms, p99 %.1f ms\n", Percentile(result.waits, 0.5),
              Percentile(result.waits, 0.99));
}

void PodsReport::Backlog(const std::string& title, int pods, kube::Duration took) {
  std::printf("%-45s  %5.0f pods/s, its start included\n", title.c_str(), pods / Seconds(took));
}

void PodsReport::Cpu(const char* what, Costs before, const Costs& after, int pods) {
  std::printf("  CPU %-41s", what);
  for (const auto& [name, cost] : after) {
    std::printf("  %s %.3f (%.3f)", name.c_str(), Millis(cost.cpu - before[name].cpu) / pods,
                Millis(cost.system - before[name].system) / pods);
  }
  std::printf("  ms a pod (of it in the kernel)\n");
  std::fflush(stdout);
}

void PodsReport::Memory(const std::string& when, const Costs& costs) {
  std::printf("  memory %-38s", when.c_str());
  for (const auto& [name, cost] : costs) {
    std::printf("  %s %.1f (peak %.1f)", name.c_str(), static_cast<double>(cost.rss_kb) / 1024,
                static_cast<double>(cost.peak_rss_kb) / 1024);
  }
  std::printf("  MiB\n");
  std::fflush(stdout);
}

}  // namespace benchmarks
