// SPDX-License-Identifier: Apache-2.0
// Terms: the operator's terms of leadership, one after the other. A term that ends because the API server was away ends
// its work, not the process.
// Thread: the client's.
#pragma once

#include <functional>
#include <optional>

#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/controller/leader_election.h"
#include "operator/leader.h"
#include "operator/own_certificate.h"

namespace operator_ {

class Terms {
 public:
  // All but the options outlive this.
  Terms(kube::App& app, kube::Client& client, kube::LeaseOptions lease, LeaderOptions options,
        const OwnCertificate& certificate);

  // Called when failure() is there. Before Run().
  void OnFailure(std::function<void()> listener) { on_failure_ = std::move(listener); }
  // Leads whenever the Lease is ours, until cancelled; then finishes what is under way.
  boost::asio::awaitable<void> Run();

  // Set when work of a term could not be ended, so that only the end of the process ends it; Run() has returned then.
  const std::optional<kube::Error>& failure() const { return failure_; }

 private:
  // One term: waits for the Lease, leads while it is ours, and ends what it began.
  // Returns: false when asked to stop. Errors: as failure().
  kube::Async<bool> LeadOnce();

  kube::App& app_;
  kube::Client& client_;
  LeaderOptions options_;
  const OwnCertificate& certificate_;
  kube::LeaderElector elector_;
  std::function<void()> on_failure_;
  std::optional<kube::Error> failure_;
};

}  // namespace operator_
