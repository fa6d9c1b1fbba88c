// SPDX-License-Identifier: Apache-2.0
// The filter Predicate: labels, claims and CEL.
#pragma once

#include <vector>

#include "fleet/api/placement.h"
#include "fleet/scheduling/cel_selectors.h"
#include "fleet/scheduling/fleet.h"
#include "fleet/scheduling/rejections.h"

namespace fleet {

// The clusters that one of `predicates` matches; all if there are none. The selectors are valid and
// the expressions compile. CEL is evaluated last, as it costs most.
Clusters FilterByPredicates(const std::vector<ClusterSelector>& predicates,
                            const Clusters& clusters, CelSelectors& cel, Rejections& rejections);

}  // namespace fleet
