// SPDX-License-Identifier: Apache-2.0
// ConfigCache: the PodPlacementConfigs of one namespace or of all, from a watch, within the budgets
// of api/pod_placement_config.h.
//
// What is over a budget is not in force: In() returns it without its spec (LeaveOut()). The oldest
// configs stay (kube/cache/age_budget.h), whatever arrived first, so all processes that watch the
// same namespaces decide alike; those that watch one namespace follow the status for the budget of
// all. Objects are kept packed, without what is not used, and with a spec only if they are in
// force: the spec of one that is in force again is read again. The parsed configs of a namespace
// are built when they are needed, and shared.
//
//   ConfigCache configs(client, clock, ns);
//   configs.OnChange([&](const std::string& ns) { queue.Add(ns); });
//   tasks.Spawn("configs", configs.Run());
//   ConfigCache::Configs of_shop = configs.In("shop");
//
// Thread: the client's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/cache/age_budget.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace watches {

class ConfigCache {
 public:
  using Configs = std::shared_ptr<const std::vector<api::PodPlacementConfig>>;
  struct Version {
    std::string uid;
    int64_t generation = 0;
  };

  // `client` and `clock` outlive this. An empty `ns`: all namespaces.
  ConfigCache(kube::Client& client, kube::Clock& clock, std::string ns);

  // Called with a namespace after In() has changed for it. Before Run().
  void OnChange(std::function<void(const std::string& ns)> listener) {
    on_change_ = std::move(listener);
  }
  // Called with the namespace and uid of a deleted config, before OnChange(). Before Run().
  void OnDeleted(std::function<void(const std::string& ns, const std::string& uid)> listener) {
    on_deleted_ = std::move(listener);
  }

  // Watches until cancelled.
  kube::asio::awaitable<void> Run();
  kube::Async<> WaitForSync() { return watch_.WaitForSync(); }
  bool synced() const { return watch_.synced(); }
  // See kube::Informer.
  kube::Duration failing_for() const { return watch_.failing_for(); }

  // The configs of `ns` in the order in which they are applied; never nullptr.
  Configs In(const std::string& ns);
  // nullptr for an unknown config. Valid until the next change.
  const Version* Find(const std::string& ns, const std::string& name) const;
  bool Has(const std::string& ns) const { return namespaces_.contains(ns); }
  bool empty() const { return namespaces_.empty(); }
  // The namespaces with at least one config; sorted.
  std::vector<std::string> Namespaces() const;
  // Whether a config of `ns` that is in force may change pods.
  bool MayChangePods(const std::string& ns) const;
  // Whether a policy gates pods for a config of `ns`, as its status says.
  bool GatedByPolicy(const std::string& ns) const;
  // How many configs are over a budget, or will be in force again as soon as they are read.
  size_t LeftOut() const { return budget_.LeftOut("") + missing_.size(); }

 private:
  struct Entry {
    Version version;
    bool may_change_pods = false;
    bool gated_by_policy = false;
    // The object without what is not used; with its spec if it fits and is not in missing_.
    std::string packed;
    bool has_spec = false;
  };
  struct Namespace {
    std::map<std::string, Entry> entries;  // by name
    Configs configs;                       // nullptr after a change
  };

  // Moves what is used of `object` to received_: the informer keeps only which objects exist.
  void Receive(kube::Unstructured& object);
  void OnEvent(kube::EventType type, const kube::Unstructured& object);
  void Put(const kube::ObjectKey& key, kube::Unstructured object);
  void Remove(const kube::ObjectKey& key);
  // After a change of the budget's result for a known config.
  void Refit(const kube::ObjectKey& key);
  void Notify(const std::string& ns);
  // nullptr for an unknown config.
  Entry* EntryOf(const kube::ObjectKey& key);
  // Reads the specs of `missing_`.
  kube::asio::awaitable<void> ReadMissing();

  kube::Client& client_;
  kube::Clock& clock_;
  bool one_namespace_;
  kube::Informer<kube::Unstructured> watch_;
  kube::AgeBudget budget_;
  std::map<std::string, Namespace> namespaces_;
  // Of the event that follows.
  std::optional<kube::Unstructured> received_;
  // Those that fit again, and whose spec was dropped.
  std::set<kube::ObjectKey> missing_;
  kube::Notifier missing_added_;
  // Never notified: Run() waits for its cancellation.
  kube::Notifier stopped_;
  std::function<void(const std::string&)> on_change_;
  std::function<void(const std::string&, const std::string&)> on_deleted_;
};

// The configs of one namespace, within its budget, from objects that come in any order.
class BoundedConfigs {
 public:
  BoundedConfigs();

  void Add(const kube::Unstructured& object);
  // Those that were added, as ConfigCache::In() returns them.
  ConfigCache::Configs Take();

 private:
  kube::AgeBudget budget_;
  std::map<kube::ObjectKey, api::PodPlacementConfig> configs_;
};

}  // namespace watches
