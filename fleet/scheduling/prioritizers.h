// SPDX-License-Identifier: Apache-2.0
// Prioritizers: those of one Placement, and the weighted sums of their scores.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fleet/api/placement.h"
#include "fleet/scheduling/fleet.h"
#include "fleet/scheduling/prioritizer.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"

namespace fleet {

// The prioritizers whose weight is not 0: those of the mode first, then in the order of the
// configurations. If a built-in one is listed twice, the last weight counts.
struct Prioritizers {
  struct Weighted {
    std::shared_ptr<const Prioritizer> prioritizer;
    int32_t weight = 0;
  };

  std::vector<Weighted> active;  // without Spread
  int64_t spread_weight = 0;

  // Finds the prioritizers that the configurations name.
  // Errors: kInvalid for an unknown mode, type or built-in name, and for AddOn without addOn; not
  // for entries of weight 0.
  static kube::Result<Prioritizers> Of(const PlacementSpec& spec);
};

struct PrioritizerResult {
  std::string name;
  int32_t weight = 0;
  std::vector<std::optional<int32_t>> scores;  // as in ClusterScores
};

struct Scores {
  std::vector<PrioritizerResult> results;  // one for each of Prioritizers::active
  std::vector<int64_t> totals;             // of each cluster: the sum of weight * score
  std::vector<std::string> warnings;
  // The first time at which a score that was used expires.
  std::optional<kube::WallTime> valid_until;
};

Scores Score(const Prioritizers& prioritizers, const ScoreInput& input);

}  // namespace fleet
