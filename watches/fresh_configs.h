// SPDX-License-Identifier: Apache-2.0
// FreshConfigs: the PodPlacementConfigs of a namespace, with every write that was done before the
// call.
//
// A pod may match a config that was written an instant before it (I4), and a watch does not show
// how far behind it is. A list would, but for kinds that are seldom written a consistent list takes
// the API server 100 ms. So Read() first reads the announcements of the namespace (see
// announcements.h): with one GET for concurrent calls and for those of the next 0.2 s. It lists the
// namespace only if the watch does not have an announced config yet, or one that the pod names.
//
//   FreshConfigs configs(client, clock, ns);
//   tasks.Spawn("configs", configs.Run());
//   std::vector<std::string> names = placement::GatingConfigs(pod);
//   Result<FreshConfigs::Snapshot> known = co_await configs.Read(ns, std::move(names));
//
// Thread: the client's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/shared_call.h"
#include "kube/client/client.h"
#include "watches/announcements.h"
#include "watches/config_cache.h"
#include "watches/config_lists.h"

namespace watches {

class FreshConfigs {
 public:
  using Snapshot = ConfigCache::Configs;

  // `client` and `clock` outlive this. An empty `ns`: all namespaces.
  FreshConfigs(kube::Client& client, kube::Clock& clock, std::string ns);

  // Watches until cancelled.
  kube::asio::awaitable<void> Run() { return watch_.Run(); }
  bool synced() const { return watch_.synced(); }
  // See kube::Informer.
  kube::Duration failing_for() const { return watch_.failing_for(); }

  // The configs of `ns`, in the order in which they are applied, with every write before the call.
  // `names` are configs that the caller expects: if the watch does not have one, the namespace is
  // listed. Errors: the API server's; kDeadlineExceeded after half a minute of lists; kCancelled.
  kube::Async<Snapshot> Read(std::string ns, std::vector<std::string> names);

 private:
  using Announced = std::shared_ptr<const std::vector<Announcement>>;
  // An announcement that the watch does not have yet.
  struct Pending {
    Announcement announcement;
    kube::TimePoint since;  // when Read() first found it
    // The generation of the config in a list that began when the announced write had ended; 0 if
    // the config was not in the list.
    std::optional<int64_t> stored;
  };
  // The calls and announcements of one namespace.
  struct Reads {
    kube::SharedCall<Announced> announced;
    Announced last;                                    // of the last read that succeeded
    kube::TimePoint last_begun;                        // when that read began
    std::unordered_map<std::string, Pending> pending;  // by uid
    kube::TimePoint last_used;
  };

  // Whether the watch has that config, at least of `generation`.
  bool Has(const std::string& ns, const Announcement& announcement, int64_t generation) const;
  // Whether the watch has all of them.
  bool Has(const std::string& ns, const std::vector<std::string>& names,
           const std::vector<Announcement>& announced) const;
  // True if there may be a write that the watch does not have.
  bool IsBehind(const std::string& ns, const std::vector<std::string>& names,
                const std::vector<Announcement>& announced);
  // `listed`: a list that began after `begun`.
  void KeepStored(const std::string& ns, const std::vector<api::PodPlacementConfig>& listed,
                  kube::TimePoint begun);
  // The announcements of `ns` that calls before this one can depend on.
  kube::Async<Announced> Announcements(std::string ns);
  kube::Async<Announced> ReadAnnouncements(std::string ns);
  Reads& ReadsOf(const std::string& ns);

  kube::Client& client_;
  kube::Clock& clock_;
  ConfigCache watch_;
  ConfigLists lists_;
  std::unordered_map<std::string, Reads> reads_;  // by namespace
};

}  // namespace watches
