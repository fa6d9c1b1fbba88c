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
#include "benchmarks/measurement.h"
#include "benchmarks/registry_process.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/process_cost.h"

namespace benchmarks {

// The namespaces of the scenarios.
inline constexpr const char* kNoGates = "bare";
inline constexpr const char* kOneGate = "one-gate";      // only the cluster gate
inline constexpr const char* kBothGates = "both-gates";  // has a PodPlacementConfig

// For SwitchTo(): gating by webhook or policy, with knownImages: PlaceAtCreation.
inline constexpr const char* kKnownImages = "Known";
inline constexpr const char* kKnownImagesByPolicy = "KnownByPolicy";

inline bool PlacesKnownImages(std::string_view gating) {
  return gating == kKnownImages || gating == kKnownImagesByPolicy;
}

struct PodsOptions {
  int pods = 0;
  // Concurrent calls.
  int connections = 0;
  // New pods per second in the scenarios with a steady rate, and for how long.
  int rate = 0;
  std::chrono::seconds steady{};
  // How long the processes are observed with nothing to do.
  std::chrono::seconds rest{};
  // Pods that wait for a registry that does not respond.
  int waiting_pods = 0;
  // Timeout for each scenario.
  std::chrono::seconds timeout{};
};

class PodsHarness {
 public:
  PodsHarness(e2e::ProcessCluster& cluster, std::unique_ptr<kube::Client> client,
              PodsOptions options)
      : cluster_(cluster), client_(std::move(client)), options_(options) {}

  // Creates the namespaces and configs, and waits until new pods get their gates and lose them.
  kube::Result<> Configure();
  // Sets spec.gating to `gating`, or see PlacesKnownImages(), and waits until new pods are gated
  // so, and nothing of another kind is left.
  kube::Result<> SwitchTo(const std::string& gating);
  // The gating in use.
  const std::string& gating() const { return gating_; }

  const PodsOptions& options() const { return options_; }
  e2e::ProcessCluster& cluster() { return cluster_; }
  // options().pods pods in `ns`.
  LoadOptions Load(const std::string& ns) const;
  // Registries with kImagesOfRegistry images each. The slow one answers after 100 ms.
  const RegistryProcess& fast_registry() const { return *fast_registry_; }
  const RegistryProcess& slow_registry() const { return *slow_registry_; }

  kube::Result<LoadResult> Run(LoadOptions load);
  // Removes the gates of the benchmark. Returns the time that this took.
  kube::Result<kube::Duration> RemoveOwnGates(LoadOptions load);
  // Waits until all pods of `ns` are ungated.
  kube::Result<Ungated> AwaitUngated(const std::string& ns);
  kube::Result<> DeletePods(const std::vector<std::string>& namespaces);
  // Waits until the operator's processes are idle.
  kube::Result<> AwaitIdle();

  // How many events one pod with so many gates has.
  int EventsPerPod(int gates) const { return events_per_pod_[gates]; }
  // The events of `ns`, or of all namespaces if it is empty.
  kube::Result<int> CountEvents(const std::string& ns);

  // Creates the namespaces `prefix`0, `prefix`1, ..., up to `count`, and waits until they are
  // usable. Those that exist stay. Returns their names.
  kube::Result<std::vector<std::string>> CreateNamespaces(const std::string& prefix, int count);
  // Creates the configs, and waits until all configs in the cluster are available.
  kube::Result<> CreateConfigs(const std::vector<kube::Json>& configs);
  // Waits until a new pod of `ns` gets all gates, but not the cluster gate with kKnownImages, and
  // is ungated.
  kube::Result<> AwaitGates(const std::string& ns, int gates);

  // Stops all processes of `program` in the namespace `home` and lets no new one start.
  kube::Result<> StopProgram(const std::string& program, const std::string& home);
  // Lets the processes start again, and waits for the first.
  void StartProgram(const std::string& program, const std::string& home);

  // Costs of the operator's processes.
  Costs OperatorCosts();
  // Costs of the control plane; "load" is this process.
  Costs ControlPlaneCosts();

 private:
  kube::Result<> CreateNamespace(const std::string& ns, bool selected);
  kube::Result<> AwaitServiceAccount(const std::string& ns);
  kube::Result<> CreateClusterConfig();
  kube::Result<> CreateProbe(const std::string& ns, std::string& gates);
  kube::Result<int> CountEventsOfOnePod(const std::string& ns);
  // Sets events_per_pod_.
  kube::Result<> CountEventsOfPods();
  // By process: the name of its program and its cost.
  std::map<pid_t, std::pair<std::string, e2e::ProcessCost>> OperatorProcesses();
  kube::Result<bool> IsEmpty(kube::Resource resource);

  e2e::ProcessCluster& cluster_;
  std::unique_ptr<kube::Client> client_;
  PodsOptions options_;
  std::string gating_;
  std::unique_ptr<RegistryProcess> fast_registry_;
  std::unique_ptr<RegistryProcess> slow_registry_;
  int events_per_pod_[3] = {};
};

}  // namespace benchmarks
