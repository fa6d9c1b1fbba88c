// SPDX-License-Identifier: Apache-2.0
// The scenarios of `pods`. A new scenario is a row of the table in pods_scenarios.cc.
#pragma once

#include <span>

#include "benchmarks/pods_harness.h"
#include "benchmarks/pods_report.h"

namespace benchmarks {

struct Scenario {
  // For --runs; several rows may have one name.
  const char* name;
  // What it measures: the title of its lines in the report.
  const char* title;
  // The namespace of its pods.
  const char* ns;
  // Runs the scenario, reports it and deletes its pods.
  kube::Result<> (*run)(const Scenario& scenario, PodsHarness& harness, PodsReport& report);
  // The program that is down while the pods are created, if any.
  const char* stopped_program = nullptr;
};

// In the order in which they run.
std::span<const Scenario> Scenarios();

}  // namespace benchmarks
