// SPDX-License-Identifier: Apache-2.0
// ResourceAllocatableCPU and ResourceAllocatableMemory: more is better, in proportion between the
// least and the greatest value. A cluster that does not report the resource has no score.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "fleet/scheduling/prioritizer.h"

namespace fleet {

class AllocatablePrioritizer final : public Prioritizer {
 public:
  using Resource = std::optional<double> ManagedCluster::*;

  AllocatablePrioritizer(std::string_view name, Resource resource)
      : name_(name), resource_(resource) {}

  std::string name() const override { return std::string(name_); }
  PrioritizerReads reads() const override { return {.resource = resource_}; }
  ClusterScores Score(const ScoreInput& input) const override {
    std::optional<double> least;
    std::optional<double> greatest;
    for (const ManagedCluster* cluster : input.clusters) {
      const std::optional<double>& value = cluster->*resource_;
      if (!value) continue;
      least = std::min(least.value_or(*value), *value);
      greatest = std::max(greatest.value_or(*value), *value);
    }
    ClusterScores out;
    out.scores.reserve(input.clusters.size());
    for (const ManagedCluster* cluster : input.clusters) {
      const std::optional<double>& value = cluster->*resource_;
      if (!value) {
        out.scores.push_back(std::nullopt);
      } else if (*greatest == *least) {
        out.scores.push_back(kBestScore);
      } else {
        const double share = (*value - *least) / (*greatest - *least);
        out.scores.push_back(static_cast<int32_t>((share - 0.5) * 2 * kBestScore));
      }
    }
    return out;
  }

 private:
  const std::string_view name_;
  const Resource resource_;
};

}  // namespace fleet
