// SPDX-License-Identifier: Apache-2.0
// RolloutStrategy: how fast a change goes to the clusters of one Placement, in the shape of OCM's
// API: `type`, and one object `all`, `progressive` or `progressivePerGroup` with the details.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.h"
#include "kube/types/unstructured.h"

namespace fleet {

// A number of clusters, or a percentage of some.
struct ClusterCount {
  int64_t value = 0;
  bool percent = false;

  bool operator==(const ClusterCount&) const = default;
};

// The number that `count` stands for, of `total`. Percentages are rounded up. `fallback` if the
// count is absent, not positive, or over `total`.
int64_t CountOf(const std::optional<ClusterCount>& count, int64_t total, int64_t fallback);

// A decision group that comes first: all groups with the name, or the one with the index.
struct MandatoryGroup {
  std::string name;   // "": by index
  int64_t index = 0;  // read only without a name

  bool operator==(const MandatoryGroup&) const = default;
};

enum class RolloutType { kAll, kProgressive, kProgressivePerGroup };

struct RolloutStrategy {
  RolloutType type = RolloutType::kAll;
  // Not for kAll.
  std::vector<MandatoryGroup> mandatory_groups;
  // Only for kProgressive. Absent: all at once.
  std::optional<ClusterCount> max_concurrency;
  // Not for kAll, which has no next clusters to stop. Absent: none.
  std::optional<ClusterCount> max_failures;
  // A cluster counts as succeeded when it has been so for this long.
  std::chrono::seconds min_success_time{0};
  // A cluster that has not succeeded for this long timed out. Absent: never ("None").
  std::optional<std::chrono::seconds> progress_deadline;

  bool operator==(const RolloutStrategy&) const = default;
};

// Reads the value of `rolloutStrategy`; a part that is refused stays absent and is in `problems`.
// Objects of other types than `type` are not read.
RolloutStrategy RolloutStrategyFromJson(const kube::Json& json, const std::string& path,
                                        api::FieldErrors& problems);
kube::Json RolloutStrategyToJson(const RolloutStrategy& strategy);

// "90s", "5m0s", "1h30m", or "0", at most 30 days. nullopt for any other text.
std::optional<std::chrono::seconds> ParseRolloutTime(std::string_view text);

}  // namespace fleet
