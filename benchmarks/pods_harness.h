// SPDX-License-Identifier: Apache-2.0
// PodsHarness: the cluster with the operator that the scenarios of `pods` run on, and the
// operations that they have in common.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/load.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/process_cost.h"

namespace benchmarks {

// The namespaces of the scenarios.
inline constexpr const char* kNoGates = "bare";
inline constexpr const char* kOneGate = "one-gate";      // only the cluster gate
inline constexpr const char* kBothGates = "both-gates";  // has a PodPlacementConfig

struct PodsOptions {
  int pods = 0;
  // Concurrent calls.
  int connections = 0;
  // New pods per second in the scenario with a steady rate.
  int rate = 0;
  // Of each scenario.
  std::chrono::seconds timeout{};
};

// By process, such as "cluster webhook" or "etcd". Of several replicas CPU is the sum, and memory
// is that of the largest, because the budget is for one process.
using Costs = std::map<std::string, e2e::ProcessCost>;

class PodsHarness {
 public:
  PodsHarness(e2e::ProcessCluster& cluster, std::unique_ptr<kube::Client> client,
              PodsOptions options)
      : cluster_(cluster), client_(std::move(client)), options_(options) {}

  // Creates the namespaces and configs, and waits until new pods get their gates and lose them.
  kube::Result<> Configure();

  const PodsOptions& options() const { return options_; }
  e2e::ProcessCluster& cluster() { return cluster_; }
  // options().pods pods in `ns`.
  LoadOptions Load(const std::string& ns) const;

  kube::Result<LoadResult> Run(LoadOptions load);
  // Waits until all pods of `ns` are ungated. Returns the time that this took.
  kube::Result<kube::Duration> AwaitUngated(const std::string& ns);
  kube::Result<> DeletePods(const std::string& ns);
  // Waits until the operator's processes are idle: events are sent after pods were ungated.
  kube::Result<> AwaitIdle();

  // Stops all processes of `program` in the namespace `home` and lets no new one start.
  kube::Result<> StopProgram(const std::string& program, const std::string& home);
  // Lets the processes start again, and waits for the first.
  void StartProgram(const std::string& program, const std::string& home);

  // Of the operator's processes.
  Costs OperatorCosts();
  Costs ControlPlaneCosts();

 private:
  kube::Result<> CreateNamespace(const std::string& ns, bool selected);
  kube::Result<> CreateClusterConfig();
  kube::Result<> AwaitGates(const std::string& ns, std::vector<std::string_view> gates);

  e2e::ProcessCluster& cluster_;
  std::unique_ptr<kube::Client> client_;
  PodsOptions options_;
};

}  // namespace benchmarks
