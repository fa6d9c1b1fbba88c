// SPDX-License-Identifier: Apache-2.0
#include "operator/config_store.h"

#include <algorithm>

#include "api/names.h"
#include "api/validation.h"

namespace operator_ {

using kube::Async;
using kube::EventType;
using kube::Result;

ConfigStore::ConfigStore(kube::Client& client, kube::Clock& clock)
    : configs_(client, clock, {}), cluster_(client, clock, {}) {
  configs_.OnEvent([this](EventType type, const api::PodPlacementConfig& config) {
    const std::string& ns = config.metadata().namespace_();
    bool preferred = Prefers(ns);
    if (type == EventType::kDeleted) {
      auto names = names_.find(ns);
      if (names != names_.end() && names->second.erase(config.metadata().name()) > 0 &&
          names->second.empty()) {
        names_.erase(names);
      }
      if (on_deleted_) on_deleted_(ns, config.metadata().uid());
    } else {
      names_[ns][config.metadata().name()] = config.MayPrefer();
    }
    if (on_namespace_) on_namespace_(ns);
    if (on_preferring_ && Prefers(ns) != preferred) on_preferring_();
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

std::vector<api::PodPlacementConfig> ConfigStore::In(const std::string& ns) const {
  std::vector<api::PodPlacementConfig> configs;
  auto names = names_.find(ns);
  if (names == names_.end()) return configs;
  for (auto& [name, prefers] : names->second) {
    if (std::optional<api::PodPlacementConfig> config = configs_.Get({ns, name}))
      configs.push_back(std::move(*config));
  }
  std::sort(configs.begin(), configs.end(), api::Precedes);
  return configs;
}

std::vector<std::string> ConfigStore::Namespaces() const {
  std::vector<std::string> namespaces;
  namespaces.reserve(names_.size());
  for (auto& [ns, names] : names_) namespaces.push_back(ns);
  return namespaces;
}

std::vector<std::string> ConfigStore::PreferringNamespaces() const {
  std::vector<std::string> namespaces;
  for (auto& [ns, names] : names_) {
    if (Prefers(ns)) namespaces.push_back(ns);
  }
  return namespaces;
}

bool ConfigStore::Prefers(const std::string& ns) const {
  auto names = names_.find(ns);
  return names != names_.end() && std::any_of(names->second.begin(), names->second.end(),
                                              [](const auto& config) { return config.second; });
}

}  // namespace operator_
