// SPDX-License-Identifier: Apache-2.0
// The scenarios of `pods`. A new scenario is a row of the table in scenarios.cc.
#pragma once

#include <span>
#include <vector>

#include "benchmarks/measurement.h"
#include "benchmarks/pods_harness.h"

namespace benchmarks {

enum class Suite {
  kRounds,  // in each round, with each gating
  kOnce,    // once
  kRest,    // once, with nothing to do
  kGrowth,  // once for each point: how cost grows
};

// One run of a scenario.
struct Run {
  PodsHarness& harness;
  // 1: the cluster gate, 2: both.
  int gates;
  // Without the operator: the benchmark itself adds and removes the gates...
  bool floor;
  // ... or there are none: pods are only created.
  bool bare = false;
  // This point of the scenario, and the previous one; 0 if there is none.
  int point = 0;
  int previous = 0;
};

struct Scenario {
  // For --scenarios; with `gates` it identifies the scenario's measurements.
  const char* name;
  int gates;
  Suite suite;
  // Runs the scenario and deletes its pods.
  kube::Result<Measurement> (*run)(const Run& run);
  // Whether the same is measured without the operator, too.
  bool with_floor = false;
  // Ascending.
  std::vector<int> points = {};
  // Whether it is about how long pods take until they are ungated, gated or not.
  bool with_known_images = false;
};

// In the order in which they run.
std::span<const Scenario> Scenarios();

}  // namespace benchmarks
