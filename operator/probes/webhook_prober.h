// SPDX-License-Identifier: Apache-2.0
// WebhookProber: finds out whether the calls of the API server reach the webhooks that gate pods,
// by dry runs (probe_turns.h says when). A probe goes through the API server that the operator is
// connected to; it proves nothing about others. It is the reconciler of one request, which makes
// one probe. Thread: the client's.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "operator/objects/options.h"
#include "operator/probes/probe_turns.h"
#include "operator/probes/reach.h"

namespace operator_ {

class WebhookProber final : public kube::Reconciler {
 public:
  // `client` and `clock` outlive this.
  WebhookProber(kube::Client& client, kube::Clock& clock, OperandOptions options,
                ProbeTiming timing = {});

  // Both before the first call below: called when there is more to probe, and with each scope whose
  // Of() has changed.
  void OnFollowed(std::function<void()> listener) { on_followed_ = std::move(listener); }
  void OnChange(std::function<void(const std::string& scope)> listener) {
    on_change_ = std::move(listener);
  }

  // What a reconcile of `scope` (probe_turns.h) found. `configured`: the webhook configuration
  // exists. `ready`: it has the entry for probes, and all pods of the webhook are of this release
  // and ready: one of an older release may not know probes.
  void See(const std::string& scope, bool configured, bool ready);
  // As those of ProbeTurns.
  void Forget(const std::string& scope) { turns_.Forget(scope); }
  Reach Of(const std::string& scope) const { return turns_.Of(scope); }
  std::vector<std::string> Unreachable() const { return turns_.Unreachable(); }

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  // The API server that refuses a probe says nothing about the webhook.
  kube::Async<ProbeResult> Probe(std::string scope, const std::string& log);

  kube::Client& client_;
  kube::Clock& clock_;
  OperandOptions options_;
  ProbeTurns turns_;
  std::function<void()> on_followed_;
  std::function<void(const std::string&)> on_change_;
  // Of the last probe, for the log; "" for none.
  std::string error_;
};

}  // namespace operator_
