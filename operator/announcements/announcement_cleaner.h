// SPDX-License-Identifier: Apache-2.0
// AnnouncementCleaner: removes obsolete announcements of PodPlacementConfigs
// (watches/announcements.h), so no object of the operator stays in a namespace. The announcement of
// a deleted config is removed at once, any other when the announced write must have ended, whether
// the config was stored or refused.
//
// Requests: {NAMESPACE, UID} for a deleted config; {"", ""} for all namespaces, which requeues
// itself.
#pragma once

#include <chrono>
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
  // Deletes `lease` if all its announcements are obsolete and it has not changed since it was read.
  kube::Async<> DeleteIfObsolete(const kube::coordination::Lease& lease);

  kube::Client& client_;
  kube::Clock& clock_;
};

}  // namespace operator_
