// SPDX-License-Identifier: Apache-2.0
// Steady: 100 for a cluster that the Placement has selected, else 0.
#pragma once

#include <string>

#include "fleet/api/names.h"
#include "fleet/scheduling/prioritizer.h"

namespace fleet {

class SteadyPrioritizer final : public Prioritizer {
 public:
  std::string name() const override { return std::string(kSteady); }
  PrioritizerReads reads() const override { return {}; }
  ClusterScores Score(const ScoreInput& input) const override {
    ClusterScores out;
    out.scores.reserve(input.clusters.size());
    for (const ManagedCluster* cluster : input.clusters)
      out.scores.push_back(CountOf(input.own, cluster->name) > 0 ? kBestScore : 0);
    return out;
  }
};

}  // namespace fleet
