// SPDX-License-Identifier: Apache-2.0
// Spread: picks clusters one by one, so that the picks are even over the values of topology keys.
//
// The first key divides the clusters into domains, the second one divides each of these domains,
// and so on. Siblings are the domains that the same key makes of one domain. A cluster without a
// key has no domain at that level; with DoNotSchedule it is no candidate and counts in no domain.
//
// Cost: for each pick, one look at each distinct combination of values that has clusters left, and
// at the siblings whose counts' least or greatest changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fleet/api/placement.h"
#include "fleet/scheduling/fleet.h"
#include "fleet/scheduling/rejections.h"

namespace fleet {

// Indexes in `clusters` of at most `number` picks, in their order. `totals` are the clusters'
// scores; `weight`, -10..10, is how much an even spread counts. Clusters that DoNotSchedule drops
// are rejected: all without a key, and those that are left if there are fewer than `number` picks.
std::vector<size_t> PickSpread(const std::vector<SpreadConstraint>& constraints, int64_t weight,
                               const Clusters& clusters, const std::vector<int64_t>& totals,
                               size_t number, Rejections& rejections);

// The same without constraints: the greatest totals, then by name.
std::vector<size_t> PickBest(const std::vector<int64_t>& totals, size_t number);

}  // namespace fleet
