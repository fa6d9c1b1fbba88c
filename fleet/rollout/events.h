// SPDX-License-Identifier: Apache-2.0
// RolloutEventsOf() - the events about a change of the status of a FleetPodPlacement: one event for
// each change of what it says, none while it says the same. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fleet/api/fleet_pod_placement.h"

namespace fleet {

struct RolloutEvent {
  bool warning = false;
  std::string_view reason;  // RolloutStopped, RolloutFailed, RolloutSucceeded or InvalidSpec
  std::string message;
};

// A rollout of other objects, by their hash, is a change too.
std::vector<RolloutEvent> RolloutEventsOf(const FleetPodPlacementStatus& before,
                                          const FleetPodPlacementStatus& after);

}  // namespace fleet
