// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/controller/rollout_reconciler.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>

#include "fleet/api/budgets.h"
#include "fleet/api/reference_to.h"
#include "fleet/bounds/find_by_name.h"
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

// Of packed objects.
constexpr size_t kLargeObjects = 32 * 1024;

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
  return PlanRollout(placements, store_.StatesOf({fleet.ns, fleet.name}), fleet.hash,
                     clock_.WallNow());
}

Async<Outcome> RolloutReconciler::Reconcile(kube::Request request) {
  // A pass takes milliseconds of CPU: between two of them, other tasks get their turn.
  kube::Executor executor = co_await boost::asio::this_coro::executor;
  co_await boost::asio::post(executor, boost::asio::use_awaitable);

  Result<std::shared_ptr<const FleetPodPlacement>> found = co_await Find(request.key);
  if (!found) co_return found.error();
  std::shared_ptr<const FleetPodPlacement> fleet = std::move(*found);
  if (fleet == nullptr) co_return Outcome::Done();
  if (fleet->deleting && !HasFinalizer(*fleet)) co_return Outcome::Done();
  if (!fleet->deleting && !fleet->problems.empty()) {
    Result<> reported = co_await WriteStatus(*fleet, nullptr);
    if (!reported) co_return reported.error();
    store_.SaidLeftOut(request.key);
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
      WorkWrites(*fleet, plan, store_.WorksOf(request.key), clock_.WallNow());
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

Async<std::shared_ptr<const FleetPodPlacement>> RolloutReconciler::Find(ObjectKey key) {
  std::shared_ptr<const FleetPodPlacement> fleet = store_.Find(key);
  std::optional<Excess> excess = store_.LeftOut(key);
  if (fleet != nullptr || !excess) co_return fleet;
  Result<std::optional<Unstructured>> object =
      co_await FindByName(client_, kFleetPodPlacements, key);
  if (!object) co_return object.error();
  if (!*object) {
    store_.SaidLeftOut(key);
    co_return fleet;
  }
  Result<FleetPodPlacement> read = FleetPodPlacement::FromJson((*object)->body());
  if (!read) co_return read.error().AsTerminal();
  // Without the status, which will have this number.
  FleetPodPlacementStatus status = std::exchange(read->status, {});
  size_t bytes = KeptBytes(*read, (*object)->body());
  read->status = std::move(status);
  read->spec.objects.clear();
  read->too_large = true;
  read->problems = {
      {"spec", DescribeExcess(kFleetPodPlacements.plural, kFleetBudget, *excess, bytes)}};
  fleet = std::make_shared<const FleetPodPlacement>(std::move(*read));
  co_return fleet;
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

Async<> RolloutReconciler::Write(const FleetPodPlacement& fleet, RolloutPlan& plan,
                                 std::vector<WorkWrite> writes,
                                 std::map<std::string, FailedWrite> failures) {
  std::optional<Error> first;
  for (const WorkWrite& write : writes) {
    if (write.kind == WorkWrite::Kind::kCreate && !store_.HasRoom(fleet.ns)) {
      ++plan.without_room;
      continue;
    }
    Result<> done = co_await WriteOne(fleet, write);
    if (done) continue;
    if (!first) first = done.error().Prefix("cluster " + write.cluster);
    if (plan.targets.at(write.cluster) != Target::kNewest) continue;
    FailedWrite& failure = failures[write.cluster];
    failure.error = done.error().message();
    // Not for a missing namespace or permission: a cluster that joins gets them in a moment.
    if (kube::IsRefusal(done.error())) failure.refused_at = clock_.WallNow();
  }
  store_.SetUnwritten({fleet.ns, fleet.name}, plan.newest, failures);
  if (plan.without_room > 0) {
    plan.counts.progressing -= std::min(plan.without_room, plan.counts.progressing);
    kube::WallTime again = clock_.WallNow() + kRoomAgain;
    if (!plan.look_again || again < *plan.look_again) plan.look_again = again;
  }
  if (first) co_return *first;
  co_return Ok();
}

Async<std::shared_ptr<void>> RolloutReconciler::BeginLarge() {
  while (large_) {
    Result<> waited = co_await large_ended_.Wait();
    if (!waited) co_return waited.error();
  }
  large_ = true;
  co_return std::shared_ptr<void>(this, [this](void*) {
    large_ = false;
    large_ended_.NotifyAll();
  });
}

Async<> RolloutReconciler::WriteOne(const FleetPodPlacement& fleet, const WorkWrite& write) {
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
  const bool large =
      fleet.packed.size() > kLargeObjects && write.kind != WorkWrite::Kind::kPatchPolicy;
  std::shared_ptr<void> slot;
  if (large) {
    Result<std::shared_ptr<void>> begun = co_await BeginLarge();
    if (!begun) co_return begun.error();
    slot = std::move(*begun);
  }
  Json body = BodyOf(works_, fleet, write);
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
