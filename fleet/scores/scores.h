// SPDX-License-Identifier: Apache-2.0
// The AddOnPlacementScore `multiarch` and the ClusterClaims of one cluster, from the sums of its
// UsageIndex, and when the score is written.
//
//   arm64.cpu, arm64.memory  free capacity of Ready schedulable nodes: 100 is ScoreOptions' full
//   arm64.share              percent of these nodes' allocatable cpu that is of the architecture
//   arm64.runnable           percent of the workloads whose pods all have the architecture's label
//
// All are from 0 to 100. In a cluster without any workload, each is runnable on no architecture: 0.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "fleet/scores/usage_index.h"
#include "kube/base/clock.h"

namespace fleet {

inline constexpr std::string_view kScoresName = "multiarch";  // of the AddOnPlacementScore

struct ScoreOptions {
  // The free capacity of one architecture that gives 100. Defaults to 256 cores and 1 TiB.
  Resources full{.milli_cpu = 256'000, .kib = int64_t{1} << 30};
};

// By name. Those of every architecture that has a node, of whatever state, or can run a workload.
using Scores = std::map<std::string, int32_t>;

Scores ScoresOf(const UsageSums& sums, const ScoreOptions& options);

// Name and value of each: "arm64.multiarch.openshift.io" is "true" if the cluster has a node of the
// architecture, of whatever state.
std::map<std::string, std::string> ClaimsOf(const UsageSums& sums);

// The status of the AddOnPlacementScore as it is stored.
struct StoredScores {
  Scores scores;
  std::optional<kube::WallTime> valid_until;  // absent: for ever
};

inline constexpr std::chrono::seconds kScoresValidity{15 * 60};
inline constexpr int32_t kScoreMove = 5;

struct WriteDecision {
  bool write = false;
  // If not: when to write at the latest.
  kube::WallTime look_again{};
};

// True if any score moved by kScoreMove or more (a missing one is 0), or half of the validity is
// over. `stored` is null if there is no AddOnPlacementScore or it has no status.
WriteDecision DecideWrite(const StoredScores* stored, const Scores& scores, kube::WallTime now);

}  // namespace fleet
