// SPDX-License-Identifier: Apache-2.0
// pods: what the gates cost. Bare writes against pods with one and with both gates, and the CPU and
// memory of the operator's processes. All in one run on one machine, so that ratios are meaningful.
// See README.md.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <cstdio>

#include "benchmarks/pods_harness.h"
#include "benchmarks/pods_report.h"
#include "benchmarks/pods_scenarios.h"
#include "benchmarks/start_cluster.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"

DEFINE_int32(pods, 2000, "Pods of each run.");
DEFINE_int32(connections, 32, "Concurrent calls that create pods.");
DEFINE_int32(rate, 50, "New pods per second in the run at a steady rate.");
DEFINE_string(runs, "bare,one,both,paced,backlog,waiting", "The runs to do.");
DEFINE_int32(timeout, 300, "Of each run, in seconds.");
DEFINE_string(folder, "/tmp/pod-placement-benchmark", "For data and logs of all processes.");

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using kube::Result;

// The processes return free memory to the system every half minute, and may have events to send.
constexpr auto kUntilTrimmed = 60s;

bool Wanted(const std::string& run) {
  return ("," + FLAGS_runs + ",").find("," + run + ",") != std::string::npos;
}

// Not reported: connections, caches and the API server's heap grow to their usual size.
Result<> WarmUp(PodsHarness& harness) {
  LoadOptions load = harness.Load(kNoGates);
  load.own_gate = true;
  Result<LoadResult> warm = harness.Run(load);
  if (!warm) return warm.error().Prefix("warming up");
  return harness.DeletePods(kNoGates);
}

Result<> RunAll(PodsHarness& harness) {
  Result<> configured = harness.Configure();
  if (!configured) return configured;
  PodsReport report;
  report.Header(harness.options());
  report.Memory("idle", harness.OperatorCosts());
  Result<> warm = WarmUp(harness);
  if (!warm) return warm;
  for (const Scenario& scenario : Scenarios()) {
    if (!Wanted(scenario.name)) continue;
    Result<> done = scenario.run(scenario, harness, report);
    if (!done) return done;
  }
  harness.cluster().Pause(kUntilTrimmed);
  report.Memory("idle again", harness.OperatorCosts());
  return kube::Ok();
}

Result<> Main() {
  auto cluster = StartCluster(FLAGS_folder);
  if (!cluster) return cluster.error();
  Result<> deployed = (*cluster)->DeployOperator();
  if (!deployed) return deployed;

  auto config = kube::LoadKubeconfig((*cluster)->control_plane().admin_kubeconfig());
  if (!config) return config.error();
  kube::ClientOptions options{.user_agent = "benchmark",
                              .max_connections = static_cast<size_t>(FLAGS_connections)};
  auto client =
      kube::NewClient((*cluster)->io().get_executor(), kube::RealClock(), *config, options);
  if (!client) return client.error();
  PodsHarness harness(**cluster, std::move(*client),
                      {.pods = FLAGS_pods,
                       .connections = FLAGS_connections,
                       .rate = FLAGS_rate,
                       .timeout = std::chrono::seconds(FLAGS_timeout)});
  return RunAll(harness);
}

}  // namespace
}  // namespace benchmarks

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  kube::Result<> done = benchmarks::Main();
  if (!done) std::fprintf(stderr, "%s\n", done.error().ToString().c_str());
  return done ? 0 : 1;
}
