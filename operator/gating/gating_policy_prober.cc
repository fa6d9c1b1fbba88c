// SPDX-License-Identifier: Apache-2.0
#include "operator/gating/gating_policy_prober.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kube/client/refusal.h"
#include "kube/types/kinds.h"
#include "operator/gating/gating_probe.h"
#include "operator/objects/gating_policies.h"
#include "operator/objects/metadata.h"
#include "operator/status/rollout.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Ok;
using kube::Outcome;
using kube::Result;

Problem NotServed() {
  return {"GatingByPolicyNotSupported",
          "the API server does not serve MutatingAdmissionPolicies of "
          "admissionregistration.k8s.io/v1, so webhooks gate the pods"};
}

Problem NotInForce(const std::string& error) {
  std::string why = error.empty() ? "it stores them, but does not apply them" : error;
  return {"GatingByPolicyNotInForce",
          "the API server did not apply a MutatingAdmissionPolicy in time, so webhooks gate the "
          "pods: " +
              why};
}

}  // namespace

GatingPolicyProber::GatingPolicyProber(kube::Client& client, kube::Clock& clock,
                                       OperandOptions options, std::function<bool()> wanted,
                                       OperandStore& store, ProberTiming timing)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      wanted_(std::move(wanted)),
      store_(store),
      timing_(timing) {}

Async<> GatingPolicyProber::Begin() {
  Result<GatingPoliciesServed> served = co_await LookForGatingPolicies(client_);
  // Without the permission, there are none that this operator could have written.
  if (!served && !kube::LacksPermission(served.error()) && !kube::IsNotFound(served))
    co_return served.error();
  if (!served || *served != GatingPoliciesServed::kInUse) co_return Ok();
  co_return co_await store_.WatchGatingPolicies();
}

uint64_t GatingPolicyProber::Ask(const std::string& scope) {
  uint64_t proof = begun_ + 1;
  asked_ = std::max(asked_, proof);
  waiting_[proof].insert(scope);
  if (on_asked_) on_asked_();
  return proof;
}

Async<Outcome> GatingPolicyProber::Reconcile(kube::Request request) {
  if (!wanted_()) co_return co_await RemoveProbe(request.log);

  Result<GatingPoliciesServed> served = co_await LookForGatingPolicies(client_);
  if (!served && !kube::FailsAgain(served.error())) co_return served.error();
  if (!served) {
    Set(GatingSupport::kNotServed, ProblemOf(served.error()), request.log);
    co_return Outcome::After(timing_.recheck);
  }
  if (*served == GatingPoliciesServed::kNo) {
    Set(GatingSupport::kNotServed, NotServed(), request.log);
    co_return Outcome::After(timing_.recheck);
  }
  Result<> watched = co_await store_.WatchGatingPolicies();
  if (!watched) co_return watched.error();
  Result<bool> applied = co_await Probe(request.log);
  if (!applied && !kube::FailsAgain(applied.error())) co_return applied.error();
  if (applied && *applied) {
    Set(GatingSupport::kSupported, std::nullopt, request.log);
    Prove();
    co_return Outcome::After(asked_ > begun_ ? std::chrono::milliseconds(1) : timing_.check);
  }
  if (!waiting_since_) waiting_since_ = clock_.Now();
  if (clock_.Now() < *waiting_since_ + timing_.give_up) co_return Outcome::After(timing_.poll);
  Set(GatingSupport::kNotInForce, NotInForce(applied ? "" : applied.error().message()),
      request.log);
  co_return Outcome::After(timing_.recheck);
}

Async<bool> GatingPolicyProber::Probe(const std::string& log) {
  if (nonce_.empty()) nonce_ = StoredNonce();
  // A new nonce follows only on the answer to the last one; otherwise many requests would delay all
  // proofs.
  bool next = asked_ > begun_ && (proven_ == begun_ || support_ == GatingSupport::kNotInForce);
  if (nonce_.empty() || next) {
    begun_ = std::max(begun_ + 1, asked_);
    auto now =
        std::chrono::duration_cast<std::chrono::milliseconds>(clock_.WallNow().time_since_epoch());
    nonce_ = std::to_string(now.count()) + "-" + std::to_string(begun_);
    waiting_since_.reset();
  }
  DesiredObjects objects = GatingProbe(nonce_, options_);
  for (DesiredObject& object : objects) {
    // For the next process.
    SetLabel(object.body, kGatingProbeLabel, nonce_);
    Result<> written = co_await store_.Ensure(std::move(object), log);
    if (!written) co_return written.error();
  }
  co_return co_await AppliesGatingProbe(client_, nonce_, options_);
}

Async<Outcome> GatingPolicyProber::RemoveProbe(const std::string& log) {
  support_ = GatingSupport::kUnknown;
  problem_.reset();
  nonce_.clear();
  proven_.reset();
  waiting_.clear();
  waiting_since_.reset();
  const std::vector<ObjectId> objects = InOrderOfRemoval(GatingProbe("", options_));
  for (const ObjectId& object : objects) {
    if (!store_.Get(object.resource, object.key)) continue;
    Result<> removed = co_await store_.Remove(object.resource, object.key, log);
    if (!removed) co_return removed.error();
  }
  co_return Outcome::Done();
}

void GatingPolicyProber::Prove() {
  waiting_since_.reset();
  proven_ = begun_;
  while (!waiting_.empty() && waiting_.begin()->first <= begun_) {
    std::set<std::string> scopes = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    for (const std::string& scope : scopes) {
      if (on_proven_) on_proven_(scope);
    }
  }
}

std::string GatingPolicyProber::StoredNonce() const {
  std::optional<kube::Unstructured> binding =
      store_.Get(kube::kMutatingAdmissionPolicyBindings, {"", std::string(kGatingProbeName)});
  if (!binding) return "";
  auto label = binding->metadata().labels().find(std::string(kGatingProbeLabel));
  return label == binding->metadata().labels().end() ? "" : label->second;
}

void GatingPolicyProber::Set(GatingSupport support, std::optional<Problem> problem,
                             const std::string& log) {
  bool changed = support != support_ || problem != problem_;
  support_ = support;
  problem_ = std::move(problem);
  if (!changed) return;
  LOG_IF(WARNING, problem_) << log << " " << problem_->message;
  LOG_IF(INFO, !problem_) << log << " the API server applies policies that gate pods";
  if (on_change_) on_change_();
}

}  // namespace operator_
