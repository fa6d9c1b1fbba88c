// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/pods_harness.h"

#include <unistd.h>

#include <algorithm>

#include "api/cluster_pod_placement_config.h"
#include "api/known_images.h"
#include "api/names.h"
#include "benchmarks/create_many.h"
#include "benchmarks/is_available.h"
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
// A new gating takes effect within a minute: the operator waits until no API server uses the old.
constexpr auto kSwitchTimeout = 240s;
// Events of one pod are sent within this time.
constexpr auto kEventsOfOnePod = 2s;

Json NamespaceObject(const std::string& ns, bool selected) {
  Json object = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns}}}};
  if (selected) object["metadata"]["labels"] = {{kSelected, "true"}};
  return object;
}

}  // namespace

Result<> PodsHarness::Configure() {
  for (auto [registry, latency] :
       {std::pair(&fast_registry_, 0ms), std::pair(&slow_registry_, 100ms)}) {
    auto started = RegistryProcess::Start(latency);
    if (!started) return started.error();
    *registry = std::move(*started);
  }
  for (const char* ns : {kNoGates, kOneGate, kBothGates}) {
    Result<> created = CreateNamespace(ns, std::string(ns) != kNoGates);
    if (!created) return created.error().Prefix("create a namespace");
  }
  Result<> configured = CreateClusterConfig();
  if (!configured) return configured.error().Prefix("ClusterPodPlacementConfig");
  gating_ = api::kGatingByWebhook;
  Result<> gated = AwaitGates(kOneGate, 1);
  if (!gated) return gated;
  Json config = e2e::MakeConfig("arm64-first")
                    .Namespace(kBothGates)
                    .Prefer("arm64", 75)
                    .Prefer("amd64", 25)
                    .Build();
  Result<> created = CreateConfigs({config});
  if (!created) return created.error().Prefix("PodPlacementConfig");
  gated = AwaitGates(kBothGates, 2);
  if (!gated) return gated;
  return CountEventsOfPods();
}

Result<> PodsHarness::CountEventsOfPods() {
  for (auto [ns, gates] : {std::pair(kOneGate, 1), std::pair(kBothGates, 2)}) {
    Result<int> events = CountEventsOfOnePod(ns);
    if (!events) return events.error().Prefix("events of one pod");
    events_per_pod_[gates] = *events;
  }
  return Ok();
}

Result<> PodsHarness::SwitchTo(const std::string& gating) {
  if (gating == gating_) return Ok();
  const bool known = PlacesKnownImages(gating);
  const bool by_policy = gating == api::kGatingByPolicy || gating == kKnownImagesByPolicy;
  Json patch = {{"spec",
                 {{"gating", by_policy ? api::kGatingByPolicy : api::kGatingByWebhook},
                  {"knownImages", known ? api::kPlaceKnownImages : api::kGateKnownImages}}}};
  auto patched = cluster_.Run(kube::PatchObject(*client_, e2e::kClusterConfigs,
                                                {"", std::string(api::kClusterConfigName)},
                                                kube::kMergePatch, std::move(patch)));
  if (!patched) return patched.error().Prefix("spec.gating");
  for (auto deadline = cluster_.clock().Now() + kSwitchTimeout;; cluster_.Pause(250ms)) {
    Result<bool> switched =
        IsEmpty(by_policy ? e2e::kMutatingWebhookConfigurations : kube::kMutatingAdmissionPolicies);
    if (!switched) return switched.error();
    bool webhooks = !cluster_.kubelet().OfProgram("webhook", "").empty();
    if (*switched && webhooks != by_policy) break;
    if (cluster_.clock().Now() > deadline)
      return Error::DeadlineExceeded("the operator does not switch to gating by " + gating);
  }
  gating_ = gating;
  Result<> gated = AwaitGates(kOneGate, 1);
  if (gated) gated = AwaitGates(kBothGates, 2);
  if (gated) gated = CountEventsOfPods();
  return gated ? AwaitIdle() : gated;
}

Result<bool> PodsHarness::IsEmpty(kube::Resource resource) {
  auto listed = cluster_.Run(kube::ListObjects(*client_, resource, {}));
  if (!listed) return listed.error();
  return listed->items.empty();
}

LoadOptions PodsHarness::Load(const std::string& ns) const {
  return {.namespaces = {ns},
          .pods = options_.pods,
          .images = {cluster_.Image(kImage)},
          .connections = options_.connections,
          .timeout = options_.timeout};
}

Result<LoadResult> PodsHarness::Run(LoadOptions load) {
  return cluster_.Run(RunLoad(*client_, cluster_.clock(), std::move(load)));
}

Result<kube::Duration> PodsHarness::RemoveOwnGates(LoadOptions load) {
  return cluster_.Run(benchmarks::RemoveOwnGates(*client_, cluster_.clock(), std::move(load)));
}

Result<Ungated> PodsHarness::AwaitUngated(const std::string& ns) {
  return cluster_.Run(benchmarks::AwaitUngated(*client_, cluster_.clock(), ns, options_.timeout));
}

Result<> PodsHarness::DeletePods(const std::vector<std::string>& namespaces) {
  return cluster_.Run(benchmarks::DeletePods(*client_, cluster_.clock(), namespaces));
}

// A list of one event says how many there are.
Result<int> PodsHarness::CountEvents(const std::string& ns) {
  kube::ApiRequest request{.target = e2e::kEvents.Path(ns) + "?limit=1"};
  auto response = cluster_.Run(client_->Call(std::move(request)));
  if (!response) return response.error().Prefix("count events");
  Result<Json> list = kube::ParseJson(response->body);
  if (!list) return list.error().Prefix("count events");
  const Json* items = kube::Find(*list, "items");
  int first = items == nullptr ? 0 : static_cast<int>(items->size());
  return first + static_cast<int>(kube::IntAt(*list, "metadata.remainingItemCount"));
}

Result<int> PodsHarness::CountEventsOfOnePod(const std::string& ns) {
  cluster_.Pause(kEventsOfOnePod);
  Result<int> before = CountEvents(ns);
  if (!before) return before;
  LoadOptions load = Load(ns);
  load.pods = 1;
  Result<LoadResult> run = Run(load);
  if (!run) return run.error();
  cluster_.Pause(kEventsOfOnePod);
  Result<int> after = CountEvents(ns);
  if (!after) return after;
  Result<> deleted = DeletePods({ns});
  if (!deleted) return deleted.error();
  return *after - *before;
}

Result<> PodsHarness::AwaitIdle() {
  for (auto deadline = cluster_.clock().Now() + options_.timeout;;) {
    auto before = OperatorProcesses();
    cluster_.Pause(500ms);
    // The busiest process counts, not the sum: hundreds of shards answer probes and renew Leases.
    std::chrono::nanoseconds busiest{};
    for (const auto& [pid, process] : OperatorProcesses())
      busiest = std::max(busiest, process.second.cpu - before[pid].second.cpu);
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

std::map<pid_t, std::pair<std::string, ProcessCost>> PodsHarness::OperatorProcesses() {
  std::map<pid_t, std::pair<std::string, ProcessCost>> processes;
  for (const char* program : {"operator", "webhook", "shard", "cluster-controller"}) {
    for (e2e::PodProcess* process : cluster_.kubelet().OfProgram(program, "")) {
      auto pid = process->pid();
      if (!pid) continue;
      Result<ProcessCost> cost = CostOf(*pid);
      if (!cost) continue;
      std::string name = program;
      if (name == "webhook")
        name = process->ns() == cluster_.operator_namespace() ? "cluster webhook" : "local webhook";
      processes[*pid] = {name, *cost};
    }
  }
  return processes;
}

Costs PodsHarness::OperatorCosts() {
  Costs costs;
  for (const auto& [pid, process] : OperatorProcesses()) {
    const ProcessCost& cost = process.second;
    ProcessCost& sum = costs[process.first];
    sum.cpu += cost.cpu;
    sum.system += cost.system;
    sum.wakeups += cost.wakeups;
    sum.rss_kb = std::max(sum.rss_kb, cost.rss_kb);
    sum.own_rss_kb = std::max(sum.own_rss_kb, cost.own_rss_kb);
    sum.peak_rss_kb = std::max(sum.peak_rss_kb, cost.peak_rss_kb);
  }
  return costs;
}

Costs PodsHarness::ControlPlaneCosts() {
  Costs costs;
  for (const auto& [name, pid] : cluster_.control_plane().Pids()) {
    Result<ProcessCost> cost = CostOf(pid);
    if (cost) costs[name] = *cost;
  }
  // This process shares the processors with them.
  Result<ProcessCost> load = CostOf(getpid());
  if (load) costs["load"] = *load;
  return costs;
}

Result<> PodsHarness::CreateNamespace(const std::string& ns, bool selected) {
  auto created = cluster_.Run(kube::CreateObject(
      *client_, e2e::kNamespaces, kube::Unstructured(NamespaceObject(ns, selected))));
  if (!created) return created.error();
  return AwaitServiceAccount(ns);
}

// Pods need their namespace's default service account.
Result<> PodsHarness::AwaitServiceAccount(const std::string& ns) {
  for (auto deadline = cluster_.clock().Now() + 60s; cluster_.clock().Now() < deadline;
       cluster_.Pause(20ms)) {
    auto account = cluster_.Run(kube::GetObject(*client_, e2e::kServiceAccounts, {ns, "default"}));
    if (account) return Ok();
  }
  return Error::DeadlineExceeded("namespace " + ns + " is not usable");
}

Result<std::vector<std::string>> PodsHarness::CreateNamespaces(const std::string& prefix,
                                                               int count) {
  auto listed = cluster_.Run(kube::ListObjects(cluster_.client(), e2e::kNamespaces, {}));
  if (!listed) return listed.error();
  int there = static_cast<int>(
      std::count_if(listed->items.begin(), listed->items.end(),
                    [&](const auto& ns) { return ns.metadata().name().starts_with(prefix); }));
  auto make = [&](int number) {
    return NamespaceObject(prefix + std::to_string(there + number), true);
  };
  Result<> created =
      CreateMany(cluster_, e2e::kNamespaces, std::max(0, count - there), make, options_.timeout);
  if (!created) return created.error().Prefix("create the namespaces");
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) {
    names.push_back(prefix + std::to_string(i));
    Result<> usable = AwaitServiceAccount(names.back());
    if (!usable) return usable.error();
  }
  return names;
}

Result<> PodsHarness::CreateConfigs(const std::vector<Json>& configs) {
  Result<> created = CreateMany(
      cluster_, e2e::kConfigs, static_cast<int>(configs.size()),
      [&](int number) { return configs[number]; }, options_.timeout);
  if (!created) return created.error().Prefix("create the PodPlacementConfigs");
  for (auto deadline = cluster_.clock().Now() + options_.timeout;; cluster_.Pause(500ms)) {
    auto listed = cluster_.Run(kube::ListObjects(cluster_.client(), e2e::kConfigs, {}));
    if (!listed) return listed.error();
    auto available = std::count_if(listed->items.begin(), listed->items.end(), IsAvailable);
    if (available == static_cast<long>(listed->items.size())) return Ok();
    if (cluster_.clock().Now() > deadline) {
      return Error::DeadlineExceeded("of " + std::to_string(listed->items.size()) +
                                     " PodPlacementConfigs " + std::to_string(available) +
                                     " are available");
    }
  }
}

Result<> PodsHarness::CreateClusterConfig() {
  Json registries = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  registries["metadata"] = {{"name", kRegistries}, {"namespace", cluster_.operator_namespace()}};
  registries["data"]["registries.conf"] =
      "[[registry]]\nlocation = \"" + cluster_.registry() + "\"\ninsecure = true\n";
  for (const RegistryProcess* registry : {fast_registry_.get(), slow_registry_.get()}) {
    registries["data"]["registries.conf"].get_ref<std::string&>() +=
        "[[registry]]\nlocation = \"" + registry->host() + "\"\ninsecure = true\n";
  }
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

Result<> PodsHarness::CreateProbe(const std::string& ns, std::string& gates) {
  Json pod = e2e::MakePod("probe")
                 .Image(cluster_.Image(kImage))
                 .Label("app", "load")
                 .Namespace(ns)
                 .Build();
  pod["spec"]["schedulerName"] = "nobody";
  pod["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "1m"}, {"memory", "1Mi"}}},
                                               {"limits", {{"cpu", "1m"}, {"memory", "1Mi"}}}};
  auto created = cluster_.Run(kube::CreateObject(*client_, e2e::kPods, kube::Unstructured(pod)));
  if (!created) return created.error();
  gates =
      kube::DumpJson(created->body().value("/spec/schedulingGates"_json_pointer, Json::array()));
  return Ok();
}

Result<> PodsHarness::AwaitGates(const std::string& ns, int gates) {
  std::string missing;
  for (auto deadline = cluster_.clock().Now() + 120s; cluster_.clock().Now() < deadline;
       cluster_.Pause(200ms)) {
    std::string found;
    Result<> created = CreateProbe(ns, found);
    if (!created) {
      missing = created.error().message();
      continue;
    }
    bool cluster = found.find(api::kClusterGate) != std::string::npos;
    bool local = found.find(api::kLocalGate) != std::string::npos;
    // A policy places none where a PodPlacementConfig may change pods.
    const bool placed = gating_ == kKnownImages || (gating_ == kKnownImagesByPolicy && gates == 1);
    bool all = cluster != placed && local == (gates == 2);
    missing = "a new pod has the gates " + found;
    Result<Ungated> ungated =
        cluster_.Run(benchmarks::AwaitUngated(*client_, cluster_.clock(), ns, 20s));
    if (!ungated) missing = ungated.error().message();
    Result<> deleted = DeletePods({ns});
    if (!deleted) return deleted;
    if (all && ungated) return Ok();
  }
  return Error::DeadlineExceeded("namespace " + ns + ": " + missing);
}

}  // namespace benchmarks
