// SPDX-License-Identifier: Apache-2.0
// pods: what the gates cost. The writes alone (the floor), and pods with one and with both gates,
// by webhook and by policy, alternating in one run on one machine, so that ratios are meaningful;
// and what the programs cost with nothing to do. Writes the measurements as JSON, which report.py
// turns into tables and plots. See README.md.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdio>

#include "benchmarks/measurement.h"
#include "benchmarks/pods_harness.h"
#include "benchmarks/registry_process.h"
#include "benchmarks/scenarios.h"
#include "benchmarks/start_cluster.h"
#include "kube/base/split.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"

DEFINE_int32(rounds, 3, "How often each scenario of the rounds is done; they alternate.");
DEFINE_int32(pods, 1000, "Pods of each run.");
DEFINE_int32(connections, 16, "Concurrent calls that create pods.");
DEFINE_int32(rate, 50, "New pods per second in the scenarios with a steady rate.");
DEFINE_int32(steady_seconds, 10, "Duration of the scenarios with a steady rate.");
DEFINE_int32(waiting_pods, 5000, "Pods that wait for a registry that does not respond.");
DEFINE_string(gatings, "Webhook,Policy,Known,KnownByPolicy",
              "Values of spec.gating in the rounds, or one of Known and KnownByPolicy, for "
              "knownImages: PlaceAtCreation; the other suites have the first.");
DEFINE_string(scenarios, "", "The names of the scenarios to run; all if empty.");
DEFINE_string(suite, "rounds", "rounds, rest or growth.");
DEFINE_int32(rest_seconds, 60, "How long the processes are observed with nothing to do.");
DEFINE_int32(max_point, 1 << 30, "Leaves out larger points of growth.");
DEFINE_int32(timeout, 600, "Of each run, in seconds.");
DEFINE_string(output, "", "The JSON file to write.");
DEFINE_string(revision, "", "The version of the source, for the report.");
DEFINE_string(folder, "/tmp/pod-placement-benchmark", "For data and logs of all processes.");

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

// The processes return free memory to the system every half minute.
constexpr auto kUntilTrimmed = 40s;
constexpr const char* kFloor = "Floor";
// Only creates the pods.
constexpr const char* kBare = "Bare";

bool Wanted(const Scenario& scenario, Suite suite) {
  if (scenario.suite != suite) return false;
  std::string names = "," + FLAGS_scenarios + ",";
  return FLAGS_scenarios.empty() ||
         names.find("," + std::string(scenario.name) + ",") != std::string::npos;
}

class Benchmark {
 public:
  Benchmark(PodsHarness& harness, Results& results) : harness_(harness), results_(results) {}

  Result<> Run() {
    Result<> done = harness_.Configure();
    if (done) done = WarmUp();
    if (done) done = harness_.AwaitIdle();
    if (done) done = RecordMemory("idle");
    if (done) done = RunSuite();
    if (!done || FLAGS_suite != "rounds") return done;
    harness_.cluster().Pause(kUntilTrimmed);
    return RecordMemory("idle-again");
  }

 private:
  // Not reported: connections, caches and the API server's heap grow to their usual size.
  Result<> WarmUp() {
    LoadOptions load = harness_.Load(kNoGates);
    load.own_gates = 1;
    Result<LoadResult> warm = harness_.Run(load);
    if (!warm) return warm.error().Prefix("warming up");
    return harness_.DeletePods(load.namespaces);
  }

  Result<> RecordMemory(const char* name) {
    Measurement measurement;
    measurement.memory["idle"] = harness_.OperatorCosts();
    return results_.Add({{"scenario", name}, {"gating", harness_.gating()}}, measurement);
  }

  Result<> RunSuite() {
    std::vector<std::string> gatings = kube::SplitAtCommas(FLAGS_gatings);
    if (gatings.empty()) return Error::Invalid("--gatings is empty");
    for (const std::string& name : kube::SplitAtCommas(FLAGS_scenarios)) {
      auto scenarios = Scenarios();
      if (std::none_of(scenarios.begin(), scenarios.end(),
                       [&](const Scenario& scenario) { return name == scenario.name; }))
        return Error::Invalid("--scenarios: there is no " + name);
    }
    if (FLAGS_suite == "rounds") return RunRounds(gatings);
    Result<> switched = harness_.SwitchTo(gatings.front());
    if (!switched) return switched;
    if (FLAGS_suite == "rest") return RunOnce(Suite::kRest);
    if (FLAGS_suite == "growth") return RunPoints(Suite::kGrowth);
    return Error::Invalid("--suite=" + FLAGS_suite);
  }

  Result<> RunRounds(std::vector<std::string> gatings) {
    const std::string first = gatings.front();
    for (int round = 1; round <= FLAGS_rounds; ++round) {
      for (size_t i = 0; i < gatings.size(); ++i) {
        Result<> done = RunRound(round, gatings[i], /*with_floor=*/i == 0);
        if (!done) return done;
      }
      // A round begins with the gating of the previous round, because a switch takes time.
      std::reverse(gatings.begin(), gatings.end());
    }
    Result<> switched = harness_.SwitchTo(first);
    return switched ? RunOnce(Suite::kOnce) : switched;
  }

  Result<> RunOnce(Suite suite) {
    for (const Scenario& scenario : Scenarios()) {
      if (!Wanted(scenario, suite)) continue;
      Result<> done = RunOne(scenario, harness_.gating(), {{"round", 1}});
      if (!done) return done;
    }
    return Ok();
  }

  Result<> RunRound(int round, const std::string& gating, bool with_floor) {
    Result<> switched = harness_.SwitchTo(gating);
    if (!switched) return switched;
    for (const Scenario& scenario : Scenarios()) {
      if (!Wanted(scenario, Suite::kRounds)) continue;
      if (with_floor && scenario.with_floor) {
        Result<> done = RunOne(scenario, kFloor, {{"round", round}});
        if (!done) return done;
      }
      const bool known = PlacesKnownImages(gating);
      if (known && !scenario.with_known_images) continue;
      if (gating == kKnownImagesByPolicy && scenario.gates == 2) continue;
      if (known && scenario.gates == 1) {
        Result<> done = RunOne(scenario, kBare, {{"round", round}});
        if (!done) return done;
      }
      Result<> done = RunOne(scenario, gating, {{"round", round}});
      if (!done) return done;
    }
    return Ok();
  }

  Result<> RunPoints(Suite suite) {
    for (const Scenario& scenario : Scenarios()) {
      if (!Wanted(scenario, suite)) continue;
      int previous = 0;
      for (int point : scenario.points) {
        if (point > FLAGS_max_point) continue;
        if (scenario.with_floor) {
          Result<> done = RunOne(scenario, kFloor, {{"point", point}}, point, previous);
          if (!done) return done;
        }
        Result<> done = RunOne(scenario, harness_.gating(), {{"point", point}}, point, previous);
        if (!done) return done;
        previous = point;
      }
    }
    return Ok();
  }

  Result<> RunOne(const Scenario& scenario, const std::string& gating, Json where, int point = 0,
                  int previous = 0) {
    where.update({{"scenario", scenario.name}, {"gates", scenario.gates}, {"gating", gating}});
    Result<Measurement> measurement = scenario.run({.harness = harness_,
                                                    .gates = scenario.gates,
                                                    .floor = gating == kFloor || gating == kBare,
                                                    .bare = gating == kBare,
                                                    .point = point,
                                                    .previous = previous});
    if (!measurement) return measurement.error().Prefix(kube::DumpJson(where));
    return results_.Add(std::move(where), *measurement);
  }

  PodsHarness& harness_;
  Results& results_;
};

// The arguments of this program belong to the results.
Json Options() {
  return {{"pods", FLAGS_pods},
          {"connections", FLAGS_connections},
          {"rate", FLAGS_rate},
          {"rounds", FLAGS_rounds},
          {"rest_seconds", FLAGS_rest_seconds}};
}

Result<> Main() {
  // The audit log counts the requests. It would slow the other suites down.
  auto cluster = StartCluster(FLAGS_folder, {.audit = FLAGS_suite == "rest"});
  if (!cluster) return cluster.error();
  Result<> deployed = (*cluster)->DeployOperator();
  if (!deployed) return deployed;

  auto config = kube::LoadKubeconfig((*cluster)->control_plane().admin_kubeconfig());
  if (!config) return config.error();
  kube::ClientOptions options{.user_agent = "benchmark",
                              .max_connections = static_cast<size_t>(FLAGS_connections),
                              // The deletion of all pods answers with all of them.
                              .max_body_bytes = size_t{1} << 30};
  auto client =
      kube::NewClient((*cluster)->io().get_executor(), kube::RealClock(), *config, options);
  if (!client) return client.error();
  PodsHarness harness(**cluster, std::move(*client),
                      {.pods = FLAGS_pods,
                       .connections = FLAGS_connections,
                       .rate = FLAGS_rate,
                       .steady = std::chrono::seconds(FLAGS_steady_seconds),
                       .rest = std::chrono::seconds(FLAGS_rest_seconds),
                       .waiting_pods = FLAGS_waiting_pods,
                       .timeout = std::chrono::seconds(FLAGS_timeout)});
  Json about = AboutThisMachine();
  about.update({{"revision", FLAGS_revision}, {"options", Options()}});
  Results results(FLAGS_output, std::move(about));
  return Benchmark(harness, results).Run();
}

}  // namespace
}  // namespace benchmarks

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  if (benchmarks::ServedAsRegistry()) return 0;
  FLAGS_minloglevel = google::GLOG_WARNING;
  kube::Result<> done = benchmarks::Main();
  if (!done) std::fprintf(stderr, "%s\n", done.error().ToString().c_str());
  return done ? 0 : 1;
}
