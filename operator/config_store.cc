// SPDX-License-Identifier: Apache-2.0
#include "operator/config_store.h"

#include <string_view>
#include <utility>

#include "api/names.h"
#include "kube/codec/codec.h"

namespace operator_ {

using kube::Async;
using kube::EventType;
using kube::Result;
using kube::coordination::Lease;
using Reason = PreferringNamespaces::Reason;

namespace {

void Put(bool wanted, const std::string& ns, std::set<std::string>& namespaces) {
  if (wanted) {
    namespaces.insert(ns);
  } else {
    namespaces.erase(ns);
  }
}

// Keeps of a Lease which one it is, and drops those without an announced preference.
Result<std::optional<std::string>> PackAnnouncements(std::string_view message) {
  Lease lease;
  Result<void> parsed = kube::ParseMessage(message, lease);
  if (!parsed) return parsed.error();
  const std::string key(api::kPreferencesAnnouncedAnnotation);
  if (!lease.metadata().annotations().contains(key)) return std::optional<std::string>();
  Lease kept;
  kept.mutable_metadata()->set_name(lease.metadata().name());
  kept.mutable_metadata()->set_namespace_(lease.metadata().namespace_());
  return std::optional<std::string>(kept.SerializeAsString());
}

}  // namespace

ConfigStore::ConfigStore(kube::Client& client, kube::Clock& clock)
    : clock_(clock),
      configs_(client, clock, /*ns=*/""),
      cluster_(client, clock, {}),
      announcements_(client, clock,
                     {.field_selector = "metadata.name=" + std::string(api::kAnnouncementsName),
                      .pack = PackAnnouncements}),
      preferring_(clock) {
  configs_.OnChange([this](const std::string& ns) {
    bool any_before = AnyGatedByPolicy();
    Put(configs_.GatedByPolicy(ns), ns, gated_by_policy_);
    if (on_namespace_) on_namespace_(ns);
    SetPreferring(Reason::kStored, ns, configs_.MayChangePods(ns),
                  any_before != AnyGatedByPolicy());
  });
  cluster_.OnEvent([this](EventType, const api::ClusterPodPlacementConfig&) {
    if (on_cluster_) on_cluster_();
  });
  announcements_.OnChange([this](EventType type, const kube::ObjectKey& key) {
    SetPreferring(Reason::kAnnounced, key.ns, type != EventType::kDeleted);
  });
}

void ConfigStore::SetPreferring(Reason reason, const std::string& ns, bool holds, bool changed) {
  changed = preferring_.Set(reason, ns, holds) || changed;
  if (on_gated_ && changed) on_gated_();
  if (!holds) kept_.NotifyAll();
}

kube::asio::awaitable<void> ConfigStore::FollowRemovals() {
  co_await kube::IgnoreCancellation();
  while (true) {
    std::optional<kube::TimePoint> next = preferring_.NextRemoval();
    Result<> waited = kube::Ok();
    if (next) {
      waited = co_await clock_.SleepUntil(*next);
    } else {
      waited = co_await kept_.Wait();
    }
    if (!waited) co_return;
    if (next && on_gated_) on_gated_();
  }
}

void ConfigStore::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("watch-podplacementconfigs", configs_.Run());
  tasks.Spawn("watch-clusterpodplacementconfigs", cluster_.Run());
  tasks.Spawn("watch-announcements", announcements_.Run());
  tasks.Spawn("preferring-namespaces", FollowRemovals());
}

Async<> ConfigStore::WaitForSync() {
  Result<> synced = co_await configs_.WaitForSync();
  if (!synced) co_return synced.error();
  Result<> cluster_synced = co_await cluster_.WaitForSync();
  if (!cluster_synced) co_return cluster_synced.error();
  Result<> announcements_synced = co_await announcements_.WaitForSync();
  co_return announcements_synced;
}

std::optional<api::ClusterPodPlacementConfig> ConfigStore::Cluster() const {
  return cluster_.Get({"", std::string(api::kClusterConfigName)});
}

}  // namespace operator_
