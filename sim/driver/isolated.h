// SPDX-License-Identifier: Apache-2.0
// Plays plans in child processes: a run that ends its process, or does not end, is a violation like
// others, and its memory is given back.
//
//   Isolated run(plan);              // begins
//   Outcome outcome = run.Wait();
#pragma once

#include <sys/types.h>

#include <chrono>

#include "sim/driver/outcome.h"
#include "sim/driver/plan.h"

namespace sim {

class Isolated {
 public:
  // The longest time of a run, by the real clock.
  static constexpr std::chrono::seconds kLongest{300};

  explicit Isolated(const Plan& plan);
  Isolated(const Isolated&) = delete;
  Isolated& operator=(const Isolated&) = delete;
  ~Isolated();

  // Once. A run without an outcome has a violation of the rule "crash", or "time".
  Outcome Wait();

 private:
  pid_t child_;
  int output_;
};

Outcome PlayIsolated(const Plan& plan);

}  // namespace sim
