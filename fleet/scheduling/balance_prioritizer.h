// SPDX-License-Identifier: Apache-2.0
// Balance: the fewer decisions of other Placements name a cluster, the better: 100 for none, else
// less than 100, down to -100 for the most of any cluster.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "fleet/api/names.h"
#include "fleet/scheduling/prioritizer.h"

namespace fleet {

class BalancePrioritizer final : public Prioritizer {
 public:
  std::string name() const override { return std::string(kBalance); }
  PrioritizerReads reads() const override { return {}; }
  ClusterScores Score(const ScoreInput& input) const override {
    int64_t most = 0;
    for (const auto& [cluster, entries] : input.fleet.decisions) {
      if (entries > most) most = std::max(most, entries - CountOf(input.own, cluster));
    }
    ClusterScores out;
    out.scores.reserve(input.clusters.size());
    for (const ManagedCluster* cluster : input.clusters) {
      const int64_t entries = OfOthers(input, cluster->name);
      const double usage =
          entries == 0 ? 0 : static_cast<double>(entries) / static_cast<double>(most);
      out.scores.push_back(entries == 0 ? kBestScore
                                        : 2 * static_cast<int32_t>(kBestScore * (0.5 - usage)));
    }
    return out;
  }

 private:
  // Entries in the decisions of other Placements.
  static int64_t OfOthers(const ScoreInput& input, const std::string& cluster) {
    return std::max<int64_t>(0,
                             CountOf(input.fleet.decisions, cluster) - CountOf(input.own, cluster));
  }
};

}  // namespace fleet
