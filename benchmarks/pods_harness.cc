// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/pods_harness.h"

#include "api/names.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"

namespace benchmarks {

using namespace std::chrono_literals;
using e2e::CostOf;
using e2e::Json;
using e2e::ProcessCost;
using kube::Error;
using kube::Ok;
using kube::Result;

namespace {

constexpr char kSelected[] = "pod-placement-benchmark";
constexpr char kRegistries[] = "benchmark-registries";
constexpr char kImage[] = "demo/multi:1";

}  // namespace

Result<> PodsHarness::Configure() {
  for (const char* ns : {kNoGates, kOneGate, kBothGates}) {
    Result<> created = CreateNamespace(ns, std::string(ns) != kNoGates);
    if (!created) return created.error().Prefix("create a namespace");
  }
  Result<> configured = CreateClusterConfig();
  if (!configured) return configured.error().Prefix("ClusterPodPlacementConfig");
  Result<> gated = AwaitGates(kOneGate, {api::kClusterGate});
  if (!gated) return gated;
  Json config = e2e::MakeConfig("arm64-first")
                    .Namespace(kBothGates)
                    .Prefer("arm64", 75)
                    .Prefer("amd64", 25)
                    .Build();
  auto created =
      cluster_.Run(kube::CreateObject(*client_, e2e::kConfigs, kube::Unstructured(config)));
  if (!created) return created.error().Prefix("PodPlacementConfig");
  gated = AwaitGates(kBothGates, {api::kClusterGate, api::kLocalGate});
  if (gated) cluster_.Pause(2s);
  return gated;
}

LoadOptions PodsHarness::Load(const std::string& ns) const {
  return {.ns = ns,
          .pods = options_.pods,
          .image = cluster_.Image(kImage),
          .connections = options_.connections,
          .timeout = options_.timeout};
}

Result<LoadResult> PodsHarness::Run(LoadOptions load) {
  return cluster_.Run(RunLoad(*client_, cluster_.clock(), std::move(load)));
}

Result<kube::Duration> PodsHarness::AwaitUngated(const std::string& ns) {
  return cluster_.Run(benchmarks::AwaitUngated(*client_, cluster_.clock(), ns, options_.timeout));
}

Result<> PodsHarness::DeletePods(const std::string& ns) {
  return cluster_.Run(benchmarks::DeletePods(*client_, cluster_.clock(), ns));
}

Result<> PodsHarness::AwaitIdle() {
  for (auto deadline = cluster_.clock().Now() + options_.timeout;;) {
    Costs before = OperatorCosts();
    cluster_.Pause(500ms);
    std::chrono::nanoseconds busiest{};
    for (const auto& [name, cost] : OperatorCosts())
      busiest = std::max(busiest, cost.cpu - before[name].cpu);
    if (busiest < 5ms) return Ok();
    if (cluster_.clock().Now() > deadline)
      return Error::DeadlineExceeded("the operator's processes do not become idle");
  }
}

Result<> PodsHarness::StopProgram(const std::string& program, const std::string& home) {
  cluster_.kubelet().FailImagePulls(program, home, true);
  std::string pods = e2e::kPods.Path(home);
  kube::AddQuery(pods, "labelSelector", std::string(api::kOperandLabel) + "=" + program);
  kube::ApiRequest remove{.method = kube::Method::kDelete, .target = pods};
  auto removed = cluster_.Run(client_->Call(remove));
  if (!removed) return removed.error();
  for (auto deadline = cluster_.clock().Now() + 60s;
       !cluster_.kubelet().OfProgram(program, home).empty();) {
    if (cluster_.clock().Now() > deadline)
      return Error::DeadlineExceeded("the " + program + " does not stop");
    cluster_.Pause(100ms);
  }
  return Ok();
}

void PodsHarness::StartProgram(const std::string& program, const std::string& home) {
  cluster_.kubelet().FailImagePulls(program, home, false);
  while (cluster_.kubelet().OfProgram(program, home).empty()) cluster_.Pause(10ms);
}

Costs PodsHarness::OperatorCosts() {
  Costs costs;
  for (const char* program : {"operator", "webhook", "shard", "cluster-controller"}) {
    for (e2e::PodProcess* process : cluster_.kubelet().OfProgram(program, "")) {
      auto pid = process->pid();
      if (!pid) continue;
      Result<ProcessCost> cost = CostOf(*pid);
      if (!cost) continue;
      std::string name = program;
      if (name == "webhook")
        name = process->ns() == cluster_.operator_namespace() ? "cluster webhook" : "local webhook";
      ProcessCost& sum = costs[name];
      sum.cpu += cost->cpu;
      sum.system += cost->system;
      sum.rss_kb = std::max(sum.rss_kb, cost->rss_kb);
      sum.peak_rss_kb = std::max(sum.peak_rss_kb, cost->peak_rss_kb);
    }
  }
  return costs;
}

Costs PodsHarness::ControlPlaneCosts() {
  Costs costs;
  for (const auto& [name, pid] : cluster_.control_plane().Pids()) {
    Result<ProcessCost> cost = CostOf(pid);
    if (cost) costs[name] = *cost;
  }
  return costs;
}

Result<> PodsHarness::CreateNamespace(const std::string& ns, bool selected) {
  Json object = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns}}}};
  if (selected) object["metadata"]["labels"] = {{kSelected, "true"}};
  auto created = cluster_.Run(
      kube::CreateObject(*client_, e2e::kNamespaces, kube::Unstructured(std::move(object))));
  if (!created) return created.error();
  // Pods need their namespace's default service account.
  for (auto deadline = cluster_.clock().Now() + 30s; cluster_.clock().Now() < deadline;
       cluster_.Pause(20ms)) {
    auto account = cluster_.Run(kube::GetObject(*client_, e2e::kServiceAccounts, {ns, "default"}));
    if (account) return Ok();
  }
  return Error::DeadlineExceeded("namespace " + ns + " is not usable");
}

Result<> PodsHarness::CreateClusterConfig() {
  Json registries = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  registries["metadata"] = {{"name", kRegistries}, {"namespace", cluster_.operator_namespace()}};
  registries["data"]["registries.conf"] =
      "[[registry]]\nlocation = \"" + cluster_.registry() + "\"\ninsecure = true\n";
  auto created =
      cluster_.Run(kube::CreateObject(*client_, e2e::kConfigMaps, kube::Unstructured(registries)));
  if (!created) return created.error();
  Json config = e2e::MakeClusterConfig()
                    .ForNamespaces(kSelected, "true")
                    .Set("/spec/registriesConfigMapRef/name", kRegistries)
                    // No takeover from a shard that StopProgram() has stopped.
                    .Set("/spec/shardTakeoverAfter", "1h")
                    .Build();
  for (auto deadline = cluster_.clock().Now() + 60s;; cluster_.Pause(100ms)) {
    created = cluster_.Run(
        kube::CreateObject(*client_, e2e::kClusterConfigs, kube::Unstructured(config)));
    if (created) return Ok();
    if (cluster_.clock().Now() > deadline) return created.error();
  }
}

// Until a new pod of `ns` gets all `gates` and is ungated.
Result<> PodsHarness::AwaitGates(const std::string& ns, std::vector<std::string_view> gates) {
  std::string missing;
  for (auto deadline = cluster_.clock().Now() + 120s; cluster_.clock().Now() < deadline;
       cluster_.Pause(200ms)) {
    Json pod = e2e::MakePod("probe")
                   .Image(cluster_.Image(kImage))
                   .Label("app", "load")
                   .Namespace(ns)
                   .Build();
    pod["spec"]["schedulerName"] = "nobody";
    pod["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "1m"}, {"memory", "1Mi"}}},
                                                 {"limits", {{"cpu", "1m"}, {"memory", "1Mi"}}}};
    auto created = cluster_.Run(kube::CreateObject(*client_, e2e::kPods, kube::Unstructured(pod)));
    if (!created) {
      missing = created.error().message();
      continue;
    }
    std::string found =
        created->body().value("/spec/schedulingGates"_json_pointer, Json::array()).dump();
    bool all = true;
    for (std::string_view gate : gates) all = all && found.find(gate) != std::string::npos;
    missing = "a new pod has the gates " + found;
    auto ungated = cluster_.Run(benchmarks::AwaitUngated(*client_, cluster_.clock(), ns, 20s));
    if (!ungated) missing = ungated.error().message();
    Result<> deleted = DeletePods(ns);
    if (!deleted) return deleted;
    if (all && ungated) return Ok();
  }
  return Error::DeadlineExceeded("namespace " + ns + ": " + missing);
}

}  // namespace benchmarks
