// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/fleet_watch.h"

#include <utility>

#include "fleet/api/budgets.h"

namespace fleet {

using kube::ObjectKey;
using kube::Result;

FleetWatch::FleetWatch(kube::Client& client, kube::Clock& clock, FleetStore& store)
    : store_(store),
      clusters_(client, clock, kManagedClusters, kClusterBudget,
                NewFollower<ManagedCluster>(
                    {.put = [this](ManagedCluster cluster) { store_.Put(std::move(cluster)); },
                     .leave_out =
                         [this](const ObjectKey& key, Excess excess, ManagedCluster* read) {
                           if (excess == Excess::kObjects) return store_.RemoveCluster(key.name);
                           store_.LeaveOutCluster(key.name, read);
                         },
                     .remove = [this](const ObjectKey& key) { store_.RemoveCluster(key.name); }})),
      sets_(client, clock, {.max_objects = kMaxSets, .resource = kManagedClusterSets}),
      bindings_(client, clock,
                {.max_objects = kMaxSetBindings, .resource = kManagedClusterSetBindings}),
      scores_(client, clock, kAddOnPlacementScores, kScoreBudget,
              NewFollower<AddOnPlacementScore>(
                  {.put = [this](AddOnPlacementScore scores) { store_.Put(std::move(scores)); },
                   .leave_out = [this](const ObjectKey& key, Excess,
                                       AddOnPlacementScore*) { store_.RemoveScore(key); },
                   .remove = [this](const ObjectKey& key) { store_.RemoveScore(key); }})),
      placements_(client, clock, kPlacements, kPlacementBudget,
                  NewFollower<Placement>(
                      {.put = [this](Placement placement) { store_.Put(std::move(placement)); },
                       .leave_out = [this](const ObjectKey& key, Excess excess,
                                           Placement*) { store_.LeaveOut(key, excess); },
                       .remove = [this](const ObjectKey& key) { store_.RemovePlacement(key); }})),
      decisions_(client, clock, kPlacementDecisions, kDecisionBudget,
                 NewFollower<PlacementDecision>(
                     {.put = [this](PlacementDecision decision) { store_.Put(decision); },
                      .leave_out =
                          [this](const ObjectKey& key, Excess excess, PlacementDecision* read) {
                            store_.LeaveOutDecision(key, excess, read);
                          },
                      .remove = [this](const ObjectKey& key) { store_.RemoveDecision(key); }})) {
  auto put = [this](auto object) { store_.Put(std::move(object)); };
  FollowHanded(sets_, put, [this](const ObjectKey& key) { store_.RemoveSet(key.name); });
  FollowHanded(bindings_, put, [this](const ObjectKey& key) { store_.RemoveBinding(key); });
}

void FleetWatch::Start(kube::TaskGroup& tasks) {
  clusters_.Start(tasks, "watch-managedclusters");
  tasks.Spawn("watch-managedclustersets", sets_.Run());
  tasks.Spawn("watch-managedclustersetbindings", bindings_.Run());
  scores_.Start(tasks, "watch-addonplacementscores");
  placements_.Start(tasks, "watch-placements");
  decisions_.Start(tasks, "watch-placementdecisions");
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
