// SPDX-License-Identifier: Apache-2.0
// ConfigStore: the ClusterPodPlacementConfig and all PodPlacementConfigs, from watches, indexed by
// namespace: an event in one namespace never costs work in another one. Thread: the client's.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"

namespace operator_ {

class ConfigStore {
 public:
  ConfigStore(kube::Client& client, kube::Clock& clock);

  // Called with the namespace of a PodPlacementConfig that was added, updated or deleted. Before
  // Start().
  void OnNamespace(std::function<void(const std::string& ns)> listener) {
    on_namespace_ = std::move(listener);
  }
  // Called with the namespace and uid of a deleted PodPlacementConfig. Before Start().
  void OnDeleted(std::function<void(const std::string& ns, const std::string& uid)> listener) {
    on_deleted_ = std::move(listener);
  }
  // Called when the ClusterPodPlacementConfig was added, updated or deleted. Before Start().
  void OnCluster(std::function<void()> listener) { on_cluster_ = std::move(listener); }

  // Called when PreferringNamespaces() has changed. Before Start().
  void OnPreferringNamespaces(std::function<void()> listener) {
    on_preferring_ = std::move(listener);
  }

  // Starts the watches; `tasks` must be stopped before this is destroyed.
  void Start(kube::TaskGroup& tasks);
  kube::Async<> WaitForSync();

  // The singleton, nullopt if there is none.
  std::optional<api::ClusterPodPlacementConfig> Cluster() const;
  // The PodPlacementConfigs of `ns` in the order in which they are applied.
  std::vector<api::PodPlacementConfig> In(const std::string& ns) const;
  // The namespaces with at least one PodPlacementConfig.
  std::vector<std::string> Namespaces() const;
  // Those in which at least one may prefer an architecture; sorted.
  std::vector<std::string> PreferringNamespaces() const;
  bool Has(const std::string& ns) const { return names_.contains(ns); }
  // True if no namespace has a PodPlacementConfig.
  bool empty() const { return names_.empty(); }

 private:
  bool Prefers(const std::string& ns) const;

  kube::Informer<api::PodPlacementConfig> configs_;
  kube::Informer<api::ClusterPodPlacementConfig> cluster_;
  // By namespace and name: whether the config may prefer an architecture.
  std::map<std::string, std::map<std::string, bool>> names_;
  std::function<void(const std::string&)> on_namespace_;
  std::function<void(const std::string&, const std::string&)> on_deleted_;
  std::function<void()> on_cluster_;
  std::function<void()> on_preferring_;
};

}  // namespace operator_
