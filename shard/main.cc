// SPDX-License-Identifier: Apache-2.0
// shard: the pod placement controller of one namespace. Gives gated pods the preferences of the
// namespace's PodPlacementConfigs and drops their local gate. Of several replicas one works, the
// others watch along and wait.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <memory>
#include <optional>
#include <string>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "kube/base/app.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client_metrics.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/controller/controller.h"
#include "kube/controller/controller_metrics.h"
#include "kube/controller/event_recorder.h"
#include "kube/controller/large_pods.h"
#include "kube/controller/leadership.h"
#include "kube/metrics/metrics.h"
#include "kube/server/health.h"
#include "kube/server/ops_server.h"
#include "kube/types/core.pb.h"
#include "shard/metrics.h"
#include "shard/pod_reconciler.h"
#include "shard/rights.h"
#include "watches/fresh_configs.h"
#include "watches/gated_pods.h"

DEFINE_string(namespace, "", "The namespace to serve, and where the Lease is. Required.");
DEFINE_string(
    kubeconfig, "",
    "How to reach the API server; by default $KUBECONFIG, then the pod's service account.");
DEFINE_string(lease_owner, "",
              "The operator's namespace that the Lease is removed with, as NAME/UID; empty: none.");
DEFINE_bool(leader_elect, true, "Whether to work only while holding the Lease.");

namespace shard {
namespace {

using kube::App;
using kube::Async;
using kube::EventType;
using kube::Ok;
using kube::Result;
using kube::core::Pod;
using namespace std::chrono_literals;

constexpr std::string_view kName = "shard";
constexpr int kWorkers = 16;
// Of a pod whose writes fail.
constexpr std::chrono::seconds kMaxBackoff{30};

Result<void> CheckFlags() {
  constexpr size_t kMaxLength = 63;
  bool plain = FLAGS_namespace.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
               std::string::npos;
  if (!plain || FLAGS_namespace.empty() || FLAGS_namespace.size() > kMaxLength) {
    return kube::Error::Invalid("--namespace must name the namespace to serve");
  }
  if (!FLAGS_lease_owner.empty() && FLAGS_lease_owner.find('/') == std::string::npos) {
    return kube::Error::Invalid("--lease-owner must be NAME/UID");
  }
  return Ok();
}

std::optional<kube::meta::OwnerReference> LeaseOwner() {
  if (FLAGS_lease_owner.empty()) return std::nullopt;
  size_t slash = FLAGS_lease_owner.find('/');
  kube::meta::OwnerReference owner;
  owner.set_api_version("v1");
  owner.set_kind("Namespace");
  owner.set_name(FLAGS_lease_owner.substr(0, slash));
  owner.set_uid(FLAGS_lease_owner.substr(slash + 1));
  return owner;
}

// How long a replica that does not lead leaves a pod to the one that does. It is not the Lease that
// says who may work, as others in the namespace may write it too: it says who works at once.
constexpr kube::Duration kLeftToTheLeader = 20s;
// Without a watch for so long, pods may be waiting that it does not know of.
constexpr kube::Duration kMaxWithoutWatch = 30s;

struct Shard {
  Shard(App& app, kube::Client& client, kube::Metrics& registry, const std::string& ns)
      : metrics(registry),
        controller_metrics(registry, app.clock(), "shard-pod", kWorkers),
        event_metrics(registry, "mto_ppo_ctrl_"),
        pods(client, app.clock(), watches::GatedPods(ns, {api::kLocalGate})),
        configs(client, app.clock(), {.ns = ns}),
        events(client, app.clock(),
               {.component = std::string(api::kEventComponent),
                .busy = [this] { return controller.queue().size() > 0; },
                .observer = &event_metrics}),
        large_pods(client, pods, {.per_namespace = 1, .total = 1}),
        rights(client, app.clock(), ns),
        reconciler({.client = client,
                    .clock = app.clock(),
                    .pods = large_pods,
                    .configs = configs,
                    .events = events,
                    .rights = rights,
                    .metrics = metrics}),
        controller({.name = "shard-pod", .workers = kWorkers, .queue = {.max_delay = kMaxBackoff}},
                   large_pods, app.clock(), &controller_metrics) {
    large_pods.Serve(reconciler);
    large_pods.OnTurn([this](const kube::ObjectKey& pod) { controller.Enqueue(pod); });
    pods.OnChange([this](EventType type, const kube::ObjectKey& pod) {
      metrics.pods_gated.Set(static_cast<double>(pods.size()));
      if (type != EventType::kDeleted)
        controller.EnqueueAfter(pod, leads ? kube::Duration::zero() : kLeftToTheLeader);
    });
  }

  // Whether it can do what a leader has to.
  Result<void> Able() const {
    if (!pods.synced() || !configs.synced())
      return kube::Error::Unavailable("the caches are not synced yet");
    if (pods.failing_for() > kMaxWithoutWatch)
      return kube::Error::Unavailable("there is no watch of pods");
    if (configs.failing_for() > kMaxWithoutWatch) {
      return kube::Error::Unavailable("there is no watch of PodPlacementConfigs");
    }
    return rights.Check();
  }

  ShardMetrics metrics;
  kube::ControllerMetrics controller_metrics;
  kube::EventMetrics event_metrics;
  kube::Informer<Pod> pods;
  watches::FreshConfigs configs;
  kube::EventRecorder events;
  kube::LargePods large_pods;
  Rights rights;
  PodReconciler reconciler;
  kube::Controller controller;
  bool leads = false;
};

// While this replica leads, each pod is taken at once.
class Leading final : public kube::Term {
 public:
  explicit Leading(Shard& shard) : shard_(shard) {}
  ~Leading() override { shard_.leads = false; }

  boost::asio::awaitable<void> Run(kube::TaskGroup&) override {
    shard_.leads = true;
    shard_.pods.ForEachKey([this](const kube::ObjectKey& pod) { shard_.controller.Enqueue(pod); });
    co_return;
  }

 private:
  Shard& shard_;
};

Async<> Serve(App& app) {
  if (Result<void> flags = CheckFlags(); !flags) co_return flags.error();

  // The API server.
  kube::Metrics registry;
  kube::ClientMetrics client_metrics(registry);
  Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) co_return config.error();
  auto client = kube::NewClient(app.executor(), app.clock(), std::move(*config),
                                {.user_agent = api::UserAgent(kName), .observer = &client_metrics});
  if (!client) co_return client.error();

  // The caches, and what is told about them.
  Shard shard(app, **client, registry, FLAGS_namespace);
  kube::HealthRegistry health;
  health.AddReadiness("work", [&shard] { return shard.Able(); });
  auto ops =
      kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health, registry);
  if (!ops) co_return ops.error().Prefix("--health-address");
  app.tasks().Spawn("ops-server", (*ops)->Run());
  app.tasks().Spawn("pod-watch", shard.pods.Run());
  app.tasks().Spawn("configs", shard.configs.Run());
  app.tasks().Spawn("events", shard.events.Run());
  app.tasks().Spawn("rights", shard.rights.Run());
  kube::TaskGroup workers(app.executor());
  workers.Spawn("shard-pod", shard.controller.Run(workers));

  // Work. The Lease is a sign of life as well: it is for a replica that can work.
  if (FLAGS_leader_elect) {
    kube::Leadership leadership(
        app, **client,
        {.ns = FLAGS_namespace,
         .name = std::string(api::kShardControllerName),
         .owner = LeaseOwner(),
         .on_change = kube::LeaderMetric(registry, std::string(api::kShardControllerName)),
         .able = [&shard] { return shard.Able(); }});
    kube::Leadership::NewTerm new_term = [&shard](kube::TaskGroup&) {
      return std::make_unique<Leading>(shard);
    };
    co_await leadership.Run(std::move(new_term));
  } else {
    shard.leads = true;
    Result<> stopped = co_await app.WaitForStop();
    (void)stopped;
  }

  // Drain: what is under way is finished, then its events are sent.
  Result<> ended = co_await app.EndTasks(workers);
  ended = co_await app.EndTasks(app.tasks());
  (void)ended;
  kube::Duration grace = app.grace_left();
  Result<> drained = co_await (*ops)->Drain(grace);
  LOG_IF(WARNING, !drained) << "drain: " << drained.error();
  co_return Ok();
}

}  // namespace
}  // namespace shard

int main(int argc, char** argv) {
  return kube::RunApp(
      {.name = shard::kName,
       .summary = "Gives the pods of one namespace the preferences of its PodPlacementConfigs.",
       .version = api::kVersion,
       .argc = argc,
       .argv = argv},
      shard::Serve);
}
