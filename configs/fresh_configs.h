// SPDX-License-Identifier: Apache-2.0
// FreshConfigs: the PodPlacementConfigs of a namespace, never older than the question; for those who apply them.
//
// A pod may match a config that was written an instant before it (I4), and no watch tells how far behind it is. A list
// would do, but where objects of a kind are seldom written the API server takes 100 ms to be sure that it has seen all.
// So each question first reads what was announced (see announcements.h), with a GET that bursts of questions share.
// Only when the watch has not brought an announced config yet, or not one that the pod names, is the namespace listed.
//
//   FreshConfigs configs(client, clock, {.lease = {ns, "my-lease"}});
//   tasks.Spawn("configs", configs.Run());
//   Result<FreshConfigs::Snapshot> known = co_await configs.Read(ns, placement::GatingConfigs(pod));
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
#include "configs/announcements.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/shared_call.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace configs {

struct FreshConfigsOptions {
  // Whose configs; empty: all namespaces.
  std::string ns;
  // The Lease where writes are announced to this process; one that is not there announces nothing.
  kube::ObjectKey lease;
};

class FreshConfigs {
 public:
  using Snapshot = std::shared_ptr<const std::vector<api::PodPlacementConfig>>;

  // `client` and `clock` outlive it.
  FreshConfigs(kube::Client& client, kube::Clock& clock, FreshConfigsOptions options);

  // Watches until cancelled.
  kube::asio::awaitable<void> Run() { return watch_.Run(); }
  bool synced() const { return watch_.synced(); }

  // Everything that was written in `ns` before the call, in no order; empty if there is nothing. `names` are configs
  // that should be there, as far as the caller knows.
  // Errors: the API server's; kCancelled.
  kube::Async<Snapshot> Read(std::string ns, std::vector<std::string> names);

 private:
  using Announced = std::shared_ptr<const Announcements>;
  struct Namespace {
    std::map<std::string, api::PodPlacementConfig> watched;  // by name
    Snapshot snapshot;                                       // of `watched`; nullptr when that has changed
  };

  void OnEvent(kube::EventType type, const api::PodPlacementConfig& config);
  Snapshot Watched(const std::string& ns);
  // True if something may have been written that the watch has not brought.
  bool IsBehind(const std::string& ns, const std::vector<std::string>& names, const Announcements& announced);
  bool IsPending(const std::string& ns, const std::string& name, const Announcement& announcement);
  kube::Async<Announced> ReadAnnouncements();
  kube::Async<Snapshot> List(std::string ns);
  kube::SharedCall<Snapshot>& ListOf(const std::string& ns);

  kube::Client& client_;
  kube::Clock& clock_;
  FreshConfigsOptions options_;
  kube::Informer<api::PodPlacementConfig> watch_;
  std::unordered_map<std::string, Namespace> namespaces_;
  kube::SharedCall<Announced> announcements_;
  std::unordered_map<std::string, kube::SharedCall<Snapshot>> lists_;  // by namespace
  // When an announcement that the watch has not brought was first seen here; by config, uid and generation.
  std::unordered_map<std::string, kube::TimePoint> pending_since_;
};

}  // namespace configs
