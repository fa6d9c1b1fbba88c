// SPDX-License-Identifier: Apache-2.0
// Metrics: counters, gauges and histograms in Prometheus' text format. A series exists, at zero,
// from the moment it is added: add all of them at start, so that a rate over "nothing happened yet"
// is 0 and not absent.
//
//   Metrics metrics;
//   Counter& gated = metrics.AddCounter("mto_ppo_wh_pods_gated_total", "The total number of pods
//   gated by the webhook"); gated.Increment();
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kube/base/clock.h"

namespace kube {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

// Upper bounds in seconds, from a millisecond to four seconds; those of the Go operator.
const std::vector<double>& DurationBuckets();

// Observes the time from its making to its end, in seconds.
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
  // the same metric; a name that is none, or of two types, is a bug and ends the process.
  Counter& AddCounter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge& AddGauge(const std::string& name, const std::string& help, const Labels& labels = {});
  Histogram& AddHistogram(const std::string& name, const std::string& help,
                          const std::vector<double>& buckets = DurationBuckets(),
                          const Labels& labels = {});

  // Called at the start of each Render(), for what is a matter of the moment: how long something
  // takes by now.
  void OnRender(std::function<void()> refresh) { refreshes_.push_back(std::move(refresh)); }

  // All of them, and process_* (CPU, memory, open files, start) as any Prometheus client has; text
  // format 0.0.4.
  std::string Render() const;

 private:
  prometheus::Registry registry_;
  std::vector<std::function<void()>> refreshes_;
};

}  // namespace kube
