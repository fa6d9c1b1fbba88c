// SPDX-License-Identifier: Apache-2.0
// Backfill(): adds to a pod that waits behind a scheduling gate what its admission missed, as far
// as the API server allows for a pod that exists: new keys of the node selector, requirements in
// the required node affinity (its number of terms stays), preferred node affinity, tolerations:
// these not while the pod has gates of other controllers (placement/release.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kube/types/core.pb.h"
#include "scheduling-policies/scheduling_policy.h"

namespace policy {

struct Backfilled {
  // The fields that were changed, and those that cannot be changed any more: "spec.tolerations".
  // Both are empty for a pod that the policies were merged into.
  std::vector<std::string> added;
  std::vector<std::string> missed;
};

// `policies` select the pod, in their order (Precedes()). A second call changes nothing.
Backfilled Backfill(kube::core::Pod& pod, std::span<const SchedulingPolicy* const> policies);

}  // namespace policy
