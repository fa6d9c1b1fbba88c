// SPDX-License-Identifier: Apache-2.0
// hub: turns Placements into PlacementDecisions, beside OCM's placement controller or instead of
// it, and rolls FleetPodPlacements out. The replica that holds the Lease works (leader.h).
#include <gflags/gflags.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "fleet/cel/evaluator_thread.h"
#include "fleet/hub/debug_server.h"
#include "fleet/hub/leader.h"
#include "fleet/rollout/controller/rollout_metrics.h"
#include "fleet/rollout/controller/rollouts.h"
#include "fleet/rollout/work_kind.h"
#include "fleet/standalone/membership/membership.h"
#include "kube/base/app.h"
#include "kube/client/client_metrics.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/controller/controller_metrics.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/leadership.h"
#include "kube/metrics/metrics.h"
#include "kube/server/health.h"
#include "kube/server/metrics_server.h"
#include "kube/server/ops_server.h"

DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The namespace of the hub's own pods, with the Lease.");
DEFINE_string(
    kubeconfig, "",
    "How to reach the API server; by default $KUBECONFIG, then the pod's service account.");
DEFINE_string(placements, "claimed",
              "Which Placements are scheduled. claimed: those that disable OCM's controller "
              "and name this scheduler. all: for a hub without OCM's controller.");
DEFINE_validator(placements, [](const char*, const std::string& value) {
  return value == "claimed" || value == "all";
});
DEFINE_string(membership, "ocm",
              "What owns the membership of the fleet: sets, namespaces and access of the agents, "
              "and whether a cluster is reachable. ocm: OCM's registration controller. own: this "
              "hub.");
DEFINE_validator(membership, [](const char*, const std::string& value) {
  return value == "ocm" || value == "own";
});
DEFINE_string(on_misconfigured, "keep",
              "What becomes of the decisions of a misconfigured Placement. keep: they stay. clear: "
              "they are removed, as OCM's controller does.");
DEFINE_validator(on_misconfigured, [](const char*, const std::string& value) {
  return value == "keep" || value == "clear";
});
DEFINE_string(spread, "enforce",
              "Whether spread constraints have an effect: enforce, or ignore, as OCM's controller "
              "does.");
DEFINE_validator(spread, [](const char*, const std::string& value) {
  return value == "enforce" || value == "ignore";
});
DEFINE_string(work_objects, "PodPlacementWork",
              "The kind of the objects in the clusters' namespaces that tell what a rollout gives "
              "a cluster. PodPlacementWork: applied by this project's agent. ManifestWork: by "
              "OCM's work agent.");
DEFINE_validator(work_objects, [](const char*, const std::string& value) {
  return fleet::FindWorkKind(value) != nullptr;
});
DEFINE_int32(workers, 8,
             "Placements whose decisions are written at a time, and FleetPodPlacements whose work "
             "objects are.");
DEFINE_string(cel_evaluator, "/cel-evaluator",
              "Path of the program that evaluates celSelectors (//fleet/cel/evaluator). It is "
              "started when the first Placement needs it.");
DEFINE_string(debug_address, "",
              "Where to serve /debug/placements/ over TLS, as host:port, such as :9443, to clients "
              "that may get or create the Placement. Empty: nowhere.");
DEFINE_string(debug_cert_dir, "/etc/debug/certs",
              "Folder of tls.crt and tls.key for --debug-address. Changed files are loaded without "
              "a restart.");

namespace fleet {
namespace {

using kube::App;
using kube::Async;
using kube::Ok;
using kube::Result;

constexpr std::string_view kName = "fleet-hub";

// The answers of the current term.
class CurrentAnswers final : public DebugAnswers {
 public:
  explicit CurrentAnswers(Leader*& current) : current_(current) {}
  Async<kube::Json> Answer(kube::ObjectKey placement,
                           std::optional<kube::Json> simulated) override {
    if (current_ == nullptr) co_return kube::Error::Unavailable("this replica is not the leader");
    Leader& leader = *current_;
    co_return co_await leader.Answer(std::move(placement), std::move(simulated));
  }

 private:
  Leader*& current_;
};

LeaderOptions OptionsFromFlags() {
  LeaderOptions options{.workers = FLAGS_workers, .works = *FindWorkKind(FLAGS_work_objects)};
  if (FLAGS_placements == "all") options.reconciler.placements = PlacementsMode::kAll;
  options.reconciler.clear_misconfigured = FLAGS_on_misconfigured == "clear";
  options.reconciler.schedule.ignore_spread = FLAGS_spread == "ignore";
  return options;
}

void AddStoreMetrics(kube::Metrics& metrics, Leader*& current) {
  kube::Gauge& clusters =
      metrics.AddGauge("mto_fleet_clusters", "ManagedClusters that this replica watches");
  kube::Gauge& placements =
      metrics.AddGauge("mto_fleet_placements", "Placements that this replica watches");
  metrics.OnRender([&] {
    const FleetStore* store = current == nullptr ? nullptr : &current->store();
    clusters.Set(store == nullptr ? 0 : static_cast<double>(store->fleet().clusters.size()));
    placements.Set(store == nullptr ? 0 : static_cast<double>(store->placements()));
  });
  AddRolloutMetrics(metrics,
                    [&current] { return current == nullptr ? nullptr : &current->rollouts(); });
}

// Metrics of a hub that owns the membership.
void AddMembershipMetrics(kube::Metrics& metrics, Leader*& current) {
  auto gauge = [&](const char* state) -> kube::Gauge& {
    return metrics.AddGauge("mto_fleet_members", "ManagedClusters by what their agents report",
                            {{"state", state}});
  };
  kube::Gauge& available = gauge("available");
  kube::Gauge& unavailable = gauge("unavailable");
  kube::Gauge& unreachable = gauge("unreachable");
  metrics.OnRender([&available, &unavailable, &unreachable, &current] {
    ClusterIndex::Counts counts;
    if (current != nullptr && current->membership())
      counts = current->membership()->CountAvailable();
    available.Set(static_cast<double>(counts.available));
    unavailable.Set(static_cast<double>(counts.unavailable));
    unreachable.Set(static_cast<double>(counts.unreachable));
  });
}

Async<> Serve(App& app) {
  // The API server.
  kube::Metrics metrics;
  kube::ClientMetrics client_metrics(metrics);
  Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) co_return config.error();
  auto client = kube::NewClient(
      app.executor(), app.clock(), std::move(*config),
      {.user_agent = api::UserAgent(std::string(kName)), .observer = &client_metrics});
  if (!client) co_return client.error();

  // Health, metrics, events and debug answers.
  kube::HealthRegistry health;
  auto ops = kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health,
                                kube::PublicMetrics(metrics));
  if (!ops) co_return ops.error();
  auto metrics_server = kube::MetricsServer::New(app.executor(), app.clock(), **client, metrics,
                                                 kube::MetricsServerOptionsFromFlags());
  if (!metrics_server) co_return metrics_server.error();
  Leader* leader = nullptr;
  CurrentAnswers answers(leader);
  DebugServerOptions debug_options{FLAGS_debug_address, FLAGS_debug_cert_dir};
  auto debug_server =
      DebugServer::New(app.executor(), app.clock(), **client, answers, std::move(debug_options));
  if (!debug_server) co_return debug_server.error();
  kube::EventMetrics event_metrics(metrics, "mto_fleet_");
  kube::EventRecorder events(**client, app.clock(),
                             {.component = std::string(kName),
                              .busy = [&leader] { return leader != nullptr && leader->busy(); },
                              .observer = &event_metrics});
  app.tasks().Spawn("ops-server", (*ops)->Run());
  app.tasks().Spawn("metrics-server", (*metrics_server)->Run());
  app.tasks().Spawn("debug-server", (*debug_server)->Run());
  app.tasks().Spawn("events", events.Run());

  // Work, while this replica holds the Lease.
  kube::ControllerMetrics controller_metrics(metrics, app.clock(), kPlacementController,
                                             FLAGS_workers);
  kube::ControllerMetrics rollout_metrics(metrics, app.clock(), kRolloutController, FLAGS_workers);
  AddStoreMetrics(metrics, leader);
  cel::EvaluatorOptions evaluator_options{.program = FLAGS_cel_evaluator};
  cel::EvaluatorThread evaluator(app.clock(), std::move(evaluator_options));
  LeaderParts parts{leader,          **client, app.clock(), events, evaluator, &controller_metrics,
                    &rollout_metrics};
  LeaderOptions options = OptionsFromFlags();
  std::optional<kube::ControllerMetrics> membership_metrics;
  std::optional<kube::ControllerMetrics> set_metrics;
  if (FLAGS_membership == "own") {
    MembershipOptions membership{.hub_namespace = FLAGS_namespace};
    membership.clusters = &membership_metrics.emplace(metrics, app.clock(), kMembershipController,
                                                      membership.workers);
    membership.sets = &set_metrics.emplace(metrics, app.clock(), kClusterSetController, 1);
    AddMembershipMetrics(metrics, leader);
    options.membership = std::move(membership);
  }
  kube::Leadership leadership(app, **client,
                              {.ns = FLAGS_namespace,
                               .name = "multiarch-fleet-hub",
                               .on_change = kube::LeaderMetric(metrics, "multiarch-fleet-hub")});
  kube::Leadership::NewTerm new_term = [&](kube::TaskGroup& tasks) {
    return std::make_unique<Leader>(parts, options, tasks);
  };
  co_await leadership.Run(std::move(new_term));

  // Drain.
  co_await (*debug_server)->Drain(app.grace_left());
  co_await (*metrics_server)->Drain(app.grace_left());
  co_await kube::EndTasksAndOpsServer(app, **ops);
  co_return Ok();
}

}  // namespace
}  // namespace fleet

int main(int argc, char** argv) {
  return kube::RunApp(
      {.name = fleet::kName,
       .summary = "Turns Placements into PlacementDecisions, rolls FleetPodPlacements out.",
       .version = api::kVersion,
       .argc = argc,
       .argv = argv},
      fleet::Serve);
}
