// SPDX-License-Identifier: Apache-2.0
// Announcer: tells those who apply PodPlacementConfigs that one is about to be written (see
// watches/announcements.h).
//
// Each namespace has one write in flight at most; what is announced meanwhile goes into the next
// one. Writers in other processes do not conflict: each patches annotations of its own. Thread: the
// client's.
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
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/metrics/metrics.h"
#include "kube/types/coordination.pb.h"
#include "watches/announcements.h"

namespace operator_ {

struct AnnouncerOptions {
  // The operator's Namespace: no announcement outlives it.
  kube::meta::OwnerReference owner;
  // One write, retries included. A caller waits for two of them at most.
  std::chrono::milliseconds timeout{2'000};
};

class Announcer {
 public:
  // All but `options` outlive it. The writes run in `tasks`, so that no caller's end ends that of
  // others; `failures` counts the writes that failed.
  Announcer(kube::Client& client, kube::Clock& clock, kube::TaskGroup& tasks,
            AnnouncerOptions options, kube::Counter& failures);

  // Resumes when a reader in the namespace of `config` sees that it is about to be stored as it is
  // here; at once, with the write still to come, from `patience` on. Errors: the API server's (a
  // quota, for one), logged and counted here; kInvalid without a uid; kCancelled.
  kube::Async<> Announce(const api::PodPlacementConfig& config, kube::TimePoint patience);

 private:
  struct Write {
    std::map<std::string, watches::Announcement> announcements;  // by uid
    std::optional<kube::Result<>> result;
    kube::Notifier done;
  };

  // Writes what is announced in `ns` until there is no more.
  boost::asio::awaitable<void> WriteAll(std::string ns);
  // Returns: the Lease as written.
  kube::Async<kube::coordination::Lease> WriteOnce(std::string ns, std::shared_ptr<Write> write);
  kube::Async<kube::coordination::Lease> Patch(std::string ns, std::string patch,
                                               kube::TimePoint deadline);
  kube::Async<kube::coordination::Lease> Create(std::string ns, std::shared_ptr<Write> write,
                                                kube::TimePoint deadline);

  kube::Client& client_;
  kube::Clock& clock_;
  kube::TaskGroup& tasks_;
  AnnouncerOptions options_;
  kube::Counter& failures_;
  // By namespace, where a write is in flight: the next one, nullptr if nothing waits for it.
  std::map<std::string, std::shared_ptr<Write>> next_;
};

}  // namespace operator_
