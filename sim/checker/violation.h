// SPDX-License-Identifier: Apache-2.0
// Violation: what the checker found. A value, never an assertion: a run has all of them, and
// shrinking compares them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/checker/commit.h"

namespace sim::checker {

struct Violation {
  // "I1" to "I8", or a rule of the documents without a number: "inspection", "rest", "events".
  std::string rule;
  // "pods ns/name"
  std::string object;
  // What is wrong, with the values that show it.
  std::string text;
  // The version of the commit that shows it; 0: the end of the run.
  uint64_t commit = 0;
  Time at{};

  bool operator==(const Violation&) const = default;
};

using Violations = std::vector<Violation>;

// "I2 pods shop/web at 12.345 s, version 17: ..."
std::string Describe(const Violation& violation);

// A violation that `commit` shows.
Violation At(const Commit& commit, std::string rule, std::string text);

}  // namespace sim::checker
