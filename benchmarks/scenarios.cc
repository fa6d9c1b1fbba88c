// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/scenarios.h"

#include <algorithm>
#include <thread>

#include "e2e/cluster_harness/request_log.h"
#include "e2e/framework/objects.h"
#include "kube/base/task_group.h"

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using kube::Ok;
using kube::Result;

// Events must be sent in 10 s; those that come later are counted, too.
constexpr auto kMaxEventsTime = 60s;
constexpr auto kNoMoreEvents = 5s;
// After a change, the operator's programs renew, trim and settle for a while.
constexpr auto kUntilAtRest = 20s;

double Seconds(kube::Duration time) { return std::chrono::duration<double>(time).count(); }

LoadOptions LoadOf(const Run& run) {
  LoadOptions load =
      run.harness.Load(run.floor ? kNoGates : (run.gates == 1 ? kOneGate : kBothGates));
  if (run.floor && !run.bare) load.own_gates = run.gates;
  return load;
}

// The namespace of the pods' events; "" (all) if there are several.
std::string EventsNamespace(const LoadOptions& load) {
  return load.namespaces.size() == 1 ? load.namespaces.front() : "";
}

// Waits until `expected` events of the pods are there, or no more come. `before`: the events before
// the pods were created.
Result<> AwaitEvents(PodsHarness& harness, const LoadOptions& load, int before, int expected,
                     Measurement& measurement) {
  kube::Clock& clock = harness.cluster().clock();
  kube::TimePoint start = clock.Now();
  kube::TimePoint last = start;
  measurement.events_expected = expected;
  while (measurement.events < expected && clock.Now() < start + kMaxEventsTime &&
         clock.Now() < last + kNoMoreEvents) {
    Result<int> events = harness.CountEvents(EventsNamespace(load));
    if (!events) return events.error();
    if (*events - before > measurement.events) {
      measurement.events = *events - before;
      last = clock.Now();
    }
    harness.cluster().Pause(100ms);
  }
  measurement.events_seconds = Seconds(last - start);
  return Ok();
}

// What the pods cost from now on.
class Meter {
 public:
  explicit Meter(PodsHarness& harness)
      : harness_(harness), own_(harness.OperatorCosts()), plane_(harness.ControlPlaneCosts()) {}

  // When all pods are ungated.
  void Ungated(Measurement& measurement) {
    measurement.plane_cpu_ms = CpuPerPod(plane_, harness_.ControlPlaneCosts(), measurement.pods);
  }
  // When the operator has nothing to do.
  void Idle(Measurement& measurement) {
    measurement.plane_cpu_ms_with_events =
        CpuPerPod(plane_, harness_.ControlPlaneCosts(), measurement.pods);
    Costs now = harness_.OperatorCosts();
    measurement.cpu_ms = CpuPerPod(own_, now, measurement.pods);
    measurement.memory["after"] = now;
  }

 private:
  PodsHarness& harness_;
  Costs own_;
  Costs plane_;
};

// Until all events of the pods are sent and the operator has nothing to do. As AwaitEvents().
Result<> AwaitDone(PodsHarness& harness, const LoadOptions& load, int before, int expected,
                   Meter& meter, Measurement& measurement) {
  Result<> done = AwaitEvents(harness, load, before, expected, measurement);
  if (done) done = harness.AwaitIdle();
  if (done) meter.Idle(measurement);
  return done;
}

// The end of a scenario.
Result<Measurement> DeletePods(PodsHarness& harness, const LoadOptions& load,
                               Measurement measurement) {
  Result<> deleted = harness.DeletePods(load.namespaces);
  if (!deleted) return deleted.error();
  return measurement;
}

void Count(const LoadOptions& load, const LoadResult& result, Measurement& measurement) {
  measurement.pods = load.pods;
  measurement.seconds = Seconds(load.await_ungated ? result.ungated : result.created);
  measurement.pods_per_second = load.pods / measurement.seconds;
  if (!load.await_ungated) return;
  measurement.from_call = Times::Of(result.from_call);
  measurement.from_response = Times::Of(result.from_response);
}

// Creates the pods, waits until they are ungated and their events are sent, and deletes them.
Result<Measurement> Measure(const Run& run, const LoadOptions& load) {
  PodsHarness& harness = run.harness;
  Result<int> events = harness.CountEvents(EventsNamespace(load));
  if (!events) return events.error();
  Measurement measurement;
  Meter meter(harness);
  Result<LoadResult> result = harness.Run(load);
  if (!result) return result.error();
  Count(load, *result, measurement);
  meter.Ungated(measurement);
  if (!run.floor) {
    // The number of events of a deleted pod depends on the moment of its deletion.
    int expected = load.delete_half ? 0 : load.pods * harness.EventsPerPod(run.gates);
    Result<> done = AwaitDone(harness, load, *events, expected, meter, measurement);
    if (!done) return done.error();
  }
  return DeletePods(harness, load, std::move(measurement));
}

// As fast as the API server creates pods.
Result<Measurement> Burst(const Run& run) { return Measure(run, LoadOf(run)); }

Result<Measurement> Steady(const Run& run) {
  LoadOptions load = LoadOf(run);
  const PodsOptions& options = run.harness.options();
  load.rate = options.rate;
  load.pods = options.rate * static_cast<int>(options.steady.count());
  return Measure(run, load);
}

Result<Measurement> FloorBacklog(const Run& run, LoadOptions load) {
  load.keep_own_gates = true;
  Result<LoadResult> created = run.harness.Run(load);
  if (!created) return created.error();
  Measurement measurement;
  measurement.pods = load.pods;
  Meter meter(run.harness);
  Result<kube::Duration> took = run.harness.RemoveOwnGates(load);
  if (!took) return took.error();
  measurement.seconds = Seconds(*took);
  measurement.pods_per_second = load.pods / measurement.seconds;
  meter.Ungated(measurement);
  return DeletePods(run.harness, load, std::move(measurement));
}

// A controller starts when all pods exist and are gated: its list, queue and cache have their
// largest size. With both gates, that controller is the shard.
Result<Measurement> BacklogOf(const Run& run, LoadOptions load) {
  load.await_ungated = false;
  if (run.floor) return FloorBacklog(run, load);
  PodsHarness& harness = run.harness;
  std::string program = run.gates == 1 ? "cluster-controller" : "shard";
  const std::string& ns = load.namespaces.front();
  std::string home = run.gates == 1 ? harness.cluster().operator_namespace() : ns;
  Result<> stopped = harness.StopProgram(program, home);
  if (!stopped) return stopped.error();
  Result<int> events = harness.CountEvents(EventsNamespace(load));
  if (!events) return events.error();
  Result<LoadResult> created = harness.Run(load);
  if (!created) return created.error();
  Result<> idle = harness.AwaitIdle();
  if (!idle) return idle.error();

  Measurement measurement;
  measurement.pods = load.pods;
  measurement.memory["gated"] = harness.OperatorCosts();
  Meter meter(harness);
  harness.StartProgram(program, home);
  Result<Ungated> ungated = harness.AwaitUngated(ns);
  if (!ungated) return ungated.error();
  measurement.seconds = Seconds(ungated->last);
  measurement.pods_per_second = load.pods / Seconds(ungated->last - ungated->first);
  meter.Ungated(measurement);
  int expected = load.pods * harness.EventsPerPod(run.gates);
  Result<> done = AwaitDone(harness, load, *events, expected, meter, measurement);
  if (!done) return done.error();
  return DeletePods(harness, load, std::move(measurement));
}

Result<Measurement> Backlog(const Run& run) { return BacklogOf(run, LoadOf(run)); }

// Every second pod is deleted while it is gated.
Result<Measurement> Churn(const Run& run) {
  LoadOptions load = LoadOf(run);
  load.delete_half = true;
  return Measure(run, load);
}

// Kills each process of `programs` a second after it was first seen.
boost::asio::awaitable<void> KillEachSecond(e2e::ProcessCluster& cluster,
                                            std::vector<std::string> programs) {
  std::map<pid_t, kube::TimePoint> since;
  while (true) {
    Result<> slept = co_await cluster.clock().Sleep(50ms);
    if (!slept) co_return;
    for (const std::string& program : programs) {
      for (e2e::PodProcess* process : cluster.kubelet().OfProgram(program, "")) {
        Result<pid_t> pid = process->pid();
        if (!pid) continue;
        kube::TimePoint now = cluster.clock().Now();
        auto [seen, is_new] = since.emplace(*pid, now);
        if (!is_new && now - seen->second >= 1s) process->Crash();
      }
    }
  }
}

// Every controller is killed a second after each of its starts. Its CPU is lost with it, and so are
// the events that it has not sent.
Result<Measurement> Restarts(const Run& run) {
  PodsHarness& harness = run.harness;
  std::vector<std::string> programs = {"cluster-controller"};
  if (run.gates == 2) programs.push_back("shard");
  kube::TaskGroup tasks(harness.cluster().io().get_executor());
  tasks.Spawn("kill", KillEachSecond(harness.cluster(), programs));
  LoadOptions load = LoadOf(run);
  Result<LoadResult> result = harness.Run(load);
  Result<> stopped = harness.cluster().Run(tasks.Stop(harness.cluster().clock(), 5s));
  if (!result) return result.error();
  if (!stopped) return stopped.error();
  Measurement measurement;
  Count(load, *result, measurement);
  // New pods, without the crash loop backoff of these.
  for (const std::string& program : programs) {
    std::string home =
        program == "shard" ? load.namespaces.front() : harness.cluster().operator_namespace();
    stopped = harness.StopProgram(program, home);
    if (!stopped) return stopped.error();
    harness.StartProgram(program, home);
  }
  return DeletePods(harness, load, std::move(measurement));
}

// Many namespaces without PodPlacementConfig.
Result<Measurement> Wide(const Run& run) {
  LoadOptions load = LoadOf(run);
  auto namespaces = run.harness.CreateNamespaces("wide-", 200);
  if (!namespaces) return namespaces.error();
  load.namespaces = std::move(*namespaces);
  return Measure(run, load);
}

// 50 images in a registry that answers after 100 ms.
Result<Measurement> SlowRegistry(const Run& run) {
  LoadOptions load = LoadOf(run);
  load.images.clear();
  for (int i = 0; i < 50; ++i) load.images.push_back(run.harness.slow_registry().Image(i));
  return Measure(run, load);
}

// The registry accepts connections and does not respond: the controller keeps every pod gated.
Result<Measurement> FrozenRegistry(const Run& run) {
  PodsHarness& harness = run.harness;
  harness.cluster().test_registry().Freeze();
  LoadOptions load = LoadOf(run);
  load.pods = harness.options().waiting_pods;
  load.await_ungated = false;
  load.images = {harness.cluster().Image("demo/multi:frozen")};
  Result<LoadResult> created = harness.Run(load);
  if (!created) return created.error();
  Measurement measurement;
  Count(load, *created, measurement);
  harness.cluster().Pause(1s);
  measurement.memory["gated"] = harness.OperatorCosts();
  Result<> deleted = harness.DeletePods(load.namespaces);
  harness.cluster().test_registry().Thaw();
  if (!deleted) return deleted.error();
  return measurement;
}

// `point` gated pods.
Result<Measurement> GatedPods(const Run& run) {
  LoadOptions load = LoadOf(run);
  load.pods = run.point;
  return BacklogOf(run, load);
}

kube::Json Config(const std::string& ns, int number, const std::string& app) {
  return e2e::MakeConfig("config-" + std::to_string(number))
      .Namespace(ns)
      .Priority(number)
      .ForLabel("app", app)
      .Prefer("arm64", 75)
      .Prefer("amd64", 25)
      .Build();
}

// `point` namespaces with a PodPlacementConfig and the programs of a shard each.
Result<Measurement> Shards(const Run& run) {
  auto namespaces = run.harness.CreateNamespaces("shard-", run.point);
  if (!namespaces) return namespaces.error();
  std::vector<kube::Json> configs;
  for (int i = run.previous; i < run.point; ++i)
    configs.push_back(Config((*namespaces)[i], 0, "load"));
  Result<> ready = run.harness.CreateConfigs(configs);
  if (ready) ready = run.harness.AwaitGates(namespaces->back(), 2);
  if (ready) ready = run.harness.AwaitIdle();
  if (!ready) return ready.error();
  LoadOptions load = LoadOf(run);
  load.namespaces = std::move(*namespaces);
  return Measure(run, load);
}

// A namespace with `point` PodPlacementConfigs, of which the first `selecting` select the pods.
Result<Measurement> ConfigsOfNamespace(const Run& run, const std::string& prefix, int selecting,
                                       int pods) {
  auto ns = run.harness.CreateNamespaces(prefix + std::to_string(run.point) + "-", 1);
  if (!ns) return ns.error();
  std::vector<kube::Json> configs;
  for (int i = 0; i < run.point; ++i)
    configs.push_back(Config(ns->front(), i, i < selecting ? "load" : "other"));
  Result<> ready = run.harness.CreateConfigs(configs);
  if (ready) ready = run.harness.AwaitGates(ns->front(), 2);
  if (ready) ready = run.harness.AwaitIdle();
  if (!ready) return ready.error();
  LoadOptions load = LoadOf(run);
  load.namespaces = std::move(*ns);
  load.pods = std::min(load.pods, pods);
  return Measure(run, load);
}

Result<Measurement> Configs(const Run& run) {
  return ConfigsOfNamespace(run, "configs-", 1, run.harness.options().pods);
}

// With webhooks, the API server makes a call for each.
Result<Measurement> SelectingConfigs(const Run& run) {
  return ConfigsOfNamespace(run, "selecting-", run.point, 200);
}

// Pods of `point` KB.
Result<Measurement> PodSize(const Run& run) {
  LoadOptions load = LoadOf(run);
  load.padding = static_cast<size_t>(run.point) * 1024 - 1024;
  load.pods = std::min(load.pods, 300);
  return Measure(run, load);
}

// `point` images that were not inspected before.
Result<Measurement> Images(const Run& run) {
  LoadOptions load = LoadOf(run);
  load.images.clear();
  for (int i = 0; i < run.point; ++i)
    load.images.push_back(run.harness.fast_registry().Image(run.point + i));
  return Measure(run, load);
}

// With nothing to do. Needs ClusterOptions::audit.
Result<Measurement> Rest(const Run& run) {
  e2e::ProcessCluster& cluster = run.harness.cluster();
  cluster.Pause(kUntilAtRest);
  e2e::RequestLog requests(cluster.control_plane().audit_log());
  requests.Skip();
  Costs before = run.harness.OperatorCosts();
  kube::TimePoint start = cluster.clock().Now();
  // The event loop does not run, so there are no probes, which a kubelet sends every ten seconds.
  std::this_thread::sleep_for(run.harness.options().rest);
  Measurement measurement;
  measurement.seconds = Seconds(cluster.clock().Now() - start);
  Costs after = run.harness.OperatorCosts();
  for (const auto& [name, cost] : after) {
    measurement.at_rest[name] = {
        .cpu_ms = Seconds(cost.cpu - before[name].cpu) * 1000 / measurement.seconds,
        .wakeups = (cost.wakeups - before[name].wakeups) / measurement.seconds};
  }
  measurement.memory["idle"] = after;
  Result<std::vector<e2e::LoggedRequest>> sent = requests.Read();
  if (!sent) return sent.error();
  for (const e2e::LoggedRequest& request : *sent)
    measurement.requests[request.account][request.verb + " " + request.resource] +=
        60 / measurement.seconds;
  return measurement;
}

const Scenario kScenarios[] = {
    {"burst", 1, Suite::kRounds, Burst, true, {}, true},
    {"burst", 2, Suite::kRounds, Burst, true, {}, true},
    {"backlog", 1, Suite::kRounds, Backlog, true},
    {"backlog", 2, Suite::kRounds, Backlog, true},
    {"steady", 1, Suite::kRounds, Steady, true, {}, true},
    {"steady", 2, Suite::kRounds, Steady, true, {}, true},

    {"churn", 2, Suite::kOnce, Churn},
    {"restarts", 2, Suite::kOnce, Restarts},
    {"wide", 1, Suite::kOnce, Wide},
    {"slow-registry", 1, Suite::kOnce, SlowRegistry},
    {"frozen-registry", 1, Suite::kOnce, FrozenRegistry},

    {"rest", 2, Suite::kRest, Rest},

    {"gated-pods", 1, Suite::kGrowth, GatedPods, true, {1000, 2000, 5000, 10000, 20000}},
    {"configs", 2, Suite::kGrowth, Configs, false, {1, 5, 10, 20, 50}},
    {"selecting-configs", 2, Suite::kGrowth, SelectingConfigs, false, {1, 5, 10, 20, 50}},
    {"pod-size", 1, Suite::kGrowth, PodSize, true, {2, 10, 50, 100, 200}},
    {"images", 1, Suite::kGrowth, Images, false, {1, 10, 100, 1000}},
    // This scenario is the last, because its shards stay.
    {"shards", 2, Suite::kGrowth, Shards, false, {1, 10, 50, 100, 200}},
};

}  // namespace

std::span<const Scenario> Scenarios() { return kScenarios; }

}  // namespace benchmarks
