// SPDX-License-Identifier: Apache-2.0
#include "operator/config_store.h"

#include <string_view>
#include <utility>

#include "api/names.h"
#include "kube/codec/codec.h"
#include "watches/announcements.h"

namespace operator_ {

using kube::Async;
using kube::EventType;
using kube::Result;
using kube::coordination::Lease;

namespace {

// Adds or removes `ns`. Returns: whether `namespaces` has changed.
bool Put(bool wanted, const std::string& ns, std::set<std::string>& namespaces) {
  return wanted ? namespaces.insert(ns).second : namespaces.erase(ns) > 0;
}

// Keeps of a Lease which one it is, and drops those without an announced preference.
Result<std::optional<std::string>> PackAnnouncements(std::string_view message) {
  Lease lease;
  Result<void> parsed = kube::ParseMessage(message, lease);
  if (!parsed) return parsed.error();
  const std::string key(watches::kPreferencesAnnouncedAnnotation);
  if (!lease.metadata().annotations().contains(key)) return std::optional<std::string>();
  Lease kept;
  kept.mutable_metadata()->set_name(lease.metadata().name());
  kept.mutable_metadata()->set_namespace_(lease.metadata().namespace_());
  return std::optional<std::string>(kept.SerializeAsString());
}

}  // namespace

ConfigStore::ConfigStore(kube::Client& client, kube::Clock& clock)
    : configs_(client, clock, /*ns=*/""),
      cluster_(client, clock, {}),
      announcements_(client, clock,
                     {.field_selector = "metadata.name=" + std::string(api::kAnnouncementsName),
                      .pack = PackAnnouncements}) {
  configs_.OnChange([this](const std::string& ns) {
    bool any_before = AnyGatedByPolicy();
    bool changed = Put(configs_.MayPrefer(ns), ns, preferring_);
    Put(configs_.GatedByPolicy(ns), ns, gated_by_policy_);
    changed = changed || any_before != AnyGatedByPolicy();
    if (on_namespace_) on_namespace_(ns);
    if (on_gated_ && changed) on_gated_();
  });
  cluster_.OnEvent([this](EventType, const api::ClusterPodPlacementConfig&) {
    if (on_cluster_) on_cluster_();
  });
  announcements_.OnChange([this](EventType type, const kube::ObjectKey& key) {
    bool changed = Put(type != EventType::kDeleted, key.ns, announced_);
    if (on_gated_ && changed && !preferring_.contains(key.ns)) on_gated_();
  });
}

void ConfigStore::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("watch-podplacementconfigs", configs_.Run());
  tasks.Spawn("watch-clusterpodplacementconfigs", cluster_.Run());
  tasks.Spawn("watch-announcements", announcements_.Run());
}

Async<> ConfigStore::WaitForSync() {
  Result<> synced = co_await configs_.WaitForSync();
  if (!synced) co_return synced.error();
  Result<> cluster_synced = co_await cluster_.WaitForSync();
  if (!cluster_synced) co_return cluster_synced.error();
  Result<> announcements_synced = co_await announcements_.WaitForSync();
  co_return announcements_synced;
}

std::vector<std::string> ConfigStore::PreferringNamespaces() const {
  std::set<std::string> all = preferring_;
  all.insert(announced_.begin(), announced_.end());
  return {all.begin(), all.end()};
}

std::optional<api::ClusterPodPlacementConfig> ConfigStore::Cluster() const {
  return cluster_.Get({"", std::string(api::kClusterConfigName)});
}

}  // namespace operator_
