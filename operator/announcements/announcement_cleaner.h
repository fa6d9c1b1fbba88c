// SPDX-License-Identifier: Apache-2.0
// AnnouncementCleaner: removes obsolete announcements of PodPlacementConfigs
// (watches/announcements.h), so no object of the operator stays in a namespace. The announcement of
// a deleted config is removed at once. A Lease is deleted when it has no other announcements, or
// when it has not changed for kAnnouncementKept, by the clock of this process alone: each announced
// write has been stored or refused then, and is known.
//
// Requests: {NAMESPACE, UID} for a deleted config; {"", ""} for all namespaces, which requeues
// itself.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "kube/types/coordination.pb.h"

namespace operator_ {

class AnnouncementCleaner final : public kube::Reconciler {
 public:
  // Both outlive this.
  AnnouncementCleaner(kube::Client& client, kube::Clock& clock) : client_(client), clock_(clock) {}

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  kube::Async<> Withdraw(std::string ns, std::string uid);
  kube::Async<> DeleteObsolete();
  // Unless it has changed since it was read.
  kube::Async<> Delete(const kube::coordination::Lease& lease);

  struct Seen {
    std::string version;    // the resourceVersion
    kube::TimePoint since;  // when it was first seen
  };

  kube::Client& client_;
  kube::Clock& clock_;
  // The Leases of the last list, by namespace.
  std::map<std::string, Seen> seen_;
};

}  // namespace operator_
