// SPDX-License-Identifier: Apache-2.0
// Metrics: counters, gauges and histograms in Prometheus' text format. A series exists, at zero,
// from the moment it is added. Add all series at startup: then rate() of a counter is 0 before its
// first event, not absent.
//
//   Metrics metrics;
//   Counter& accepted = metrics.AddCounter("requests_accepted_total", "Accepted requests");
//   accepted.Increment();
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/clock.h"

namespace kube {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

// Upper bounds in seconds, from 1 ms to 4 s.
const std::vector<double>& DurationBuckets();

// Observes its own lifetime, in seconds.
class Stopwatch {
 public:
  Stopwatch(Histogram& histogram, Clock& clock)
      : histogram_(histogram), clock_(clock), start_(clock.Now()) {}
  ~Stopwatch() { histogram_.Observe(std::chrono::duration<double>(clock_.Now() - start_).count()); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Histogram& histogram_;
  Clock& clock_;
  TimePoint start_;
};

class Metrics {
 public:
  using Labels = std::map<std::string, std::string>;

  // The returned metric lives as long as this object. Adding the same name and labels again returns
  // the same metric. An invalid name, or one name with two types, is a bug and ends the process.
  Counter& AddCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge& AddGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  Histogram& AddHistogram(const std::string& name, const std::string& help,
                          const std::vector<double>& buckets = DurationBuckets(),
                          const Labels& labels = {});

  // `refresh` is called at the start of each Render(), to set gauges that depend on the current
  // time.
  void OnRender(std::function<void()> refresh) { refreshes_.push_back(std::move(refresh)); }

  // A gauge with the series that `series` returns at each Render(), for labels that come and go.
  // `series` must be valid as long as this object; labels are not checked.
  using Series = std::vector<std::pair<Labels, double>>;
  void AddComputedGauge(std::string name, std::string help, std::function<Series()> series);

  // All metrics, and the usual process_* ones (CPU, memory, open files, start time); text format
  // 0.0.4.
  std::string Render() const;

 private:
  struct ComputedGauge {
    std::string name;
    std::string help;
    std::function<Series()> series;
  };

  prometheus::Registry registry_;
  std::vector<ComputedGauge> computed_;
  std::vector<std::function<void()>> refreshes_;
};

}  // namespace kube
