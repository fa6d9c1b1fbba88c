// SPDX-License-Identifier: Apache-2.0
// Ability: whether this replica can do the work of the leader. One that cannot releases the Lease
// and is not ready. So the operator sees that no controller is available, stops the gating of new
// pods, and later ungates those that wait (operator/controller_outage.h, I3).
//
//   Ability ability(client, clock, ns);
//   tasks.Spawn("rights", ability.Run());
//   lease.able = [&] { return ability.Able(); };
//
// A replica has watches only while it leads. After watches have failed, as those of a kind whose
// CRD is missing, it lets other replicas try, and stays not ready until its watches have worked
// again, or for long enough that the operator sees all replicas fail. Thread: the client's.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "kube/controller/rights.h"

namespace cluster_controller {

// Of one term of leadership.
struct WatchState {
  // Everything was listed once.
  bool synced = false;
  // How long one of them has been failing; zero if none is.
  kube::Duration failing_for = kube::Duration::zero();
};

class Ability {
 public:
  // `client` and `clock` outlive this. `ns`: the operator's namespace.
  Ability(kube::Client& client, kube::Clock& clock, const std::string& ns);

  void BeginTerm(std::function<WatchState()> watches) { watches_ = std::move(watches); }
  void EndTerm() { watches_ = nullptr; }
  // A call was refused with 403.
  void OnForbidden() { rights_.OnForbidden(); }
  // Runs until cancelled.
  boost::asio::awaitable<void> Run() { return rights_.Run(); }

  // For LeaseOptions::able. Errors: kPermissionDenied, kUnavailable.
  kube::Result<void> Able();
  // For the readiness. The same errors.
  kube::Result<void> Ready() const;

 private:
  kube::Clock& clock_;
  kube::Rights rights_;
  // Of the current term; empty between terms.
  std::function<WatchState()> watches_;
  // When watches last failed for too long; nullopt if they have worked since.
  std::optional<kube::TimePoint> failed_at_;
};

// Calls `ability.OnForbidden()` when `reconciler` fails because of a 403.
class NoticeForbidden final : public kube::Reconciler {
 public:
  // The references outlive this.
  NoticeForbidden(kube::Reconciler& reconciler, Ability& ability)
      : reconciler_(reconciler), ability_(ability) {}

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  kube::Reconciler& reconciler_;
  Ability& ability_;
};

}  // namespace cluster_controller
