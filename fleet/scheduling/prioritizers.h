// SPDX-License-Identifier: Apache-2.0
// Prioritizers: scores of the clusters that passed the filters, and their weighted sums.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/api/placement.h"
#include "fleet/scheduling/fleet.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"

namespace fleet {

struct Prioritizer {
  std::string name;  // "Balance", "AddOn/RESOURCE/SCORE"
  int32_t weight = 0;
  std::optional<AddOnScore> add_on;
};

// The prioritizers whose weight is not 0: those of the mode first, then in the order of the
// configurations. If a built-in one is listed twice, the last weight counts.
struct Prioritizers {
  std::vector<Prioritizer> active;  // without Spread
  int64_t spread_weight = 0;

  // Errors: kInvalid for an unknown mode, type or built-in name, and for AddOn without addOn; not
  // for entries of weight 0.
  static kube::Result<Prioritizers> Of(const PlacementSpec& spec);
};

struct PrioritizerResult {
  std::string name;
  int32_t weight = 0;
  // The score of each cluster, -100..100; nullopt where a cluster does not report its resources.
  std::vector<std::optional<int32_t>> scores;
};

struct Scores {
  std::vector<PrioritizerResult> results;  // one for each of Prioritizers::active
  std::vector<int64_t> totals;             // of each cluster: the sum of weight * score
  std::vector<std::string> warnings;       // expired scores
  // The first time at which a score that was used expires.
  std::optional<kube::WallTime> valid_until;
};

// `own`: entries in the decisions of the Placement itself.
Scores Score(const Prioritizers& prioritizers, const Clusters& clusters, const DecisionCounts& own,
             const Fleet& fleet, kube::WallTime now);

}  // namespace fleet
