// SPDX-License-Identifier: Apache-2.0
#include "operator/config_store.h"

#include "api/names.h"

namespace operator_ {

using kube::Async;
using kube::EventType;
using kube::Result;

ConfigStore::ConfigStore(kube::Client& client, kube::Clock& clock)
    : configs_(client, clock, /*ns=*/""), cluster_(client, clock, {}) {
  configs_.OnChange([this](const std::string& ns) {
    bool preferred = preferring_.contains(ns);
    bool prefers = configs_.MayPrefer(ns);
    if (prefers) preferring_.insert(ns);
    if (!prefers) preferring_.erase(ns);
    if (on_namespace_) on_namespace_(ns);
    if (on_preferring_ && prefers != preferred) on_preferring_();
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
