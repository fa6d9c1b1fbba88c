// SPDX-License-Identifier: Apache-2.0
// AnnouncementCleaner: removes the announcements of PodPlacementConfigs (see
// watches/announcements.h) that nobody needs any more, so that nothing of the operator stays in a
// namespace: that of a config that was deleted at once, all others when the write that they
// announced must have ended, whether the config was stored or refused.
//
// Requests: {NAMESPACE, UID}, a config of that uid was deleted; {"", ""}, a look at all namespaces,
// repeated by itself.
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
  // Both outlive it.
  AnnouncementCleaner(kube::Client& client, kube::Clock& clock) : client_(client), clock_(clock) {}

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  kube::Async<> Withdraw(std::string ns, std::string uid);
  kube::Async<> RemoveOld();
  // Removes `lease` if no announcement on it counts any more, and nobody has written another one
  // meanwhile.
  kube::Async<> RemoveIfDone(const kube::coordination::Lease& lease);

  kube::Client& client_;
  kube::Clock& clock_;
};

}  // namespace operator_
