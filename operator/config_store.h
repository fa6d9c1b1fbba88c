// SPDX-License-Identifier: Apache-2.0
// ConfigStore: the ClusterPodPlacementConfig and all PodPlacementConfigs, from watches, indexed by
// namespace: an event in one namespace never costs work in another one. Also which namespaces have
// announcements (watches/announcements.h) of PodPlacementConfigs. Thread: the client's.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/coordination.pb.h"
#include "operator/preferring_namespaces.h"
#include "watches/config_cache.h"

namespace operator_ {

class ConfigStore {
 public:
  using Configs = watches::ConfigCache::Configs;

  ConfigStore(kube::Client& client, kube::Clock& clock);

  // Called with the namespace of a PodPlacementConfig that was added, updated or deleted, or whose
  // budget has changed. Before Start().
  void OnNamespace(std::function<void(const std::string& ns)> listener) {
    on_namespace_ = std::move(listener);
  }
  // Called with the namespace and uid of a deleted PodPlacementConfig. Before Start().
  void OnDeleted(std::function<void(const std::string& ns, const std::string& uid)> listener) {
    configs_.OnDeleted(std::move(listener));
  }
  // Called when the ClusterPodPlacementConfig was added, updated or deleted. Before Start().
  void OnCluster(std::function<void()> listener) { on_cluster_ = std::move(listener); }

  // Called when PreferringNamespaces() or AnyGatedByPolicy() has changed. Before Start().
  void OnGated(std::function<void()> listener) { on_gated_ = std::move(listener); }

  // Starts the watches; `tasks` must be stopped before this is destroyed.
  void Start(kube::TaskGroup& tasks);
  kube::Async<> WaitForSync();

  // The singleton, nullopt if there is none.
  std::optional<api::ClusterPodPlacementConfig> Cluster() const;
  // The PodPlacementConfigs of `ns` in the order in which they are applied; never nullptr.
  Configs In(const std::string& ns) const { return configs_.In(ns); }
  // The namespaces with at least one PodPlacementConfig.
  std::vector<std::string> Namespaces() const { return configs_.Namespaces(); }
  // Those in which at least one may change pods, or may be stored any moment, and those
  // where that was so a short time ago (preferring_namespaces.h); sorted.
  std::vector<std::string> PreferringNamespaces() const { return preferring_.List(); }
  // A policy gates pods for a PodPlacementConfig, as its status says.
  bool AnyGatedByPolicy() const { return !gated_by_policy_.empty(); }
  bool Has(const std::string& ns) const { return configs_.Has(ns); }
  // True if no namespace has a PodPlacementConfig.
  bool empty() const { return configs_.empty(); }
  // How many PodPlacementConfigs are not in force because all would be too large.
  size_t LeftOut() const { return configs_.LeftOut(); }

 private:
  // Sets a reason, and calls what has to be called.
  void SetPreferring(operator_::PreferringNamespaces::Reason reason, const std::string& ns,
                     bool holds, bool changed = false);
  // Calls OnGated() when PreferringNamespaces() becomes shorter.
  kube::asio::awaitable<void> FollowRemovals();

  kube::Clock& clock_;
  // Filled when it is read.
  mutable watches::ConfigCache configs_;
  kube::Informer<api::ClusterPodPlacementConfig> cluster_;
  // With kPreferencesAnnouncedAnnotation.
  kube::Informer<kube::coordination::Lease> announcements_;
  // Where a PodPlacementConfig may change pods, or one is announced.
  operator_::PreferringNamespaces preferring_;
  // A namespace has no reason any more, and will be removed.
  kube::Notifier kept_;
  // Those with a PodPlacementConfig that a policy gates for.
  std::set<std::string> gated_by_policy_;
  std::function<void(const std::string&)> on_namespace_;
  std::function<void()> on_cluster_;
  std::function<void()> on_gated_;
};

}  // namespace operator_
