// SPDX-License-Identifier: Apache-2.0
// Explain(): the debug answer about a Placement of the store, or about one that could be there. No
// I/O but that of `cel`. The references outlive the call.
#pragma once

#include <optional>

#include "fleet/hub/fleet_store.h"
#include "fleet/hub/placement_cel.h"
#include "fleet/scheduling/schedule.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// `simulated`: instead of the stored Placement, if any. It counts as one with the name and the
// decisions of `placement`.
// Errors: kNotFound (no such Placement), kInvalid (`simulated` is none), kUnavailable (the watches
// are not complete yet, or CEL was not evaluated).
kube::Async<kube::Json> Explain(const FleetStore& store, PlacementCel& cel,
                                const kube::Clock& clock, ScheduleOptions options,
                                kube::ObjectKey placement, std::optional<kube::Json> simulated);

}  // namespace fleet
