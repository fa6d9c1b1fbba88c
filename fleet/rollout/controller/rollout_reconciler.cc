// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/controller/rollout_reconciler.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>

#include "fleet/api/reference_to.h"
#include "fleet/rollout/events.h"
#include "fleet/rollout/status.h"
#include "kube/client/refusal.h"
#include "kube/client/typed.h"
#include "kube/controller/outcome_at.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using kube::Unstructured;

bool HasFinalizer(const FleetPodPlacement& fleet) {
  return std::find(fleet.finalizers.begin(), fleet.finalizers.end(), kFleetFinalizer) !=
         fleet.finalizers.end();
}

}  // namespace

RolloutPlan RolloutReconciler::Plan(const FleetPodPlacement& fleet) const {
  std::vector<PlacementRollout> placements;
  if (!fleet.deleting) {
    for (const PlacementRef& ref : fleet.spec.placements)
      placements.push_back(decisions_.DecidedBy(fleet.ns, ref));
  }
  return PlanRollout(placements, store_.StatesOf({fleet.ns, fleet.name}), HashOf(fleet.spec),
                     clock_.WallNow());
}

Async<Outcome> RolloutReconciler::Reconcile(kube::Request request) {
  // A pass takes milliseconds of CPU: between two of them, other tasks get their turn.
  kube::Executor executor = co_await boost::asio::this_coro::executor;
  co_await boost::asio::post(executor, boost::asio::use_awaitable);

  std::shared_ptr<const FleetPodPlacement> fleet = store_.Find(request.key);
  if (fleet == nullptr) co_return Outcome::Done();
  if (fleet->deleting && !HasFinalizer(*fleet)) co_return Outcome::Done();
  if (!fleet->deleting && !fleet->problems.empty()) {
    Result<> reported = co_await WriteStatus(*fleet, nullptr);
    if (!reported) co_return reported.error();
    co_return Outcome::Done();
  }
  if (!HasFinalizer(*fleet)) {
    Result<> added = co_await SetFinalizer(*fleet, true);
    if (!added) co_return added.error().Prefix("add the finalizer");
    fleet = store_.Find(request.key);
    if (fleet == nullptr) co_return Outcome::Done();
  }

  RolloutPlan plan = Plan(*fleet);
  store_.SetCounted(request.key, plan);
  std::map<std::string, FailedWrite> failures = HoldRefused(*fleet, plan);
  std::vector<WorkWrite> writes =
      WorkWrites(works_, *fleet, plan, store_.WorksOf(request.key), clock_.WallNow());
  Result<> written = co_await Write(*fleet, plan, std::move(writes), std::move(failures));

  if (fleet->deleting && written && store_.WorksOf(request.key).empty()) {
    Result<> removed = co_await SetFinalizer(*fleet, false);
    if (!removed) co_return removed.error().Prefix("remove the finalizer");
    co_return Outcome::Done();
  }
  Result<> reported = co_await WriteStatus(*fleet, &plan);
  if (!written) co_return written.error();
  if (!reported) co_return reported.error();
  co_return kube::OutcomeAt(plan.look_again, clock_.WallNow());
}

std::map<std::string, FailedWrite> RolloutReconciler::HoldRefused(const FleetPodPlacement& fleet,
                                                                  RolloutPlan& plan) const {
  std::map<std::string, FailedWrite> refused =
      store_.RefusedOf({fleet.ns, fleet.name}, plan.newest);
  std::erase_if(refused, [&](const auto& entry) {
    auto target = plan.targets.find(entry.first);
    return target == plan.targets.end() || target->second != Target::kNewest;
  });
  for (const auto& [cluster, failure] : refused) {
    plan.targets.at(cluster) = Target::kUnchanged;
    kube::WallTime again = *failure.refused_at + RolloutStore::kRefusedRetry;
    if (!plan.look_again || again < *plan.look_again) plan.look_again = again;
  }
  return refused;
}

Async<> RolloutReconciler::Write(const FleetPodPlacement& fleet, const RolloutPlan& plan,
                                 std::vector<WorkWrite> writes,
                                 std::map<std::string, FailedWrite> failures) {
  std::optional<Error> first;
  for (const WorkWrite& write : writes) {
    Result<> done = co_await WriteOne(write);
    if (done) continue;
    if (!first) first = done.error().Prefix("cluster " + write.cluster);
    if (plan.targets.at(write.cluster) != Target::kNewest) continue;
    FailedWrite& failure = failures[write.cluster];
    failure.error = done.error().message();
    // Not for a missing namespace or permission: a cluster that joins gets them in a moment.
    if (kube::IsRefusal(done.error())) failure.refused_at = clock_.WallNow();
  }
  store_.SetUnwritten({fleet.ns, fleet.name}, plan.newest, failures);
  if (first) co_return *first;
  co_return Ok();
}

Async<> RolloutReconciler::WriteOne(const WorkWrite& write) {
  ObjectKey key{write.cluster, write.name};
  if (write.kind == WorkWrite::Kind::kDelete) {
    kube::DeleteOptions options;
    options.uid = write.uid;
    options.resource_version = write.resource_version;
    Result<> deleted =
        co_await kube::DeleteObject(client_, works_.resource, key, std::move(options));
    if (IsNotFound(deleted)) deleted = co_await ForgetGone(write);
    co_return deleted;
  }
  Json body = write.body;
  Result<Unstructured> stored = Error::Internal("");
  if (write.kind == WorkWrite::Kind::kCreate) {
    Unstructured object(std::move(body));
    stored = co_await kube::CreateObject(client_, works_.resource, std::move(object));
  } else {
    stored = co_await kube::PatchObject(client_, works_.resource, key, kube::kMergePatch,
                                        std::move(body));
  }
  if (write.kind == WorkWrite::Kind::kPatch && IsNotFound(stored)) {
    Result<> gone = co_await ForgetGone(write);
    if (!gone) co_return gone.error();
  }
  if (!stored) co_return stored.error();
  Result<PodPlacementWork> work = works_.read(stored->body());
  if (!work) co_return work.error();
  store_.PutWritten(*work);
  co_return Ok();
}

// The watch reports no deletion of an object that was created and deleted between two of its lists.
// A list, as a 404 of a write may also mean that the kind is not served at the moment.
Async<> RolloutReconciler::ForgetGone(const WorkWrite& write) {
  ObjectKey key{write.cluster, write.name};
  kube::ListOptions options{.ns = key.ns, .field_selector = "metadata.name=" + key.name};
  Result<kube::TypedList<Unstructured>> list =
      co_await kube::ListObjects(client_, works_.resource, std::move(options));
  if (!list) co_return list.error();
  for (const Unstructured& item : list->items) {
    if (kube::KeyOf(item) == key && kube::StringAt(item.body(), "metadata.uid") == write.uid)
      co_return Error::NotFound(key.ToString() + " exists, but cannot be written");
  }
  store_.RemoveWork(key, write.uid);
  co_return Ok();
}

Async<> RolloutReconciler::SetFinalizer(const FleetPodPlacement& fleet, bool present) {
  std::vector<std::string> finalizers = fleet.finalizers;
  std::erase(finalizers, kFleetFinalizer);
  if (present) finalizers.emplace_back(kFleetFinalizer);
  ObjectKey key{fleet.ns, fleet.name};
  Json patch = {
      {"metadata", {{"resourceVersion", fleet.resource_version}, {"finalizers", finalizers}}}};
  Result<Unstructured> stored = co_await kube::PatchObject(client_, kFleetPodPlacements, key,
                                                           kube::kMergePatch, std::move(patch));
  if (!present && IsNotFound(stored)) co_return Ok();
  if (!stored) co_return stored.error();
  Result<FleetPodPlacement> read = FleetPodPlacement::FromJson(stored->body());
  if (!read) co_return read.error();
  store_.PutWritten(std::move(*read));
  co_return Ok();
}

Async<> RolloutReconciler::WriteStatus(const FleetPodPlacement& fleet, const RolloutPlan* plan) {
  FleetPodPlacementStatus status = StatusOf(fleet, plan, clock_.WallNow());
  if (status == fleet.status) co_return Ok();
  ObjectKey key{fleet.ns, fleet.name};
  Json patch = {{"metadata", {{"resourceVersion", fleet.resource_version}}},
                {"status", StatusToJson(status)}};
  std::string subresource = "status";
  Result<Unstructured> stored =
      co_await kube::PatchObject(client_, kFleetPodPlacements, key, kube::kMergePatch,
                                 std::move(patch), std::move(subresource));
  if (IsNotFound(stored)) co_return Ok();  // it was deleted meanwhile
  if (!stored) co_return stored.error().Prefix("write the status");
  for (RolloutEvent& event : RolloutEventsOf(fleet.status, status))
    events_.Record(ReferenceTo(kFleetPodPlacements, fleet), event.warning, event.reason,
                   std::move(event.message));
  Result<FleetPodPlacement> read = FleetPodPlacement::FromJson(stored->body());
  if (!read) co_return read.error();
  store_.PutWritten(std::move(*read));
  co_return Ok();
}

}  // namespace fleet
