// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/placement_reconciler.h"

#include <glog/logging.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "fleet/api/reading.h"
#include "fleet/api/reference_to.h"
#include "fleet/bounds/find_by_name.h"
#include "fleet/cel/cached_selectors.h"
#include "fleet/hub/placement_status.h"
#include "fleet/hub/ranking.h"
#include "kube/client/typed.h"
#include "kube/controller/outcome_at.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using kube::Unstructured;
using kube::WallTime;

// The time until the next pass for a Placement whose CEL is refused.
constexpr std::chrono::minutes kRefusal = cel::CachedSelectors::kRefusal;

// The empty result of a misconfigured Placement, as in OCM.
std::vector<DecisionGroup> NoDecisions() { return std::vector<DecisionGroup>(1); }

}  // namespace

PlacementReconciler::PlacementReconciler(kube::Client& client, kube::Clock& clock,
                                         FleetStore& store, PlacementCel& cel,
                                         kube::EventRecorder& events,
                                         PlacementReconcilerOptions options)
    : client_(client),
      clock_(clock),
      store_(store),
      cel_(cel),
      events_(events),
      options_(options) {}

Async<Outcome> PlacementReconciler::Reconcile(kube::Request request) {
  // A pass takes milliseconds of CPU: between two of them, other tasks get their turn.
  kube::Executor executor = co_await boost::asio::this_coro::executor;
  co_await boost::asio::post(executor, boost::asio::use_awaitable);

  for (int passes = 1;; ++passes) {
    const Placement* placement = store_.Find(request.key);
    if (placement == nullptr) {
      Forget(request.key);
      if (std::optional<Excess> excess = store_.LeftOut(request.key)) {
        Result<> said = co_await SayLeftOut(request.key, *excess);
        if (!said) co_return said.error();
      }
      co_return Outcome::Done();
    }
    if (placement->deleting || !IsOurs(*placement)) co_return Outcome::Done();
    if (store_.HasCel(request.key) && (!cel_.Prepare() || cel_.Busy(placement->ns)))
      co_return Outcome::After(kCelRetry);

    Pass pass = Decide(*placement);
    cel::Questions questions = cel_.TakeQuestions();
    if (questions.empty()) {
      Result<> written = co_await Write(pass);
      if (!written) co_return written.error();
      co_return kube::OutcomeAt(pass.next, clock_.WallNow());
    }
    // The decisions stay unchanged until CEL is evaluated.
    if (passes == kMaxCelPasses) co_return Outcome::After(kCelRetry);
    Result<kube::Duration> wait = co_await cel_.Answer(std::move(questions));
    if (!wait) co_return wait.error().Prefix("CEL");
    if (*wait > kube::Duration::zero())
      co_return Outcome::After(std::chrono::ceil<std::chrono::milliseconds>(*wait));
  }
}

bool PlacementReconciler::IsOurs(const Placement& placement) {
  ObjectKey key{placement.ns, placement.name};
  Ownership ownership = OwnershipOf(placement, options_.placements);
  if (ownership != Ownership::kIncomplete) {
    warned_.erase(key);
    return ownership == Ownership::kOurs;
  }
  if (warned_.insert(key).second) {
    events_.Record(ReferenceTo(kPlacements, placement), /*warning=*/true, "SchedulerIncomplete",
                   "not scheduled by " + std::string(kSchedulerName) + ": the annotation " +
                       std::string(kSchedulingDisableAnnotation) +
                       "=true is required too, or OCM's controller writes the decisions");
  }
  return false;
}

Async<> PlacementReconciler::SayLeftOut(ObjectKey key, Excess excess) {
  Result<std::optional<Unstructured>> object = co_await FindByName(client_, kPlacements, key);
  if (!object) co_return object.error();
  if (!*object) {
    store_.SaidLeftOut(key);
    co_return Ok();
  }
  Result<Placement> placement = Placement::FromJson((*object)->body());
  if (!placement || placement->deleting || !IsOurs(*placement)) {
    store_.SaidLeftOut(key);
    co_return Ok();
  }
  // Without the conditions, of which one will have this number.
  Placement without = *placement;
  without.status.conditions.clear();
  size_t bytes = KeptBytes(without, (*object)->body());
  PlacementView view{
      .misconfigured = DescribeExcess(kPlacements.plural, kPlacementBudget, excess, bytes),
      .too_large = true,
      .kept = true};
  Pass pass;
  pass.status = StatusOf(*placement, view, clock_.WallNow());
  pass.placement = std::move(*placement);
  Result<> written = co_await WriteStatus(pass);
  if (!written) co_return written.error();
  attempts_.erase(key);
  store_.SaidLeftOut(key);
  co_return Ok();
}

std::string PlacementReconciler::ExceedsDecisions(const ObjectKey& key,
                                                  const std::vector<WantedPage>& wanted) const {
  size_t bytes = 0;
  for (const WantedPage& page : wanted) {
    bool scored = std::any_of(page.decisions.begin(), page.decisions.end(),
                              [](const Decision& decision) { return decision.score.has_value(); });
    bytes += DecisionBytes(page.decisions.size(), scored);
  }
  DecisionIndex::Bytes stored = store_.decisions().BytesOf(key);
  if (bytes <= stored.own) return "";
  std::optional<Excess> excess;
  if (stored.of_namespace - stored.own + bytes > kDecisionBudget.owner) excess = Excess::kOwner;
  if (stored.total - stored.own + bytes > kDecisionBudget.total) excess = Excess::kTotal;
  if (!excess) return "";
  return "the new decision " +
         DescribeExcess(kPlacementDecisions.plural, kDecisionBudget, *excess, bytes);
}

PlacementReconciler::Pass PlacementReconciler::Decide(const Placement& placement) {
  Pass pass;
  pass.placement = placement;
  ObjectKey key{placement.ns, placement.name};
  WallTime now = clock_.WallNow();
  if (store_.decisions().Incomplete(key)) {
    PlacementView unknown{.misconfigured =
                              "some of its PlacementDecisions exceed the limits of "
                              "the hub and are not known",
                          .too_large = true,
                          .kept = true};
    pass.status = StatusOf(placement, unknown, now);
    return pass;
  }
  Scheduled result = Schedule(placement, store_.decisions().OwnOf(key), store_.fleet(), now,
                              cel_.Begin(placement.ns), options_.schedule);
  pass.next = result.requeue_at;
  std::string refusal = cel_.TakeRefusal();
  if (!refusal.empty()) {
    result.misconfigured = Misconfigured{std::string(kPredicate), refusal};
    pass.next = now + kRefusal;
  }
  pass.changes.warnings = result.warnings;

  PlacementView view;
  if (result.misconfigured) {
    view.misconfigured = result.misconfigured->Message();
    view.kept = !options_.clear_misconfigured || !refusal.empty();
    view.reason = std::string(kNotAllDecisionsScheduled);
    view.message = "The Placement is misconfigured";
  } else {
    view.satisfied = result.satisfied.status;
    view.reason = std::string(result.satisfied.reason);
    view.message = result.satisfied.message;
  }
  if (!view.kept) {
    WantedDecisions wanted =
        WantedOf(placement, result.misconfigured ? NoDecisions() : result.groups);
    std::string excess = ExceedsDecisions(key, wanted.pages);
    if (!excess.empty()) {
      view.misconfigured = std::move(excess);
      view.too_large = true;
      view.kept = true;
    } else {
      PlanWrites(wanted.pages, pass);
      if (!pass.plan.empty()) pass.changes.totals = Ranking(result);
      view.groups = std::move(wanted.groups);
      if (pass.scores_written) view.scores_written = now;
    }
  }
  pass.status = StatusOf(placement, view, now);
  return pass;
}

void PlacementReconciler::PlanWrites(std::vector<WantedPage>& wanted, Pass& pass) {
  const Placement& placement = pass.placement;
  ObjectKey key{placement.ns, placement.name};
  const DecisionIndex& index = store_.decisions();
  std::vector<StoredPage> stored = index.PagesOf(key, placement.uid, wanted.size());
  if (placement.spec.sort_by != SortBy::kScore) KeepPages(placement.name, stored, wanted);
  pass.plan = PlanDecisionWrites(placement.name, stored, wanted);
  if (pass.plan.empty()) return;
  if (placement.spec.sort_by == SortBy::kScore) {
    WallTime now = clock_.WallNow();
    auto last = scores_written_.find(key);
    WallTime next =
        last == scores_written_.end() ? WallTime() : last->second + placement.spec.score_rate_limit;
    kube::Result<WallTime> written = kube::ParseTime(placement.status.last_score_update_time);
    if (written) next = std::max(next, *written + placement.spec.score_rate_limit);
    if (now < next && OnlyScoresDiffer(stored, wanted)) {
      pass.plan.clear();
      if (!pass.next || next < *pass.next) pass.next = next;
      return;
    }
    pass.scores_written = true;
  }
  pass.versions = index.VersionsOf(key, wanted.size());
}

Async<> PlacementReconciler::Write(Pass& pass) {
  if (!pass.plan.empty()) {
    ObjectKey key{pass.placement.ns, pass.placement.name};
    DecisionOwner owner{key, pass.placement.uid};
    std::vector<DecisionWrite> plan = std::move(pass.plan);
    std::map<std::string, std::string> versions = std::move(pass.versions);
    DecisionListener& listener = *this;
    Result<> written = co_await WriteDecisions(client_, std::move(owner), std::move(plan),
                                               std::move(versions), listener, pass.changes);
    if (!written) {
      RecordEvents(pass);
      co_return written.error();
    }
    if (pass.scores_written) scores_written_[key] = clock_.WallNow();
  }
  Result<> status = co_await WriteStatus(pass);
  RecordEvents(pass);
  co_return status;
}

Async<> PlacementReconciler::WriteStatus(Pass& pass) {
  const Placement& placement = pass.placement;
  if (pass.status == placement.status) co_return Ok();
  ObjectKey key{placement.ns, placement.name};
  auto last = attempts_.find(key);
  Json status = StatusToJson(pass.status);
  const size_t status_hash = std::hash<std::string>()(kube::DumpJson(status));
  if (last != attempts_.end() && last->second.resource_version == placement.resource_version &&
      last->second.status_hash == status_hash)
    co_return Ok();
  Json patch = {{"metadata", {{"resourceVersion", placement.resource_version}}},
                {"status", std::move(status)}};
  std::string subresource = "status";
  Result<Unstructured> written = co_await kube::PatchObject(
      client_, kPlacements, key, kube::kMergePatch, std::move(patch), std::move(subresource));
  // It was deleted meanwhile.
  if (IsNotFound(written)) co_return Ok();
  if (!written) co_return written.error().Prefix("write the status");
  Result<Placement> stored = Placement::FromJson(written->body());
  if (!stored) co_return stored.error();
  attempts_[key] = {stored->resource_version, status_hash};
  store_.PutWritten(std::move(*stored));
  co_return Ok();
}

void PlacementReconciler::RecordEvents(Pass& pass) {
  ObjectKey key{pass.placement.ns, pass.placement.name};
  if (pass.changes.warnings.empty()) {
    score_warnings_.erase(key);
  } else {
    std::vector<std::string>& before = score_warnings_[key];
    pass.changes.warned_before = before == pass.changes.warnings;
    before = pass.changes.warnings;
  }
  for (DecisionEvent& event : EventsOf(key, pass.changes)) {
    events_.Record(ReferenceTo(kPlacements, pass.placement), event.warning, event.reason,
                   std::move(event.message));
  }
}

void PlacementReconciler::Forget(const ObjectKey& placement) {
  warned_.erase(placement);
  score_warnings_.erase(placement);
  scores_written_.erase(placement);
  attempts_.erase(placement);
}

}  // namespace fleet
