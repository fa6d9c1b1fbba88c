// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/add_on_prioritizer.h"

#include <optional>
#include <string_view>
#include <vector>

#include "kube/base/join.h"

namespace fleet {

ClusterScores AddOnPrioritizer::Score(const ScoreInput& input) const {
  constexpr size_t kNamed = 5;
  ClusterScores out;
  out.scores.reserve(input.clusters.size());
  std::vector<std::string_view> expired;
  for (const ManagedCluster* cluster : input.clusters) {
    out.scores.push_back(0);
    auto of_cluster = input.fleet.scores.find(cluster->name);
    if (of_cluster == input.fleet.scores.end()) continue;
    auto object = of_cluster->second.find(score_.resource);
    if (object == of_cluster->second.end()) continue;
    auto score = object->second.scores.find(score_.score);
    const std::optional<kube::WallTime>& valid_until = object->second.valid_until;
    if (valid_until && input.now > *valid_until) {
      expired.push_back(cluster->name);
      continue;
    }
    if (score == object->second.scores.end()) continue;
    out.scores.back() = score->second;
    if (valid_until && (!out.valid_until || *valid_until < *out.valid_until))
      out.valid_until = valid_until;
  }
  if (!expired.empty()) {
    out.warning = name() + ": the scores of " + std::to_string(expired.size()) +
                  " clusters are expired and count as 0: " + kube::Join(expired, kNamed);
  }
  return out;
}

}  // namespace fleet
