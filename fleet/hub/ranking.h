// SPDX-License-Identifier: Apache-2.0
// Ranking(): the clusters that passed all filters with their totals, the best first. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fleet/scheduling/schedule.h"

namespace fleet {

// By total, descending, then by name.
inline std::vector<std::pair<std::string, int64_t>> Ranking(const Scheduled& scheduled) {
  std::vector<std::pair<std::string, int64_t>> ranking;
  ranking.reserve(scheduled.feasible.size());
  for (size_t i = 0; i < scheduled.feasible.size(); ++i)
    ranking.emplace_back(scheduled.feasible[i]->name, scheduled.totals[i]);
  // They are in the order of names.
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return ranking;
}

}  // namespace fleet
