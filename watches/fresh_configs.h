// SPDX-License-Identifier: Apache-2.0
// FreshConfigs: the PodPlacementConfigs of a namespace, never older than the question; for those
// who apply them.
//
// A pod may match a config that was written an instant before it (I4), and no watch tells how far
// behind it is. A list would do, but where objects of a kind are seldom written the API server
// takes 100 ms to be sure that it has seen all. So each question first reads what was announced in
// the namespace (see announcements.h), with a GET that bursts of questions share. Only when the
// watch has not brought an announced config yet, or not one that the pod names, is the namespace
// listed.
//
//   FreshConfigs configs(client, clock, {.ns = ns});
//   tasks.Spawn("configs", configs.Run());
//   Result<FreshConfigs::Snapshot> known = co_await configs.Read(ns,
//   placement::GatingConfigs(pod));
//
// Thread: the client's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/shared_call.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "watches/announcements.h"

namespace watches {

struct FreshConfigsOptions {
  // Whose configs; empty: all namespaces.
  std::string ns;
};

class FreshConfigs {
 public:
  using Snapshot = std::shared_ptr<const std::vector<api::PodPlacementConfig>>;

  // `client` and `clock` outlive it.
  FreshConfigs(kube::Client& client, kube::Clock& clock, FreshConfigsOptions options);

  // Watches until cancelled.
  kube::asio::awaitable<void> Run() { return watch_.Run(); }
  bool synced() const { return watch_.synced(); }
  // As of its informer.
  kube::Duration failing_for() const { return watch_.failing_for(); }

  // Everything that was written in `ns` before the call, in no order; empty if there is nothing.
  // `names` are configs that should be there, as far as the caller knows. Errors: the API server's;
  // kCancelled.
  kube::Async<Snapshot> Read(std::string ns, std::vector<std::string> names);

 private:
  // Of one namespace, as the watch has it.
  struct Watched {
    std::map<std::string, api::PodPlacementConfig> configs;  // by name
    Snapshot snapshot;  // of `configs`; nullptr when they have changed
  };
  using Announced = std::shared_ptr<const std::vector<Announcement>>;
  struct Pending {
    int64_t generation = 0;
    // When this was first read here.
    kube::TimePoint since;
  };
  // What it takes to answer for one namespace.
  struct Asked {
    kube::SharedCall<Announced> announced;
    kube::SharedCall<Snapshot> list;
    std::unordered_map<std::string, Pending>
        pending;  // announced, and not brought by the watch; by uid
    kube::TimePoint last_asked;
  };

  void OnEvent(kube::EventType type, const api::PodPlacementConfig& config);
  Snapshot WatchedIn(const std::string& ns);
  // True if something may have been written that the watch has not brought.
  bool IsBehind(const std::string& ns, const std::vector<std::string>& names,
                const std::vector<Announcement>& announced);
  kube::Async<Announced> ReadAnnouncements(std::string ns);
  kube::Async<Snapshot> List(std::string ns);
  Asked& AskedFor(const std::string& ns);

  kube::Client& client_;
  kube::Clock& clock_;
  FreshConfigsOptions options_;
  kube::Informer<api::PodPlacementConfig> watch_;
  std::unordered_map<std::string, Watched> watched_;  // by namespace
  std::unordered_map<std::string, Asked> asked_;      // by namespace
};

}  // namespace watches
