// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/pods_scenarios.h"

#include <algorithm>

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using kube::Result;

Result<> Measure(const Scenario& scenario, LoadOptions load, PodsHarness& harness,
                 PodsReport& report) {
  bool bare = load.ns == kNoGates;
  Costs before = harness.OperatorCosts();
  Costs plane_before = harness.ControlPlaneCosts();
  Result<LoadResult> result = harness.Run(load);
  if (!result) return result.error().Prefix(scenario.title);
  report.Load(scenario.title, load, *result);
  report.Cpu("of the control plane", plane_before, harness.ControlPlaneCosts(), load.pods);
  if (!bare) {
    report.Cpu("until the pods are ungated", before, harness.OperatorCosts(), load.pods);
    Result<> idle = harness.AwaitIdle();
    if (!idle) return idle;
    report.Cpu("with all their events", before, harness.OperatorCosts(), load.pods);
    report.Memory("after it", harness.OperatorCosts());
  }
  return harness.DeletePods(load.ns);
}

// As fast as the API server creates pods.
Result<> Burst(const Scenario& scenario, PodsHarness& harness, PodsReport& report) {
  return Measure(scenario, harness.Load(scenario.ns), harness, report);
}

// With one write that removes a gate: the minimum for any controller.
Result<> BurstWithPut(const Scenario& scenario, PodsHarness& harness, PodsReport& report) {
  LoadOptions load = harness.Load(scenario.ns);
  load.own_gate = true;
  return Measure(scenario, load, harness, report);
}

// At a steady rate, for at most 20 s.
Result<> Paced(const Scenario& scenario, PodsHarness& harness, PodsReport& report) {
  LoadOptions load = harness.Load(scenario.ns);
  load.rate = harness.options().rate;
  load.pods = std::min(load.pods, 20 * load.rate);
  return Measure(scenario, load, harness, report);
}

// A controller starts when all pods exist and are gated: its list, queue and cache have their
// largest size.
Result<> Backlog(const Scenario& scenario, PodsHarness& harness, PodsReport& report) {
  std::string program = scenario.stopped_program;
  std::string home = program == "shard" ? scenario.ns : harness.cluster().operator_namespace();
  Result<> stopped = harness.StopProgram(program, home);
  if (!stopped) return stopped;
  LoadOptions load = harness.Load(scenario.ns);
  load.await_ungated = false;
  Result<LoadResult> created = harness.Run(load);
  if (!created) return created.error().Prefix(scenario.title);
  report.Memory("while all pods wait for their " + program, harness.OperatorCosts());

  Costs before = harness.OperatorCosts();
  harness.StartProgram(program, home);
  Result<kube::Duration> took = harness.AwaitUngated(scenario.ns);
  if (!took) return took.error().Prefix(scenario.title);
  report.Backlog(scenario.title, load.pods, *took);
  report.Cpu("until the pods are ungated", before, harness.OperatorCosts(), load.pods);
  Result<> idle = harness.AwaitIdle();
  if (!idle) return idle;
  report.Memory("after it", harness.OperatorCosts());
  return harness.DeletePods(scenario.ns);
}

// The registry accepts connections and does not respond: the controller keeps every pod gated.
Result<> FrozenRegistry(const Scenario& scenario, PodsHarness& harness, PodsReport& report) {
  harness.cluster().test_registry().Freeze();
  LoadOptions load = harness.Load(scenario.ns);
  load.await_ungated = false;
  load.image = harness.cluster().Image("demo/multi:frozen");
  Result<LoadResult> created = harness.Run(load);
  if (!created) return created.error().Prefix(scenario.title);
  harness.cluster().Pause(1s);
  report.Memory("while all pods wait for a registry", harness.OperatorCosts());
  Result<> deleted = harness.DeletePods(scenario.ns);
  harness.cluster().test_registry().Thaw();
  return deleted;
}

// Bare writes come first and last: the difference between them is the machine's.
constexpr Scenario kScenarios[] = {
    {"bare", "bare: create", kNoGates, Burst},
    {"bare", "bare: create, and a PUT that drops a gate", kNoGates, BurstWithPut},
    {"one", "one gate", kOneGate, Burst},
    {"both", "both gates", kBothGates, Burst},
    {"paced", "both gates, paced", kBothGates, Paced},
    {"backlog", "one gate, a backlog of all pods", kOneGate, Backlog, "cluster-controller"},
    {"backlog", "both gates, a backlog of all pods", kBothGates, Backlog, "shard"},
    {"waiting", "a frozen registry", kOneGate, FrozenRegistry},
    {"bare", "bare: create, again", kNoGates, Burst},
};

}  // namespace

std::span<const Scenario> Scenarios() { return kScenarios; }

}  // namespace benchmarks
