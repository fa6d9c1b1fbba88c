// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/controller/rollouts.h"

#include <string>
#include <utility>

#include "fleet/api/budgets.h"
#include "fleet/api/pod_placement_work.h"

namespace fleet {
namespace {

using kube::ObjectKey;
using kube::Result;

}  // namespace

Rollouts::Rollouts(RolloutParts parts, int workers)
    : decisions_(parts.decisions),
      kind_(parts.works),
      store_(
          parts.clock,
          [this](const ObjectKey& key) { controller_.EnqueueAfter(key, kRolloutCoalesce); }, kind_),
      fleets_(parts.client, parts.clock, kFleetPodPlacements, kFleetBudget,
              NewFollower<FleetPodPlacement>(
                  {.put = [this](FleetPodPlacement fleet) { store_.Put(std::move(fleet)); },
                   .leave_out = [this](const ObjectKey& key, Excess excess,
                                       FleetPodPlacement*) { store_.LeaveOut(key, excess); },
                   .remove = [this](const ObjectKey& key) { store_.RemoveFleet(key); }})),
      // Only the ManifestWorks that this hub writes have the label.
      works_(parts.client, parts.clock,
             {.label_selector = std::string(kWorkNameLabel), .resource = kind_.resource}),
      reconciler_(parts.client, parts.clock, store_, decisions_, parts.events, kind_),
      controller_({.name = kRolloutController, .workers = workers}, reconciler_, parts.clock,
                  parts.observer) {
  FollowHanded(
      works_,
      [this](const kube::Unstructured& object) {
        // The only error is no JSON object, which no watch delivers.
        if (Result<PodPlacementWork> work = kind_.read(object.body())) store_.Put(*work);
      },
      [this](const ObjectKey& key) { store_.RemoveWork(key); });
}

void Rollouts::Start(kube::TaskGroup& tasks) {
  fleets_.Start(tasks, "watch-fleetpodplacements");
  tasks.Spawn("watch-" + std::string(kind_.resource.plural), works_.Run());
  tasks.Spawn("rollouts-complete", AwaitSync());
  tasks.Spawn(controller_.name(), controller_.Run(tasks));
}

boost::asio::awaitable<void> Rollouts::AwaitSync() {
  co_await kube::IgnoreCancellation();
  Result<> synced = co_await decisions_.WaitForSync();
  if (synced) synced = co_await fleets_.WaitForSync();
  if (synced) synced = co_await works_.WaitForSync();
  if (synced) store_.WakeAll();
}

}  // namespace fleet
