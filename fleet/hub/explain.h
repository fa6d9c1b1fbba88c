// SPDX-License-Identifier: Apache-2.0
// Explain(): the debug answer about a Placement of the store, or about one that could be there. No
// I/O but that of `cel`.
#pragma once

#include "fleet/hub/fleet_store.h"
#include "fleet/hub/placement_cel.h"
#include "fleet/scheduling/schedule.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// `simulated`: instead of the stored Placement, or nullptr. It counts as one with the name and the
// decisions of `placement`.
// Errors: kNotFound (no such Placement), kInvalid (`simulated` is none), kUnavailable (the watches
// are not complete yet, or CEL was not evaluated).
kube::Result<kube::Json> Explain(const FleetStore& store, PlacementCel& cel, kube::WallTime now,
                                 const ScheduleOptions& options, const kube::ObjectKey& placement,
                                 const kube::Json* simulated);

}  // namespace fleet
