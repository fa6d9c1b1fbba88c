// SPDX-License-Identifier: Apache-2.0
// StoreDecisions: what Placements have chosen, for rollouts, from the FleetStore. Thread: that of
// the store.
#pragma once

#include <string>

#include "fleet/hub/fleet_store.h"
#include "fleet/hub/fleet_watch.h"
#include "fleet/rollout/controller/rollout_reconciler.h"
#include "kube/base/async.h"

namespace fleet {

class StoreDecisions final : public RolloutDecisions {
 public:
  // Both outlive this; `watch` fills `store`.
  StoreDecisions(const FleetStore& store, FleetWatch& watch) : store_(store), watch_(watch) {}

  // RolloutDecisions
  kube::Async<> WaitForSync() override { return watch_.WaitForSync(); }
  PlacementRollout DecidedBy(const std::string& ns, const PlacementRef& ref) const override;

 private:
  const FleetStore& store_;
  FleetWatch& watch_;
};

}  // namespace fleet
