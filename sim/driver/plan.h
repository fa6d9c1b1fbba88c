// SPDX-License-Identifier: Apache-2.0
// Plan: what happens in one run, as data: operations of users and faults, at their times. With its
// seed, which chooses everything else, it gives the same run each time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/base/clock.h"
#include "kube/types/unstructured.h"

namespace sim {

struct Step {
  // Since the start of the run, in milliseconds' steps.
  kube::Duration at{};
  // operations.h: its name, and its parameters.
  std::string operation;
  kube::Json with = kube::Json::object();

  bool operator==(const Step&) const = default;
};

struct Plan {
  // Of the world: the order of processes, delays, which calls fail.
  uint64_t seed = 0;
  // Replicas of the operator.
  int operators = 2;
  // All faults end after it.
  kube::Duration length{};
  // In the order of their times.
  std::vector<Step> steps;

  bool operator==(const Plan&) const = default;
};

}  // namespace sim
