// SPDX-License-Identifier: Apache-2.0
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <string>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/version.h"
#include "cluster-controller/controller_metrics.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/openshift_objects.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/pod_reconciler.h"
#include "cluster-controller/pull_secrets.h"
#include "cluster-controller/shard_watch.h"
#include "cluster-controller/system_config.h"
#include "configs/fresh_configs.h"
#include "inspection/config/node_file_flags.h"
#include "inspection/inspector.h"
#include "kube/admission/health.h"
#include "kube/admission/metrics.h"
#include "kube/admission/ops_server.h"
#include "kube/base/app.h"
#include "kube/cache/informer.h"
#include "kube/cache/waiting_pods.h"
#include "kube/client/client_metrics.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/controller/controller.h"
#include "kube/controller/controller_metrics.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/leader_election.h"
#include "kube/types/resource.h"

DEFINE_string(kubeconfig, "", "Path of a kubeconfig file; empty: $KUBECONFIG, else the pod's service account.");
DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's namespace: the Lease, and the objects that the ClusterPodPlacementConfig names.");
DEFINE_int32(workers, 16, "Pods at a time; none of them waits for a registry.");

namespace cluster_controller {
namespace {

using kube::Async;
using kube::EventType;
using kube::Result;
using kube::core::Pod;

constexpr char kController[] = "pod-placement";

constexpr std::chrono::seconds kFilesInterval{10};
constexpr std::chrono::seconds kOpenShiftInterval{60};

// What is counted, over all terms of leadership.
struct Counted {
  Counted(kube::Metrics& metrics, kube::Clock& clock)
      : client(metrics), pods(metrics), controller(metrics, clock, kController, FLAGS_workers), events(metrics) {}

  kube::ClientMetrics client;
  ControllerMetrics pods;
  kube::ControllerMetrics controller;
  kube::EventMetrics events;
};

// Works as the leader until the process stops (Ok) or leadership is lost (the elector's error).
Async<> Lead(kube::App& app, kube::Client& client, Counted& counted, kube::LeaderElector& elector) {
  kube::Clock& clock = app.clock();
  kube::TaskGroup tasks(app.executor());

  // What is watched.
  kube::Informer<Pod> pods(client, clock, kube::GatedPods("", api::kClusterGate));
  kube::Informer<api::ClusterPodPlacementConfig> cluster_configs(client, clock, {});
  kube::Informer<kube::core::ConfigMap> config_maps(client, clock, {.ns = FLAGS_namespace});
  kube::Informer<kube::coordination::Lease> leases(
      client, clock, {.field_selector = "metadata.name=" + std::string(api::kShardControllerName)});

  // What works.
  auto images = inspection::NewImageInspector(app.executor(), clock);
  PullSecrets secrets(client, clock);
  InspectionQueue queue(*images, clock, tasks, counted.pods);
  PodInspector inspector(queue, secrets, counted.pods, clock);
  configs::FreshConfigs configs(client, clock, {.lease = {FLAGS_namespace, std::string(api::kControllerName)}});
  ShardWatch shards(clock, api::kDefaultShardTakeoverAfter);
  OpenShiftObjects openshift(client);
  SystemConfig system_config(FLAGS_namespace, inspection::NodeFilesFromFlags(), cluster_configs, config_maps, *images,
                             secrets, shards, openshift.config());
  kube::Controller* busy = nullptr;
  kube::EventRecorder events(client, clock,
                             {.component = std::string(api::kEventComponent),
                              .busy = [&busy] { return busy != nullptr && busy->queue().size() > 0; },
                              .observer = &counted.events});
  PodReconciler reconciler({client, clock, tasks, events, configs, inspector, shards, counted.pods, pods,
                            cluster_configs});
  kube::Controller controller({.name = kController, .workers = FLAGS_workers}, reconciler, clock, &counted.controller);
  busy = &controller;

  // What wakes what.
  pods.OnChange([&](EventType, const kube::ObjectKey& pod) { controller.Enqueue(pod); });
  queue.OnAnswer([&](const kube::ObjectKey& pod) { controller.Enqueue(pod); });
  cluster_configs.OnEvent([&](EventType, const api::ClusterPodPlacementConfig& config) {
    system_config.Apply();
    // Its deletion is no time to wait for the next try.
    if (!config.metadata().has_deletion_timestamp()) return;
    pods.ForEachKey([&](const kube::ObjectKey& pod) { controller.Enqueue(pod); });
  });
  config_maps.OnEvent([&](EventType, const kube::core::ConfigMap&) { system_config.Apply(); });
  leases.OnEvent([&](EventType type, const kube::coordination::Lease& lease) { shards.OnLease(type, lease); });

  tasks.Spawn("events", events.Run());
  tasks.Spawn("cluster-configs", cluster_configs.Run());
  tasks.Spawn("config-maps", config_maps.Run());
  tasks.Spawn("configs", configs.Run());
  tasks.Spawn("leases", leases.Run());
  tasks.Spawn("pods", pods.Run());
  tasks.Spawn("openshift", openshift.Run(clock, kOpenShiftInterval, [&] { system_config.Apply(); }));
  tasks.Spawn("files", system_config.WatchFiles(clock, kFilesInterval));

  // The configuration comes before the first pod.
  Result<> synced = co_await cluster_configs.WaitForSync();
  if (synced) synced = co_await config_maps.WaitForSync();
  if (synced) {
    system_config.Apply();
    tasks.Spawn(kController, controller.Run(tasks));
  }
  Result<> held = synced;
  if (synced) held = co_await elector.Hold();

  Result<> stopped = co_await tasks.Stop(clock, app.grace_left());
  LOG_IF(WARNING, !stopped) << stopped.error();
  if (app.stopping()) co_return kube::Ok();
  co_return held;
}

Async<> Main(kube::App& app) {
  Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) co_return config.error();
  kube::Metrics metrics;
  Counted counted(metrics, app.clock());
  auto client = kube::NewClient(app.executor(), app.clock(), std::move(*config),
                                {.name = "cluster-controller", .observer = &counted.client});
  if (!client) co_return client.error();

  kube::HealthRegistry health;
  auto ops = kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health, metrics);
  if (!ops) co_return ops.error();
  app.tasks().Spawn("ops", (*ops)->Run());

  kube::LeaderElector elector(**client, app.clock(),
                              {.ns = FLAGS_namespace,
                               .name = std::string(api::kControllerName),
                               .on_change = kube::LeaderMetric(metrics, std::string(api::kControllerName))});
  // A lost term ends the work, not the process: an API server that was away costs no restart.
  Result<> led = kube::Ok();
  while (!app.stopping()) {
    led = co_await elector.Acquire();
    if (led) led = co_await Lead(app, **client, counted, elector);
    LOG_IF(WARNING, !led && !app.stopping()) << "not leading: " << led.error();
  }
  Result<> released = co_await elector.Release();
  LOG_IF(WARNING, !released) << "release the lease: " << released.error();

  Result<> stopped = co_await app.tasks().Stop(app.clock(), app.grace_left());
  LOG_IF(WARNING, !stopped) << stopped.error();
  co_return kube::Ok();
}

}  // namespace
}  // namespace cluster_controller

int main(int argc, char** argv) {
  return kube::RunApp({"cluster-controller", "Requires the architectures that a pod's images run on, and drops the gate.",
                       api::kVersion, argc, argv},
                      cluster_controller::Main);
}
