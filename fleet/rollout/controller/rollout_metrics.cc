// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/controller/rollout_metrics.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "fleet/rollout/status.h"

namespace fleet {

void AddRolloutMetrics(kube::Metrics& metrics, std::function<const RolloutStore*()> store) {
  std::map<std::string_view, kube::Gauge*> gauges;
  for (std::string_view state : kRolloutStates) {
    gauges[state] = &metrics.AddGauge("mto_fleet_rollouts", "FleetPodPlacements by state",
                                      {{"state", std::string(state)}});
  }
  metrics.OnRender([gauges = std::move(gauges), store = std::move(store)] {
    std::map<std::string_view, int> numbers;
    if (const RolloutStore* current = store()) {
      current->ForEachFleet(
          [&](const FleetPodPlacement& fleet) { ++numbers[RolloutStateOf(fleet)]; });
    }
    for (const auto& [state, gauge] : gauges) gauge->Set(numbers[state]);
  });
}

}  // namespace fleet
