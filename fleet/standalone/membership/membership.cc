// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/membership.h"

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/managed_cluster_status.h"
#include "fleet/standalone/access/agent_access.h"
#include "fleet/standalone/membership/cluster_state.h"
#include "kube/types/kinds.h"

namespace fleet {
namespace {

using kube::EventType;
using kube::Json;
using kube::ObjectKey;
using kube::Result;
using kube::Unstructured;
using kube::coordination::Lease;

// The longest backoff for an object whose writes fail. The longest delay that a reconciler asks for
// is a minute.
constexpr std::chrono::seconds kMaxBackoff{60};

// Managed fields are half of a small object, and annotations may have 256 KiB.
void WithoutUnused(Unstructured& object) {
  Json body = object.ToJson();
  auto metadata = body.find("metadata");
  if (metadata != body.end() && metadata->is_object()) {
    metadata->erase("managedFields");
    metadata->erase("annotations");
  }
  object = Unstructured(std::move(body));
}

kube::InformerOptions<Unstructured> Watched(const kube::Resource& resource,
                                            std::function<void(Unstructured&)> trim) {
  kube::InformerOptions<Unstructured> options;
  options.resource = resource;
  options.trim = std::move(trim);
  return options;
}

kube::InformerOptions<Unstructured> ClusterNamespaces() {
  auto options = Watched(kube::kNamespaces, WithoutUnused);
  options.label_selector = std::string(kClusterNameLabel);
  return options;
}

// The name and the renewTime. Without managed fields, a Lease of 600 bytes has 60.
Result<std::optional<std::string>> PackLease(std::string_view message) {
  Lease lease;
  Result<void> parsed = kube::ParseMessage(message, lease);
  if (!parsed) return parsed.error();
  Lease kept;
  kept.mutable_metadata()->set_name(lease.metadata().name());
  kept.mutable_metadata()->set_namespace_(lease.metadata().namespace_());
  if (lease.spec().has_renew_time())
    *kept.mutable_spec()->mutable_renew_time() = lease.spec().renew_time();
  return std::optional<std::string>(kept.SerializePartialAsString());
}

kube::InformerOptions<Lease> ClusterLeases() {
  kube::InformerOptions<Lease> options;
  options.field_selector = "metadata.name=" + std::string(kClusterLease);
  options.pack = PackLease;
  return options;
}

kube::ControllerOptions ControllerOf(const char* name, int workers) {
  return {.name = name,
          .workers = workers,
          .queue = {.max_delay = kMaxBackoff, .max_retry_after = kMaxBackoff}};
}

}  // namespace

Membership::Membership(kube::Client& client, kube::Clock& clock, const MembershipOptions& options)
    : clock_(clock),
      signs_(clock),
      clusters_(client, clock, Watched(kManagedClusters, TrimCluster)),
      sets_(client, clock, Watched(kManagedClusterSets, WithoutUnused)),
      bindings_(client, clock, Watched(kManagedClusterSetBindings, WithoutUnused)),
      namespaces_(client, clock, ClusterNamespaces()),
      leases_(client, clock, ClusterLeases()),
      stored_access_(client, clock,
                     [this](const std::string& cluster) {
                       cluster_controller_.Enqueue({"", cluster});
                     }),
      access_(client, stored_access_, namespaces_),
      cluster_reconciler_(client, clock, clusters_, access_, signs_, options.hub_namespace),
      set_reconciler_(client, clock, sets_, bindings_, index_),
      cluster_controller_(ControllerOf(kMembershipController, options.workers), cluster_reconciler_,
                          clock, options.clusters),
      set_controller_(ControllerOf(kClusterSetController, 1), set_reconciler_, clock,
                      options.sets) {
  FollowClusters();
  FollowSets();
}

void Membership::FollowClusters() {
  clusters_.OnEvent([this](EventType type, const Unstructured& cluster) {
    const std::string& name = cluster.metadata().name();
    ClusterIndex::Change change =
        type == EventType::kDeleted ? index_.Remove(name) : index_.Put(cluster.body());
    if (change.reported) signs_.Reported(name);
    cluster_controller_.Enqueue({"", name});
    if (!change.members) return;
    sets_.ForEachKey([this](const ObjectKey& set) { set_controller_.EnqueueAfter(set, kRecount); });
  });
  namespaces_.OnChange([this](EventType, const ObjectKey& ns) { cluster_controller_.Enqueue(ns); });
  leases_.OnEvent([this](EventType type, const Lease& lease) {
    if (type == EventType::kDeleted) return;
    const auto& renewed = lease.spec().renew_time();
    const std::string& cluster = lease.metadata().namespace_();
    // The first one means that the cluster has joined.
    if (signs_.Renewed(cluster, {renewed.seconds(), renewed.nanos()}))
      cluster_controller_.Enqueue({"", cluster});
  });
}

void Membership::FollowSets() {
  sets_.OnChange([this](EventType, const ObjectKey& set) {
    set_controller_.Enqueue(set);
    bindings_.ForEachKey([&](const ObjectKey& binding) {
      if (binding.name == set.name) set_controller_.Enqueue(binding);
    });
  });
  bindings_.OnChange(
      [this](EventType, const ObjectKey& binding) { set_controller_.Enqueue(binding); });
}

void Membership::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("watch-member-clusters", clusters_.Run());
  tasks.Spawn("watch-member-sets", sets_.Run());
  tasks.Spawn("watch-member-bindings", bindings_.Run());
  tasks.Spawn("watch-member-namespaces", namespaces_.Run());
  tasks.Spawn("watch-member-leases", leases_.Run());
  stored_access_.Start(tasks);
  tasks.Spawn("look-at-leases", LookAtLeases());
  tasks.Spawn("membership", RunControllers(tasks));
}

kube::Async<> Membership::WaitForSync() {
  Result<> synced = co_await clusters_.WaitForSync();
  if (synced) synced = co_await sets_.WaitForSync();
  if (synced) synced = co_await bindings_.WaitForSync();
  if (synced) synced = co_await namespaces_.WaitForSync();
  if (synced) synced = co_await leases_.WaitForSync();
  if (synced) synced = co_await stored_access_.WaitForSync();
  co_return synced;
}

// A missing object can be recognized only when all objects are known.
boost::asio::awaitable<void> Membership::RunControllers(kube::TaskGroup& tasks) {
  co_await kube::IgnoreCancellation();
  Result<> synced = co_await WaitForSync();
  if (!synced) co_return;
  for (std::string_view set : {kDefaultClusterSet, kGlobalClusterSet})
    set_controller_.Enqueue({"", std::string(set)});
  tasks.Spawn(cluster_controller_.name(), cluster_controller_.Run(tasks));
  tasks.Spawn(set_controller_.name(), set_controller_.Run(tasks));
}

// Agents renew their Leases also while this hub cannot see that.
boost::asio::awaitable<void> Membership::LookAtLeases() {
  co_await kube::IgnoreCancellation();
  while (true) {
    bool seen = leases_.synced() && leases_.failing_for() == kube::Duration::zero();
    if (!seen) signs_.Blind();
    Result<> slept = co_await clock_.Sleep(kLookAtLeases);
    if (!slept) co_return;
  }
}

}  // namespace fleet
