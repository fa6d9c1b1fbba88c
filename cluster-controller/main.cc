// SPDX-License-Identifier: Apache-2.0
// cluster-controller: the cluster controller. Requires the architectures that the images of a gated
// pod run on, and removes the cluster gate. The replica that holds the Lease works (see leader.h).
#include <gflags/gflags.h>

#include <chrono>
#include <memory>
#include <string>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/leader.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/shard_watch.h"
#include "inspection/config/node_file_flags.h"
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
#include "scheduling-policies/cluster-controller/missed_policies.h"

DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's namespace, with the Lease and the objects that the "
              "ClusterPodPlacementConfig names.");
DEFINE_string(
    kubeconfig, "",
    "How to reach the API server; by default $KUBECONFIG, then the pod's service account.");
DEFINE_int32(workers, 16, "Pods that are reconciled at a time; none of them waits for a registry.");

namespace cluster_controller {
namespace {

using kube::App;
using kube::Async;
using kube::Ok;
using kube::Result;

constexpr std::string_view kName = "cluster-controller";

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

  // Health, metrics and events.
  kube::HealthRegistry health;
  auto ops = kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health,
                                kube::PublicMetrics(metrics));
  if (!ops) co_return ops.error();
  auto metrics_server = kube::MetricsServer::New(app.executor(), app.clock(), **client, metrics,
                                                 kube::MetricsServerOptionsFromFlags());
  if (!metrics_server) co_return metrics_server.error();
  Leader* leader = nullptr;
  kube::EventMetrics event_metrics(metrics, "mto_ppo_ctrl_");
  kube::EventRecorder events(**client, app.clock(),
                             {.component = std::string(api::kEventComponent),
                              .busy = [&leader] { return leader != nullptr && leader->busy(); },
                              .observer = &event_metrics});
  app.tasks().Spawn("ops-server", (*ops)->Run());
  app.tasks().Spawn("metrics-server", (*metrics_server)->Run());
  app.tasks().Spawn("events", events.Run());

  // Work, while this replica holds the Lease.
  PlacementMetrics placement_metrics(metrics);
  kube::ControllerMetrics controller_metrics(metrics, app.clock(), kController, FLAGS_workers);
  KnownPods known(app.clock());
  kube::Gauge& oldest = metrics.AddGauge("mto_ppo_oldest_gated_pod_seconds",
                                         "Time since the longest gated pod was first observed");
  metrics.OnRender([&] { oldest.Set(std::chrono::duration<double>(known.OldestAge()).count()); });
  ShardWatch shards(app.clock());
  LeaderParts parts{leader, app.executor(), **client,          app.clock(),       events,
                    known,  shards,         placement_metrics, controller_metrics};
  LeaderOptions options{
      .ns = FLAGS_namespace, .workers = FLAGS_workers, .files = inspection::NodeFilesFromFlags()};
  // Features that add to pods.
  options.additions.push_back([&client, &app] {
    return std::make_unique<policy::MissedPolicies>(**client, app.clock(), FLAGS_namespace);
  });
  kube::Leadership leadership(
      app, **client,
      {.ns = FLAGS_namespace,
       .name = std::string(api::kControllerName),
       .on_change = kube::LeaderMetric(metrics, std::string(api::kControllerName))});
  kube::Leadership::NewTerm new_term = [&](kube::TaskGroup& tasks) {
    return std::make_unique<Leader>(parts, options, tasks);
  };
  co_await leadership.Run(std::move(new_term));

  // Drain.
  co_await (*metrics_server)->Drain(app.grace_left());
  co_await kube::EndTasksAndOpsServer(app, **ops);
  co_return Ok();
}

}  // namespace
}  // namespace cluster_controller

int main(int argc, char** argv) {
  return kube::RunApp(
      {.name = cluster_controller::kName,
       .summary = "Requires the architectures that a pod's images run on, and removes the gate.",
       .version = api::kVersion,
       .argc = argc,
       .argv = argv},
      cluster_controller::Serve);
}
