// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/controller/rollouts.h"

#include <utility>

namespace fleet {
namespace {

using kube::ObjectKey;
using kube::Result;

// For a FleetPodPlacement whose writes fail, as in a namespace that does not exist yet.
constexpr std::chrono::seconds kMaxBackoff{30};

}  // namespace

Rollouts::Rollouts(RolloutParts parts, int workers)
    : decisions_(parts.decisions),
      store_([this](const ObjectKey& key) { controller_.EnqueueAfter(key, kRolloutCoalesce); }),
      fleets_(parts.client, parts.clock, {.resource = kFleetPodPlacements}),
      works_(parts.client, parts.clock, {.resource = kPodPlacementWorks}),
      reconciler_(parts.client, parts.clock, store_, decisions_, parts.events),
      controller_(
          {.name = kRolloutController, .workers = workers, .queue = {.max_delay = kMaxBackoff}},
          reconciler_, parts.clock, parts.observer) {
  auto put = [this](auto object) { store_.Put(std::move(object)); };
  FollowHanded(fleets_, put, [this](const ObjectKey& key) { store_.RemoveFleet(key); });
  FollowHanded(works_, put, [this](const ObjectKey& key) { store_.RemoveWork(key); });
}

void Rollouts::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("watch-fleetpodplacements", fleets_.Run());
  tasks.Spawn("watch-podplacementworks", works_.Run());
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
