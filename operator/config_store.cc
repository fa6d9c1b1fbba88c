// SPDX-License-Identifier: Apache-2.0
#include "operator/config_store.h"

#include "api/names.h"

namespace operator_ {

using kube::Async;
using kube::EventType;
using kube::Result;

namespace {

// Adds or removes `ns`. Returns: whether `namespaces` has changed.
bool Put(bool wanted, const std::string& ns, std::set<std::string>& namespaces) {
  return wanted ? namespaces.insert(ns).second : namespaces.erase(ns) > 0;
}

}  // namespace

ConfigStore::ConfigStore(kube::Client& client, kube::Clock& clock)
    : configs_(client, clock, /*ns=*/""), cluster_(client, clock, {}) {
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
}

void ConfigStore::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("watch-podplacementconfigs", configs_.Run());
  tasks.Spawn("watch-clusterpodplacementconfigs", cluster_.Run());
}

Async<> ConfigStore::WaitForSync() {
  Result<> synced = co_await configs_.WaitForSync();
  if (!synced) co_return synced.error();
  co_return co_await cluster_.WaitForSync();
}

std::optional<api::ClusterPodPlacementConfig> ConfigStore::Cluster() const {
  return cluster_.Get({"", std::string(api::kClusterConfigName)});
}

}  // namespace operator_
