// SPDX-License-Identifier: Apache-2.0
// Measurement: what one run of a scenario measured, and the file with all of them, which report.py
// reads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cost.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/types/unstructured.h"

namespace benchmarks {

// By process, such as "cluster webhook" or "kube-apiserver". With several replicas, CPU is the sum,
// and memory is that of the largest process, because the budget is for one process.
using Costs = std::map<std::string, e2e::ProcessCost>;

// Quantiles of times.
struct Times {
  double p50_ms = 0;
  double p99_ms = 0;

  static Times Of(const std::vector<kube::Duration>& sorted);
};

// The cost per second of a program with nothing to do, all replicas together.
struct AtRest {
  double cpu_ms = 0;
  double wakeups = 0;
};

struct Measurement {
  int pods = 0;
  double seconds = 0;
  // Without the start of a program that the scenario starts.
  double pods_per_second = 0;
  // The time until a pod is ungated: from its create call, and from the response to that call.
  std::optional<Times> from_call;
  std::optional<Times> from_response;
  // CPU ms a pod: of the control plane until all pods are ungated, and with their events; of the
  // operator's programs with all their events.
  std::map<std::string, double> plane_cpu_ms;
  std::map<std::string, double> plane_cpu_ms_with_events;
  std::map<std::string, double> cpu_ms;
  // The memory of the operator's programs, by the moment of the measurement.
  std::map<std::string, Costs> memory;
  // Events that the pods should have, those that exist, and the time from the last ungated pod
  // until no more came.
  int events_expected = 0;
  int events = 0;
  double events_seconds = 0;

  std::map<std::string, AtRest> at_rest;
  // At rest, per minute: by ServiceAccount, then by "verb resource".
  std::map<std::string, std::map<std::string, double>> requests;

  kube::Json ToJson() const;
};

// CPU ms from `before` to `after`, divided by `pods`.
std::map<std::string, double> CpuPerPod(const Costs& before, const Costs& after, int pods);

// Writes each measurement at once to a JSON file, and a line about it to standard error.
class Results {
 public:
  // `about` describes the run: the machine, the date, the options.
  Results(std::string path, kube::Json about);

  // `where` is what identifies the measurement: scenario, gating, round.
  kube::Result<> Add(kube::Json where, const Measurement& measurement);
  // The same for a program with measurements of its own.
  kube::Result<> Add(kube::Json entry);

 private:
  // The time since the start, and what is not a title.
  std::string LineOf(const kube::Json& where) const;
  kube::Result<> Write(kube::Json entry);

  std::string path_;
  kube::Json json_;
  kube::TimePoint start_;
};

// The processor, memory, kernel and time of this machine.
kube::Json AboutThisMachine();

}  // namespace benchmarks
