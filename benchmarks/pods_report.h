// SPDX-License-Identifier: Apache-2.0
// PodsReport: the output of `pods`, on standard output.
#pragma once

#include <string>

#include "benchmarks/pods_harness.h"

namespace benchmarks {

class PodsReport {
 public:
  void Header(const PodsOptions& options);
  // The first rate is the reference for the others ("% of bare").
  void Load(const std::string& title, const LoadOptions& options, const LoadResult& result);
  void Backlog(const std::string& title, int pods, kube::Duration took);
  // CPU from `before` to `after`, divided by `pods`.
  void Cpu(const char* what, Costs before, const Costs& after, int pods);
  void Memory(const std::string& when, const Costs& costs);

 private:
  double bare_per_second_ = 0;
};

}  // namespace benchmarks
