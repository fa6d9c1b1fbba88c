// SPDX-License-Identifier: Apache-2.0
// ExplainText: a debug answer about a Placement (fleet/hub/debug_answer.h) in words. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kube/types/unstructured.h"

namespace fleet {

struct ExplainedCluster {
  std::string name;
  bool selected = false;
  std::optional<int64_t> score;  // of those that pass all filters
  std::string why;
};

// By rank, then those that are rejected. `selected`: the clusters in the PlacementDecisions.
std::vector<ExplainedCluster> ExplainClusters(const kube::Json& answer,
                                              const std::set<std::string>& selected);

// One line for each cluster, or for `cluster` alone unless it is empty: selected or not, and why.
// `selected`: the clusters in the PlacementDecisions. "" if `answer` says nothing about `cluster`.
std::string ExplainText(const kube::Json& answer, const std::set<std::string>& selected,
                        const std::string& cluster);

}  // namespace fleet
