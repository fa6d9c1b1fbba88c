// SPDX-License-Identifier: Apache-2.0
// AddRolloutMetrics() - mto_fleet_rollouts{state}: the FleetPodPlacements of the hub by state
// (status.h), all zero in a replica that is not the leader.
#pragma once

#include <functional>

#include "fleet/rollout/controller/rollout_store.h"
#include "kube/metrics/metrics.h"

namespace fleet {

// `store` returns the store of the current term, or nullptr; it is called at each scrape.
void AddRolloutMetrics(kube::Metrics& metrics, std::function<const RolloutStore*()> store);

}  // namespace fleet
