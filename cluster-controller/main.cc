// SPDX-License-Identifier: Apache-2.0
// cluster-controller: requires the architectures that a pod's images run on, and drops the cluster
// gate. Of several replicas the one that holds the Lease works (see leader.h).
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <memory>
#include <string>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "cluster-controller/controller_metrics.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/leader.h"
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
#include "kube/server/ops_server.h"

DEFINE_string(kubeconfig, "",
              "Path of a kubeconfig file; empty: $KUBECONFIG, else the pod's service account.");
DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's namespace: the Lease, and the objects that the "
              "ClusterPodPlacementConfig names.");
DEFINE_int32(workers, 16, "Pods at a time; none of them waits for a registry.");

namespace cluster_controller {
namespace {

using kube::Async;
using kube::Result;

Async<> Main(kube::App& app) {
  // The API server.
  Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) co_return config.error();
  kube::Metrics metrics;
  kube::ClientMetrics client_metrics(metrics);
  auto client = kube::NewClient(
      app.executor(), app.clock(), std::move(*config),
      {.user_agent = api::UserAgent("cluster-controller"), .observer = &client_metrics});
  if (!client) co_return client.error();

  // What outlives the terms of leadership.
  ControllerMetrics pod_metrics(metrics);
  kube::ControllerMetrics controller_metrics(metrics, app.clock(), kController, FLAGS_workers);
  kube::EventMetrics event_metrics(metrics, "mto_ppo_ctrl_");
  Leader* leader = nullptr;
  kube::EventRecorder events(**client, app.clock(),
                             {.component = std::string(api::kEventComponent),
                              .busy = [&leader] { return leader != nullptr && leader->busy(); },
                              .observer = &event_metrics});

  kube::HealthRegistry health;
  auto ops = kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health, metrics);
  if (!ops) co_return ops.error();
  app.tasks().Spawn("ops", (*ops)->Run());
  app.tasks().Spawn("events", events.Run());

  // Work, while the Lease is ours.
  KnownPods known(app.clock());
  ShardWatch shards(app.clock(), api::kDefaultShardTakeoverAfter);
  LeaderParts parts{leader, app.executor(), **client,    app.clock(),       events,
                    known,  shards,         pod_metrics, controller_metrics};
  LeaderOptions options{
      .ns = FLAGS_namespace, .workers = FLAGS_workers, .files = inspection::NodeFilesFromFlags()};
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
  Result<> ended = co_await app.EndTasks(app.tasks());
  (void)ended;
  kube::Duration grace = app.grace_left();
  Result<> drained = co_await (*ops)->Drain(grace);
  LOG_IF(WARNING, !drained) << "drain: " << drained.error();
  co_return kube::Ok();
}

}  // namespace
}  // namespace cluster_controller

int main(int argc, char** argv) {
  return kube::RunApp({"cluster-controller",
                       "Requires the architectures that a pod's images run on, and drops the gate.",
                       api::kVersion, argc, argv},
                      cluster_controller::Main);
}
