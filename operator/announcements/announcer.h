// SPDX-License-Identifier: Apache-2.0
// Announcer: announces that a PodPlacementConfig is about to be stored, for the programs that apply
// PodPlacementConfigs (watches/announcements.h).
//
// Each namespace has at most one write in flight; announcements that arrive meanwhile go into the
// next one. A write changes the Lease that it has read: an announcement of another replica is
// neither removed nor replaced by an older one. Thread: the client's.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/metrics/metrics.h"
#include "kube/types/coordination.pb.h"
#include "watches/announcements.h"

namespace operator_ {

struct AnnouncerOptions {
  // The operator's Namespace: announcements are deleted with it.
  kube::meta::OwnerReference owner;
  // For one write with its retries. A caller waits for two writes at most.
  std::chrono::milliseconds timeout{2'000};
  // The shortest time between the announcement of a config and its storage.
  std::chrono::milliseconds ahead = watches::kAnnouncedAhead;
};

class Announcer {
 public:
  // All but `options` outlive this. The writes run in `tasks`: a cancelled caller does not end a
  // write that others wait for. `failures` counts failed writes.
  Announcer(kube::Client& client, kube::Clock& clock, kube::TaskGroup& tasks,
            AnnouncerOptions options, kube::Counter& failures);

  // Returns when `config` may be stored as it is here: when its announcement was written, and each
  // controller and shard has read it or will do so before it decides the next pod. After
  // `deadline` without waiting for the write. Errors: the API server's (a quota, for
  // example), logged and counted here; kInvalid without a uid; kCancelled.
  kube::Async<> Announce(const api::PodPlacementConfig& config, kube::TimePoint deadline);

 private:
  struct Write {
    std::map<std::string, watches::Announcement> announcements;  // by uid
    bool may_change_pods = false;                                // one of the configs
    std::optional<kube::Result<>> result;
    kube::TimePoint ended;
    kube::Notifier done;
  };

  // Writes announcements of `ns` until there are no more.
  boost::asio::awaitable<void> WriteAll(std::string ns);
  kube::Async<> WriteOnce(std::string ns, std::shared_ptr<Write> write);
  // True if the Lease of `ns` exists, as far as this process knows.
  bool Exists(const std::string& ns);
  // Of the Lease as it is read; kConflict if it changes meanwhile.
  kube::Async<> Patch(std::string ns, std::shared_ptr<Write> write, kube::TimePoint deadline);
  kube::Async<> Create(std::string ns, std::shared_ptr<Write> write, kube::TimePoint deadline);
  // What announces `write` on a Lease with `metadata`.
  watches::AnnotationChanges Changes(const Write& write,
                                     const kube::meta::ObjectMeta& metadata) const;

  kube::Client& client_;
  kube::Clock& clock_;
  kube::TaskGroup& tasks_;
  AnnouncerOptions options_;
  kube::Counter& failures_;
  // The next write of each namespace with a write in flight; nullptr if there is none.
  std::map<std::string, std::shared_ptr<Write>> next_;
  // When the Lease of each namespace was last written.
  kube::LruMap<kube::TimePoint> written_;
};

}  // namespace operator_
