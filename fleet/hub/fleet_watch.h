// SPDX-License-Identifier: Apache-2.0
// FleetWatch: watches what deciding reads and passes it to the FleetStore, which alone keeps it.
// When all watches are complete, it wakes all Placements. CRDs that are missing delay that until
// they exist. Thread: the client's.
#pragma once

#include <array>

#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/bounds/bounded_watch.h"
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
  // The watches whose objects have a budget (fleet/api/budgets.h).
  std::array<BoundedWatch*, 4> bounded() {
    return {&clusters_, &scores_, &placements_, &decisions_};
  }

 private:
  template <class T>
  using Informer = kube::Informer<kube::Handed<T>>;

  boost::asio::awaitable<void> AwaitSync();

  FleetStore& store_;
  BoundedWatch clusters_;
  Informer<ManagedClusterSet> sets_;
  Informer<ManagedClusterSetBinding> bindings_;
  BoundedWatch scores_;
  BoundedWatch placements_;
  BoundedWatch decisions_;
};

}  // namespace fleet
