// SPDX-License-Identifier: Apache-2.0
#include "operator/teardown/teardown.h"

#include <glog/logging.h>

#include <utility>

#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;

// Between two steps of one round. The worker serves other namespaces meanwhile.
constexpr std::chrono::milliseconds kNextStep{10};

std::string Describe(const UngateRound& round) {
  std::string failures = DescribeFailures(round);
  if (!failures.empty()) return failures;
  size_t left = round.gated - round.ungated;
  if (left == 0) return "looking for pods with a scheduling gate";
  return std::to_string(left) + " pods still have a scheduling gate";
}

}  // namespace

Teardown::Teardown(kube::Client& client, kube::Clock& clock, OperandStore& store,
                   kube::EventRecorder& events, TeardownTiming timing)
    : client_(client), clock_(clock), store_(store), events_(events), timing_(timing) {}

void Teardown::Begin(const std::string& ns) {
  auto [state, is_new] = running_.try_emplace(ns);
  if (is_new) state->second.since = clock_.Now();
}

std::string Teardown::WaitsFor(const std::string& ns) const {
  auto state = running_.find(ns);
  return state == running_.end() ? "" : state->second.waits_for;
}

Async<Outcome> Teardown::Run(TeardownScope scope) {
  if (!running_.contains(scope.ns)) {
    Result<bool> left = co_await AnythingLeft(scope);
    if (!left) co_return left.error();
    if (!*left) co_return Outcome::Done();
    LOG(INFO) << scope.log << " teardown begins";
  }
  Result<> stopped = co_await StopGating(scope);
  if (!stopped) co_return stopped.error();

  State& state = running_[scope.ns];
  Result<bool> complete = co_await UngatePods(scope, state);
  if (!complete) co_return complete.error();
  state.waits_for = Describe(state.last);
  if (!*complete) co_return Outcome::After(kNextStep);
  kube::Duration waited = clock_.Now() - state.since;
  if (!state.last.found_none()) {
    bool give_up = waited >= timing_.drain + timing_.give_up && state.attempts >= timing_.attempts;
    if (!give_up) co_return Outcome::After(timing_.poll);
    if (!state.removed_at) ReportGatedPods(scope, state);
  }
  if (state.round_began < state.since + timing_.settle) {
    state.waits_for = "the API server may still gate pods";
    co_return Outcome::After(timing_.poll);
  }

  if (!state.removed_at) {
    Result<> removed = co_await RemoveObjects(scope);
    if (!removed) co_return removed.error();
    state.removed_at = clock_.Now();
  }
  Result<bool> runs = co_await AnyPodRuns(scope);
  if (!runs) co_return runs.error();
  if (*runs && clock_.Now() < *state.removed_at + timing_.end) {
    state.waits_for = "its pods have not ended yet";
    co_return Outcome::After(timing_.poll);
  }
  Result<> removed = co_await RemoveLastObjects(scope);
  if (!removed) co_return removed.error();
  running_.erase(scope.ns);
  LOG(INFO) << scope.log << " teardown is complete";
  co_return Outcome::Done();
}

Async<bool> Teardown::AnythingLeft(const TeardownScope& scope) {
  for (const std::vector<ObjectId>* objects : {&scope.gating, &scope.objects}) {
    for (const ObjectId& object : *objects) {
      if (store_.Get(object.resource, object.key)) co_return true;
    }
  }
  Result<kube::core::Secret> secret =
      co_await kube::Get<kube::core::Secret>(client_, scope.authority);
  if (!secret && !IsNotFound(secret)) co_return secret.error();
  co_return secret.has_value();
}

Async<> Teardown::StopGating(const TeardownScope& scope) {
  bool begins = !running_.contains(scope.ns);
  std::set<std::pair<std::string_view, std::string>> removed;
  if (!begins) removed = running_[scope.ns].removed;
  for (size_t i = 0; i < scope.gating.size(); ++i) {
    const auto& [resource, key] = scope.gating[i];
    // The watch may not show yet what was written a moment ago.
    bool due = (begins && i == 0) || store_.Get(resource, key).has_value();
    if (!due || !removed.emplace(resource.plural, key.name).second) continue;
    Result<> done = co_await store_.Remove(resource, key, scope.log);
    if (!done) co_return done.error();
  }
  Begin(scope.ns);
  State& state = running_[scope.ns];
  // An object that was written just before the teardown and seen just after it began.
  if (!begins && removed.size() > state.removed.size()) state.since = clock_.Now();
  state.removed = std::move(removed);
  co_return Ok();
}

Async<bool> Teardown::UngatePods(const TeardownScope& scope, State& state) {
  if (state.round.new_round()) {
    state.round_began = clock_.Now();
    TeardownPhase phase = TeardownPhase::kDrained;
    if (state.round_began - state.since < timing_.drain) {
      phase =
          scope.controller_available ? TeardownPhase::kDraining : TeardownPhase::kControllerDown;
    }
    state.choose = [choose = scope.choose_gates, phase](const Pod& pod) {
      return choose(pod, phase);
    };
  }
  std::string ns = scope.ns;
  ChooseGates choose = state.choose;
  Result<bool> complete = co_await UngateStep(client_, clock_, std::move(ns), std::move(choose),
                                              state.round, scope.log);
  if (!complete) co_return complete.error();
  if (!*complete) co_return false;
  state.last = std::exchange(state.round, UngateRound());
  if (state.last.kept == 0) ++state.attempts;
  co_return true;
}

void Teardown::ReportGatedPods(const TeardownScope& scope, const State& state) {
  LOG(WARNING) << scope.log
               << " the teardown continues although pods are gated: " << Describe(state.last);
  std::string reason = state.last.error ? state.last.error->message() : "";
  for (const kube::core::ObjectReference& pod : state.last.failed_pods) {
    events_.Record(pod, /*warning=*/true, api::kReasonGateRemovalFailed,
                   "The scheduling gate could not be removed: " + reason);
  }
}

Async<> Teardown::RemoveObjects(const TeardownScope& scope) {
  Result<> all = Ok();
  for (const ObjectId& object : scope.objects) {
    Result<> removed = co_await store_.Remove(object.resource, object.key, scope.log);
    if (!removed) all = removed;
  }
  for (const ObjectId& object : scope.optional_objects) {
    Result<> removed = co_await store_.Remove(object.resource, object.key, scope.log);
    if (!removed && !FailedWith(removed, kube::Code::kPermissionDenied)) all = removed;
    LOG_IF(WARNING, !removed) << scope.log << " cannot remove " << object.key.ToString() << ": "
                              << removed.error();
  }
  co_return all;
}

Async<bool> Teardown::AnyPodRuns(const TeardownScope& scope) {
  if (scope.pods.empty()) co_return false;
  kube::ListOptions options{.ns = scope.ns,
                            .label_selector = scope.pods,
                            .field_selector = "status.phase!=Succeeded,status.phase!=Failed",
                            .limit = 1};
  kube::ListPages pages(client_, kube::ResourceOf<Pod>::value, std::move(options),
                        /*protobuf=*/true);
  Result<kube::RawList> page = co_await pages.Next();
  if (!page) co_return page.error().Prefix("list the pods of " + scope.pods);
  co_return !page->items.empty();
}

Async<> Teardown::RemoveLastObjects(const TeardownScope& scope) {
  for (const ObjectId& object : scope.created_by_pods) {
    Result<> removed = co_await store_.Remove(object.resource, object.key, scope.log);
    if (!removed) co_return removed.error();
  }
  co_return co_await store_.Remove(kube::kSecrets, scope.authority, scope.log);
}

}  // namespace operator_
