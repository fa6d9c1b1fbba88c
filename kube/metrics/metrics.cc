// SPDX-License-Identifier: Apache-2.0
#include "kube/metrics/metrics.h"

#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "kube/base/task_group.h"

namespace kube {
namespace {

prometheus::MetricFamily Sample(const char* name, const char* help, prometheus::MetricType type,
                                double value) {
  prometheus::MetricFamily family{name, help, type, {}};
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.counter.value = value;
  metric.gauge.value = value;
  return family;
}

// Resident memory in bytes; 0 without a /proc.
double ResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  long size = 0;
  long resident = 0;
  int read = std::fscanf(file, "%ld %ld", &size, &resident);
  std::fclose(file);
  return read == 2 ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

double OpenFiles() {
  std::error_code ec;
  std::filesystem::directory_iterator files("/proc/self/fd", ec);
  return ec ? 0 : static_cast<double>(std::distance(begin(files), end(files)));
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// When this library was loaded, shortly after the start of the process.
const double kStartSeconds =
    std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();

}  // namespace

const std::vector<double>& DurationBuckets() {
  static const std::vector<double> buckets = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3,
                                              0.4,   0.5,   0.6,   0.7,  0.8,  0.9,  1,   2,   4};
  return buckets;
}

Counter& Metrics::AddCounter(const std::string& name, const std::string& help,
                             const Labels& labels) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry_).Add(labels);
}

Gauge& Metrics::AddGauge(const std::string& name, const std::string& help, const Labels& labels) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add(labels);
}

Histogram& Metrics::AddHistogram(const std::string& name, const std::string& help,
                                 const std::vector<double>& buckets, const Labels& labels) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry_).Add(labels,
                                                                                    buckets);
}

void Metrics::AddComputedGauge(std::string name, std::string help, std::function<Series()> series) {
  computed_.push_back({std::move(name), std::move(help), std::move(series)});
}

std::string Metrics::Render() const {
  using prometheus::MetricType;
  for (const auto& refresh : refreshes_) refresh();
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  for (const ComputedGauge& gauge : computed_) {
    prometheus::MetricFamily& family = families.emplace_back();
    family.name = gauge.name;
    family.help = gauge.help;
    family.type = MetricType::Gauge;
    for (const auto& [labels, value] : gauge.series()) {
      prometheus::ClientMetric& metric = family.metric.emplace_back();
      for (const auto& [label, text] : labels) metric.label.push_back({label, text});
      metric.gauge.value = value;
    }
  }
  families.push_back(Sample("process_cpu_seconds_total",
                            "Total user and system CPU time spent in seconds.", MetricType::Counter,
                            CpuSeconds()));
  families.push_back(Sample("process_resident_memory_bytes", "Resident memory size in bytes.",
                            MetricType::Gauge, ResidentBytes()));
  families.push_back(Sample("process_open_fds", "Number of open file descriptors.",
                            MetricType::Gauge, OpenFiles()));
  families.push_back(Sample("process_tasks", "Number of tasks that have not ended.",
                            MetricType::Gauge, static_cast<double>(TaskGroup::Running())));
  families.push_back(Sample("process_start_time_seconds",
                            "Start time of the process since unix epoch in seconds.",
                            MetricType::Gauge, kStartSeconds));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace kube
