// SPDX-License-Identifier: Apache-2.0
// GatingPolicyProber: decides and proves whether the API server gates pods by policy, while
// spec.gating asks for that. It probes by dry runs (GatingProbe() in objects/gating_policies.h):
//
// - support(): whether the API server serves and applies gating policies at all. One that does not
//   is probed again from time to time, so an upgrade of it is noticed; so is one that no longer
//   does.
// - Ask() and IsProven(): whether it applies the gating policies that were written until a moment.
//
// It is the reconciler of one request. Thread: the client's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "operator/gating/gating_support.h"
#include "operator/objects/operand_store.h"
#include "operator/objects/options.h"
#include "operator/status/problem.h"

namespace operator_ {

struct ProberTiming {
  // Between two dry runs while a proof is due.
  std::chrono::milliseconds poll{500};
  // How long an API server may take to apply the probe before it counts as one that does not.
  std::chrono::milliseconds give_up{30'000};
  // The intervals of checks of an API server that does not apply policies, and of one that does.
  std::chrono::milliseconds recheck{60'000};
  std::chrono::milliseconds check{300'000};
};

class GatingPolicyProber final : public kube::Reconciler {
 public:
  // `wanted`: spec.gating is Policy, in a ClusterPodPlacementConfig that is not being deleted.
  // Everything but `options`, `wanted` and `timing` outlives this.
  GatingPolicyProber(kube::Client& client, kube::Clock& clock, OperandOptions options,
                     std::function<bool()> wanted, OperandStore& store, ProberTiming timing = {});

  // All before the first Reconcile(). Called when support() or problem() has changed; by Ask(); and
  // with each scope for which a proof was made.
  void OnChange(std::function<void()> listener) { on_change_ = std::move(listener); }
  void OnAsked(std::function<void()> listener) { on_asked_ = std::move(listener); }
  void OnProven(std::function<void(const std::string& scope)> listener) {
    on_proven_ = std::move(listener);
  }

  // Before the first reconcile: watches the policies of the operator, if there are any. Errors: the
  // API server's; call again.
  kube::Async<> Begin();

  GatingSupport support() const { return support_; }
  // Why policies cannot gate pods although they are to, for a status.
  const std::optional<Problem>& problem() const { return problem_; }

  // Asks for a proof that begins after now, for a namespace, or "", the cluster. Returns: its
  // number.
  uint64_t Ask(const std::string& scope);
  // Whether that proof, or a later one, was made: an API server applies what was written before.
  bool IsProven(uint64_t proof) const { return proven_ && *proven_ >= proof; }

  // Reconciler
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  // Makes the next proof. Returns: whether the API server applies the probe.
  kube::Async<bool> Probe(const std::string& log);
  kube::Async<kube::Outcome> RemoveProbe(const std::string& log);
  // The nonce of the stored probe; "" if there is none.
  std::string StoredNonce() const;
  // `nonce_` was answered.
  void Prove();
  void Set(GatingSupport support, std::optional<Problem> problem, const std::string& log);

  kube::Client& client_;
  kube::Clock& clock_;
  OperandOptions options_;
  std::function<bool()> wanted_;
  OperandStore& store_;
  ProberTiming timing_;
  std::function<void()> on_change_;
  std::function<void()> on_asked_;
  std::function<void(const std::string&)> on_proven_;

  GatingSupport support_ = GatingSupport::kUnknown;
  std::optional<Problem> problem_;
  // The numbers of the proofs: the last one that was asked for, that of `nonce_`, and the last one
  // that was made.
  uint64_t asked_ = 0;
  uint64_t begun_ = 0;
  std::optional<uint64_t> proven_;
  // The scopes that wait for a proof, by its number.
  std::map<uint64_t, std::set<std::string>> waiting_;
  std::string nonce_;
  // Since when the API server does not apply `nonce_`.
  std::optional<kube::TimePoint> waiting_since_;
};

}  // namespace operator_
