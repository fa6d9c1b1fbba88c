// SPDX-License-Identifier: Apache-2.0
// FleetWatch: watches what deciding reads and passes it to the FleetStore, which alone keeps it.
// When all watches are complete, it wakes all Placements. CRDs that are missing delay that until
// they exist. Thread: the client's.
#pragma once

#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/hub/fleet_store.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/handed.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"

namespace fleet {

class FleetWatch {
 public:
  // The references outlive this.
  FleetWatch(kube::Client& client, kube::Clock& clock, FleetStore& store);

  void Start(kube::TaskGroup& tasks);
  // Resumes when all watches are complete. Errors: kCancelled.
  kube::Async<> WaitForSync();
  // The number of watches that are not complete yet.
  int incomplete() const;

 private:
  template <class T>
  using Informer = kube::Informer<kube::Handed<T>>;

  boost::asio::awaitable<void> AwaitSync();

  FleetStore& store_;
  Informer<ManagedCluster> clusters_;
  Informer<ManagedClusterSet> sets_;
  Informer<ManagedClusterSetBinding> bindings_;
  Informer<AddOnPlacementScore> scores_;
  Informer<Placement> placements_;
  Informer<PlacementDecision> decisions_;
};

}  // namespace fleet
