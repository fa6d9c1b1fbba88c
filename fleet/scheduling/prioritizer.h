// SPDX-License-Identifier: Apache-2.0
// Prioritizer: scores the clusters that passed the filters. Pure.
//
// To add a built-in one: implement this interface in a file of its own, as steady_prioritizer.h
// does, and add a line to the table in prioritizers.cc. The name of a Placement's configuration is
// then accepted, and the hub wakes the Placement for changes of what reads() names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/api/managed_cluster.h"
#include "fleet/api/placement.h"
#include "fleet/scheduling/fleet.h"
#include "kube/base/clock.h"

namespace fleet {

inline constexpr int32_t kBestScore = 100;

struct ScoreInput {
  const Clusters& clusters;   // passed the filters
  const DecisionCounts& own;  // entries in the decisions of the Placement itself
  const Fleet& fleet;
  kube::WallTime now;
};

struct ClusterScores {
  // The score of each cluster, -100..100; nullopt where a cluster does not report what is scored.
  // It counts as 0.
  std::vector<std::optional<int32_t>> scores;
  std::string warning;  // empty: none
  // The first time at which a score that was used expires.
  std::optional<kube::WallTime> valid_until;
};

// What the scores depend on, besides the entries in decisions.
struct PrioritizerReads {
  // A quantity of each ManagedCluster; nullptr: none.
  std::optional<double> ManagedCluster::*resource = nullptr;
  // A score of each cluster's AddOnPlacementScores.
  std::optional<AddOnScore> score = std::nullopt;
};

class Prioritizer {
 public:
  virtual ~Prioritizer() = default;

  // "Balance", "AddOn/RESOURCE/SCORE". A Placement names a built-in prioritizer by this name.
  virtual std::string name() const = 0;
  virtual PrioritizerReads reads() const = 0;
  virtual ClusterScores Score(const ScoreInput& input) const = 0;
};

}  // namespace fleet
