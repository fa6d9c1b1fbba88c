// SPDX-License-Identifier: Apache-2.0
// Decision groups: the selected clusters in groups, and the groups in PlacementDecisions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fleet/api/placement.h"
#include "fleet/api/placement_decision.h"
#include "fleet/scheduling/fleet.h"

namespace fleet {

struct SelectedCluster {
  const ManagedCluster* cluster = nullptr;
  int64_t total = 0;  // its score
};

// Its index is its place in the list of groups.
struct DecisionGroup {
  std::string name;  // "" for the clusters of no named group
  std::vector<SelectedCluster> clusters;
};

// Why clustersPerDecisionGroup is misconfigured, or nullopt.
std::optional<std::string> CheckGroupSize(const std::variant<int64_t, std::string>& size);

// Never empty: without clusters there is one group without a name. `selected` is in the order of
// names, and clustersPerDecisionGroup passed CheckGroupSize().
std::vector<DecisionGroup> DivideIntoGroups(const PlacementSpec& spec,
                                            const std::vector<SelectedCluster>& selected);

// What one PlacementDecision is to contain.
struct DecisionPage {
  std::string name;  // "PLACEMENT-decision-1"
  size_t group_index = 0;
  std::string group_name;
  std::vector<Decision> decisions;  // at most kDecisionsPerPage; with a score if sorted by it
};
std::vector<DecisionPage> PagesOf(const Placement& placement,
                                  const std::vector<DecisionGroup>& groups);

}  // namespace fleet
