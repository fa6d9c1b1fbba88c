// SPDX-License-Identifier: Apache-2.0
// Ownership: which Placements this hub reconciles, so that no decision is written by OCM's
// controller too. Pure.
//
//   annotations                        --placements=claimed   --placements=all (a hub without OCM)
//   none                               OCM                    this hub
//   scheduling disabled                not scheduled          not scheduled
//   scheduler multiarch                OCM, with a warning    this hub
//   disabled, and scheduler multiarch  this hub               this hub
#pragma once

#include "fleet/api/names.h"
#include "fleet/api/placement.h"

namespace fleet {

enum class PlacementsMode { kClaimed, kAll };

enum class Ownership {
  kOurs,
  kNotOurs,
  kIncomplete,  // claimed for this hub, but OCM's controller does not skip it
};

inline Ownership OwnershipOf(const Placement& placement, PlacementsMode mode) {
  bool claimed = placement.scheduler == kSchedulerName;
  if (mode == PlacementsMode::kAll)
    return claimed || !placement.scheduling_disabled ? Ownership::kOurs : Ownership::kNotOurs;
  if (!claimed) return Ownership::kNotOurs;
  return placement.scheduling_disabled ? Ownership::kOurs : Ownership::kIncomplete;
}

}  // namespace fleet
