// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_reconciler.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "kube/client/refusal.h"
#include "kube/types/kinds.h"
#include "operator/certificates/certificates.h"
#include "operator/status/observe.h"
#include "operator/status/write_status.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/operator/configuration_probe.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::ObjectKey;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using std::chrono::milliseconds;

// Between two batches of statuses.
constexpr milliseconds kNextBatch{10};
constexpr milliseconds kPollReplicas{500};
// Statuses that one reconcile compares; most of them need no write.
constexpr int kCompared = 2048;

const ObjectKey kConfiguration{"", std::string(policy::kWebhookConfigurationName)};

milliseconds Until(kube::TimePoint when, kube::TimePoint now) {
  return std::max(milliseconds(1), std::chrono::duration_cast<milliseconds>(when - now));
}

}  // namespace

PolicyReconciler::PolicyReconciler(kube::Client& client, kube::Clock& clock, OperandOptions options,
                                   Plugin plugin, PolicyStore& policies, OperandStore& store,
                                   PolicyTiming timing)
    : client_(client),
      clock_(clock),
      options_(std::move(options)),
      plugin_(std::move(plugin)),
      policies_(policies),
      store_(store),
      timing_(timing),
      certificate_(client, clock, options_,
                   {.name = std::string(policy::kWebhookName),
                    .configuration = {kube::kMutatingWebhookConfigurations, kConfiguration.name},
                    .check = timing.certificate_check,
                    .recheck = timing.recheck}),
      replicas_(client, clock, options_.ns) {
  timing_.resync =
      std::min<milliseconds>(timing_.resync, CheckPeriodOf(options_.certificate_validity));
}

Async<Outcome> PolicyReconciler::Reconcile(kube::Request request) {
  std::optional<PluginSpec> plugin = plugin_();
  // Until the policies are known, running operands stay.
  if (plugin && !policies_.synced()) co_return Outcome::Done();

  PolicyServing serving{.enabled = plugin.has_value()};
  Result<Outcome> outcome = Outcome::Done();
  if (plugin && !policies_.targets().empty()) {
    removal_.reset();
    outcome = co_await Serve(std::move(*plugin), serving, request.log);
  } else {
    outcome = co_await Remove(request.log);
  }
  Result<bool> written = co_await WriteStatuses(serving, request.log);
  if (!outcome) co_return outcome.error();
  if (!written) co_return written.error();
  if (!*written) co_return Outcome::After(kNextBatch);
  co_return *outcome;
}

// --- Serving.

Async<Outcome> PolicyReconciler::Serve(PluginSpec spec, PolicyServing& serving,
                                       const std::string& log) {
  Rollout rollout = RolloutIn(store_, options_.ns, policy::kWebhookName);
  serving.available = rollout.available;
  if (!rollout.available) serving.cause = written_.cause;
  DesiredObjects objects = PolicyObjects(spec.plugin, options_, spec.operand);
  Result<> deployed = co_await Deploy(std::move(objects), log);
  if (!deployed) {
    std::optional<Problem> problem = ProblemOf(deployed.error());
    if (problem && !rollout.available) serving.cause = problem->reason;
    co_return deployed.error();
  }
  Result<> caused = co_await FindCause(rollout, serving);
  if (!caused) co_return caused.error();

  bool configured = store_.Get(kube::kMutatingWebhookConfigurations, kConfiguration).has_value();
  // The configuration was deleted by another client, or never applied. One that was just applied is
  // not in the store yet.
  if (!configured && (configuration_seen_ || applied_hash_.empty())) Forget();
  configuration_seen_ = configured;
  if (rollout.available || configured) {
    Result<> applied = co_await Configure(spec.plugin, log);
    if (!applied) co_return applied.error();
  }
  if (rollout.available) {
    Result<> probed = co_await Probe(log);
    if (!probed) co_return probed.error();
    Result<> acknowledged = co_await Acknowledge(rollout, log);
    if (!acknowledged) co_return acknowledged.error();
  }
  if (policies_.waiting().empty() && proven_hash_ == applied_hash_) {
    waiting_since_.reset();
  } else if (!waiting_since_ || waiting_changes_ != policies_.changes()) {
    waiting_since_ = clock_.Now();
    waiting_changes_ = policies_.changes();
  }
  co_return NextLook(rollout);
}

Async<> PolicyReconciler::Deploy(DesiredObjects objects, const std::string& log) {
  // The ServiceAccount before the Secret: it shows that there is something to remove.
  Result<> done = co_await store_.Ensure(std::move(objects.front()), log);
  if (done) done = co_await certificate_.Ensure(log);
  for (size_t i = 1; done && i < objects.size(); ++i)
    done = co_await store_.Ensure(std::move(objects[i]), log);
  co_return done;
}

Async<> PolicyReconciler::Configure(const api::SchedulingPolicies& plugin, const std::string& log) {
  PolicyCoverage coverage = CoverageOf(policies_.targets());
  PolicyConfiguration desired =
      PolicyWebhookConfiguration(coverage, plugin, certificate_.ca_bundle_pem(), options_);
  bool changes = desired.hash != applied_hash_;
  configuration_held_ =
      changes && !applied_hash_.empty() && clock_.Now() < applied_at_ + timing_.configuration;
  if (configuration_held_) co_return Ok();
  DesiredObject object{kube::kMutatingWebhookConfigurations, std::move(desired.object)};
  Result<> applied = co_await store_.Ensure(std::move(object), log);
  if (!applied) co_return applied.error();
  if (!changes) co_return Ok();
  applied_hash_ = std::move(desired.hash);
  applied_coverage_ = std::move(coverage);
  applied_at_ = clock_.Now();
  co_return Ok();
}

Async<> PolicyReconciler::Probe(const std::string& log) {
  if (proven_hash_ == applied_hash_) co_return Ok();
  std::string hash = applied_hash_;
  Result<bool> used = co_await IsConfigured(client_, hash, options_);
  // Another webhook or policy refuses it: the policies wait, everything else continues.
  std::string error = used ? "" : used.error().ToString();
  bool refused = !used && kube::FailsAgain(used.error());
  LOG_IF(WARNING, refused && error != probe_error_) << log << " " << error;
  probe_error_ = std::move(error);
  if (refused) co_return Ok();
  if (!used) co_return used.error();
  if (*used) proven_hash_ = std::move(hash);
  co_return Ok();
}

bool PolicyReconciler::Covers(const ObjectKey& policy, const PolicyStore::Entry& entry) const {
  return ScopeOf(policy) == policy::Scope::kCluster
             ? CoversSelector(applied_coverage_, entry.selector)
             : CoversNamespace(applied_coverage_, policy.ns);
}

Async<> PolicyReconciler::Acknowledge(const Rollout& rollout, const std::string& log) {
  auto ready = static_cast<size_t>(std::max<int64_t>(0, rollout.ready_replicas));
  bool due = !policies_.waiting().empty() || ready != ready_ ||
             replicas_.size() != static_cast<size_t>(rollout.replicas);
  if (!due) co_return Ok();
  // A replica that registers later lists what was seen until now, but perhaps nothing newer.
  uint64_t changes = policies_.changes();
  Result<> read = co_await replicas_.Read(log);
  if (!read) co_return read.error();
  ready_ = ready;
  if (proven_hash_ != applied_hash_ || replicas_.size() == 0 || replicas_.size() < ready)
    co_return Ok();
  const std::set<ObjectKey> waiting = policies_.waiting();
  for (const ObjectKey& policy : waiting) {
    const PolicyStore::Entry* entry = policies_.Find(policy);
    bool all_have = entry != nullptr && entry->change <= changes && Covers(policy, *entry) &&
                    replicas_.Having(ScopeOf(policy), entry->version) == replicas_.size();
    if (all_have) policies_.SetInForce(policy);
    // The status shows how many replicas have it.
    if (!all_have) policies_.SetDue(policy);
  }
  co_return Ok();
}

Async<> PolicyReconciler::FindCause(const Rollout& rollout, PolicyServing& serving) {
  if (rollout.available) {
    unavailable_since_.reset();
    co_return Ok();
  }
  if (!unavailable_since_) unavailable_since_ = clock_.Now();
  if (clock_.Now() < *unavailable_since_ + timing_.start) co_return Ok();
  Result<std::optional<Problem>> problem =
      co_await FindProblemOf(client_, options_.ns, std::string(policy::kWebhookName), rollout);
  if (!problem) co_return problem.error();
  serving.cause = *problem ? (*problem)->reason : "";
  co_return Ok();
}

Outcome PolicyReconciler::NextLook(const Rollout& rollout) const {
  kube::TimePoint now = clock_.Now();
  milliseconds delay = timing_.resync;
  bool settled = rollout.complete && !certificate_.pending() &&
                 replicas_.size() == static_cast<size_t>(rollout.replicas);
  if (!settled) delay = timing_.recheck;
  if (unavailable_since_ && now < *unavailable_since_ + timing_.start)
    delay = std::min(delay, Until(*unavailable_since_ + timing_.start, now));
  if (configuration_held_) delay = std::min(delay, Until(applied_at_ + timing_.configuration, now));
  if (waiting_since_ && rollout.available) {
    auto waited = std::chrono::duration_cast<milliseconds>(now - *waiting_since_);
    delay = std::min(delay, std::clamp(waited / 4, timing_.propagation, timing_.slow_propagation));
  }
  return Outcome::After(delay);
}

// --- Removal.

void PolicyReconciler::Forget() {
  applied_hash_.clear();
  applied_coverage_ = {};
  configuration_held_ = false;
  configuration_seen_ = false;
  proven_hash_.clear();
  policies_.ForgetInForce();
}

Async<Outcome> PolicyReconciler::Remove(const std::string& log) {
  Forget();
  waiting_since_.reset();
  unavailable_since_.reset();
  if (!PolicyObjectsLeft(store_, options_)) {
    bool removed = std::exchange(removal_, std::nullopt).has_value();
    if (removed && on_removed_) on_removed_();
    co_return Outcome::Done();
  }
  // The watch will show shortly that the objects are gone.
  if (removal_ && std::exchange(removal_->done, false)) co_return Outcome::After(timing_.recheck);
  if (!removal_) {
    Result<> removed =
        co_await store_.Remove(kube::kMutatingWebhookConfigurations, kConfiguration, log);
    if (!removed) co_return removed.error();
    removal_ = Removal{.since = clock_.Now()};
    certificate_.Forget();
    LOG(INFO) << log << " removing the webhook of scheduling policies";
  }
  kube::TimePoint now = clock_.Now();
  if (now < removal_->since + timing_.settle)
    co_return Outcome::After(Until(removal_->since + timing_.settle, now));
  if (!removal_->deployment) {
    ObjectKey deployment{options_.ns, std::string(policy::kWebhookName)};
    Result<> removed = co_await store_.Remove(kube::kDeployments, std::move(deployment), log);
    if (!removed) co_return removed.error();
    removal_->deployment = now;
  }
  // A replica deletes its Lease when it ends, and needs its ServiceAccount for that.
  Result<> read = co_await replicas_.Read(log);
  if (!read) co_return read.error();
  if (replicas_.size() > 0 && now < *removal_->deployment + timing_.termination)
    co_return Outcome::After(kPollReplicas);
  Result<> removed = co_await RemoveRest(log);
  if (!removed) co_return removed.error();
  removal_->done = true;
  co_return Outcome::After(timing_.recheck);
}

Async<> PolicyReconciler::RemoveRest(const std::string& log) {
  Result<> leases = co_await replicas_.DeleteAll(log);
  if (!leases) co_return leases.error();
  // The ServiceAccount last: it shows that the removal is not complete.
  std::vector<ObjectId> objects = InOrderOfRemoval(PolicyObjects({}, options_));
  objects.insert(objects.begin(),
                 {kube::kSecrets, {options_.ns, std::string(policy::kWebhookName)}});
  for (const ObjectId& object : objects) {
    Result<> removed = co_await store_.Remove(object.resource, object.key, log);
    if (!removed) co_return removed.error();
  }
  co_return Ok();
}

// --- Statuses.

Async<bool> PolicyReconciler::WriteStatuses(const PolicyServing& serving, const std::string& log) {
  if (serving != written_) policies_.SetAllDue();
  written_ = serving;
  int writes = 0;
  for (int i = 0; i < kCompared && writes < timing_.writes && policies_.any_due(); ++i) {
    ObjectKey policy = *policies_.TakeDue();
    Result<bool> written = co_await WriteStatusOf(policy, serving, log);
    if (!written) {
      policies_.SetDue(policy);
      co_return written.error();
    }
    if (*written) ++writes;
  }
  co_return !policies_.any_due();
}

Async<bool> PolicyReconciler::WriteStatusOf(ObjectKey policy, const PolicyServing& serving,
                                            const std::string& log) {
  const PolicyStore::Entry* entry = policies_.Find(policy);
  std::optional<PolicyStore::Details> details = policies_.Read(policy);
  if (entry == nullptr || !details) co_return false;
  PolicyView view{.problems = details->problems,
                  .selects = entry->selects,
                  .in_reserved_namespace = entry->reserved,
                  .too_large = entry->too_large,
                  .in_force = entry->in_force,
                  .configured = proven_hash_ == applied_hash_ && Covers(policy, *entry),
                  .having = replicas_.Having(ScopeOf(policy), entry->version),
                  .replicas = std::max(replicas_.size(), ready_)};
  policy::PolicyStatus status = StatusOf(details->policy, view, serving, clock_.WallNow());
  if (status == details->policy.status) co_return false;
  kube::Json json = StatusToJson(status);
  const kube::Resource& resource = ResourceOfPolicy(policy);
  Result<> written = co_await PatchStatus(client_, resource, policy, std::move(json));
  if (!written && !kube::FailsAgain(written.error())) co_return written.error();
  // A refused status is written again at the next change of its policy.
  LOG_IF(WARNING, !written) << log << " " << written.error();
  co_return true;
}

}  // namespace operator_
