// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/leader.h"

#include <algorithm>

#include "api/names.h"
#include "kube/types/resource.h"
#include "watches/gated_pods.h"

namespace cluster_controller {
namespace {

using kube::EventType;
using kube::ObjectKey;
using kube::Result;

PodAdditionsList CreateAll(const std::vector<NewPodAdditions>& additions) {
  PodAdditionsList created;
  for (const NewPodAdditions& create : additions) created.push_back(create());
  return created;
}

}  // namespace

Leader::Leader(LeaderParts parts, LeaderOptions options, kube::TaskGroup& tasks)
    : parts_(std::move(parts)),
      pods_(parts_.client, parts_.clock,
            watches::GatedPods("", {api::kClusterGate, api::kLocalGate})),
      leases_(parts_.client, parts_.clock, ShardLeases()),
      deployments_(parts_.client, parts_.clock, ShardDeployments()),
      pod_tokens_(parts_.executor, parts_.client, parts_.clock),
      images_(parts_.executor, parts_.client, parts_.clock,
              {.ns = options.ns,
               .files = std::move(options.files),
               .cloud = std::move(options.cloud),
               .account_tokens = &pod_tokens_,
               .new_inspector = std::move(options.new_inspector)}),
      node_images_(parts_.client, parts_.clock, tasks),
      queue_(images_.images(), parts_.clock, tasks, parts_.metrics),
      inspector_(queue_, images_.secrets(), node_images_, parts_.metrics, parts_.clock),
      offered_(parts_.client, parts_.clock, tasks, parts_.events),
      configs_(parts_.client, parts_.clock, /*ns=*/""),
      rules_(parts_.client, parts_.clock),
      additions_(CreateAll(options.additions)),
      namespaces_(parts_.client, options.excluded_namespaces),
      large_pods_(parts_.client, pods_, {.per_namespace = 1, .total = 2}),
      reconciler_({options.ns, parts_.client, parts_.clock, tasks, parts_.events, configs_, rules_,
                   inspector_, offered_, additions_, parts_.shards, namespaces_, parts_.known,
                   parts_.metrics, large_pods_, images_.cluster_configs()}),
      notice_(reconciler_, parts_.ability),
      controller_({.name = kController, .workers = options.workers}, large_pods_, parts_.clock,
                  &parts_.observer) {
  parts_.current = this;
  parts_.known.BeginTerm();
  parts_.shards.BeginTerm();
  parts_.ability.BeginTerm([this] { return Watches(); });

  inspector_.Use(&findings_);
  large_pods_.Serve(notice_);
  for (const NewTermFeature& create : options.features)
    features_.push_back(create({options.ns, parts_.client, parts_.clock, parts_.events, configs_,
                                inspector_, namespaces_, images_.images(), findings_}));

  // The events that enqueue pods.
  pods_.OnChange([this](EventType type, const ObjectKey& pod) { OnPod(type, pod); });
  queue_.OnResult([this](const ObjectKey& key) { Wake(key); });
  large_pods_.OnTurn([this](const ObjectKey& pod) { controller_.Enqueue(pod); });
  inspector_.OnTurn([this](const ObjectKey& key) { Wake(key); });
  node_images_.OnListed([this](const ObjectKey& key) { Wake(key); });
  images_.cluster_configs().OnEvent(
      [this](EventType type, const api::ClusterPodPlacementConfig& config) {
        for (const std::unique_ptr<PodAdditions>& additions : additions_)
          additions->Follow(type == EventType::kDeleted ? nullptr : &config);
        for (const std::unique_ptr<TermFeature>& feature : features_)
          feature->Follow(type == EventType::kDeleted ? nullptr : &config);
        // Its deletion ends the backoff of all pods.
        if (!config.metadata().has_deletion_timestamp()) return;
        pods_.ForEachKey([this](const ObjectKey& pod) { controller_.Enqueue(pod); });
      });
  leases_.OnEvent([this](EventType type, const kube::coordination::Lease& lease) {
    parts_.shards.OnLease(type, lease);
  });
  deployments_.OnEvent([this](EventType type, const kube::apps::Deployment& deployment) {
    parts_.shards.OnDeployment(type, deployment);
  });
}

Leader::~Leader() {
  parts_.ability.EndTerm();
  parts_.current = nullptr;
}

WatchState Leader::Watches() const {
  return {.synced = pods_.synced() && configs_.synced() && images_.synced(),
          .failing_for =
              std::max({pods_.failing_for(), configs_.failing_for(), images_.failing_for()})};
}

void Leader::OnPod(EventType type, const ObjectKey& pod) {
  // Most pods leave the cache because of this controller's own write. A running reconcile needs the
  // state of its pod.
  if (type != EventType::kDeleted || controller_.queue().working(pod)) {
    controller_.Enqueue(pod);
    return;
  }
  controller_.queue().Drop(pod);
  reconciler_.Forget(pod);
}

void Leader::Wake(const ObjectKey& key) {
  for (const std::unique_ptr<TermFeature>& feature : features_) {
    if (feature->Wake(key)) return;
  }
  controller_.Enqueue(key);
}

boost::asio::awaitable<void> Leader::Run(kube::TaskGroup& tasks) {
  co_await kube::IgnoreCancellation();
  images_.Start(tasks);
  tasks.Spawn("configs", configs_.Run());
  tasks.Spawn("deployments", deployments_.Run());
  tasks.Spawn("leases", leases_.Run());
  tasks.Spawn("pods", pods_.Run());
  for (const std::unique_ptr<PodAdditions>& additions : additions_)
    tasks.Spawn("additions", additions->Run());

  // Applies the configuration before the first pod is reconciled.
  Result<> synced = co_await images_.WaitForSync();
  if (!synced) co_return;
  tasks.Spawn(controller_.name(), controller_.Run(tasks));
  for (const std::unique_ptr<TermFeature>& feature : features_) feature->Start(tasks);
  synced = co_await pods_.WaitForSync();
  if (synced) reconciler_.ForgetDeleted();
}

}  // namespace cluster_controller
