// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/fleet_watch.h"

#include <utility>

namespace fleet {

using kube::ObjectKey;
using kube::Result;

FleetWatch::FleetWatch(kube::Client& client, kube::Clock& clock, FleetStore& store)
    : store_(store),
      clusters_(client, clock, {.resource = kManagedClusters}),
      sets_(client, clock, {.resource = kManagedClusterSets}),
      bindings_(client, clock, {.resource = kManagedClusterSetBindings}),
      scores_(client, clock, {.resource = kAddOnPlacementScores}),
      placements_(client, clock, {.resource = kPlacements}),
      decisions_(client, clock, {.resource = kPlacementDecisions}) {
  auto put = [this](auto object) { store_.Put(std::move(object)); };
  FollowHanded(clusters_, put, [this](const ObjectKey& key) { store_.RemoveCluster(key.name); });
  FollowHanded(sets_, put, [this](const ObjectKey& key) { store_.RemoveSet(key.name); });
  FollowHanded(bindings_, put, [this](const ObjectKey& key) { store_.RemoveBinding(key); });
  FollowHanded(scores_, put, [this](const ObjectKey& key) { store_.RemoveScore(key); });
  FollowHanded(placements_, put, [this](const ObjectKey& key) { store_.RemovePlacement(key); });
  FollowHanded(decisions_, put, [this](const ObjectKey& key) { store_.RemoveDecision(key); });
}

void FleetWatch::Start(kube::TaskGroup& tasks) {
  tasks.Spawn("watch-managedclusters", clusters_.Run());
  tasks.Spawn("watch-managedclustersets", sets_.Run());
  tasks.Spawn("watch-managedclustersetbindings", bindings_.Run());
  tasks.Spawn("watch-addonplacementscores", scores_.Run());
  tasks.Spawn("watch-placements", placements_.Run());
  tasks.Spawn("watch-placementdecisions", decisions_.Run());
  tasks.Spawn("watches-complete", AwaitSync());
}

int FleetWatch::incomplete() const {
  return !clusters_.synced() + !sets_.synced() + !bindings_.synced() + !scores_.synced() +
         !placements_.synced() + !decisions_.synced();
}

kube::Async<> FleetWatch::WaitForSync() {
  Result<> synced = co_await clusters_.WaitForSync();
  if (synced) synced = co_await sets_.WaitForSync();
  if (synced) synced = co_await bindings_.WaitForSync();
  if (synced) synced = co_await scores_.WaitForSync();
  if (synced) synced = co_await placements_.WaitForSync();
  if (synced) synced = co_await decisions_.WaitForSync();
  co_return synced;
}

boost::asio::awaitable<void> FleetWatch::AwaitSync() {
  co_await kube::IgnoreCancellation();
  Result<> synced = co_await WaitForSync();
  if (synced) store_.WakeAll();
}

}  // namespace fleet
