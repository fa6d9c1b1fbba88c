// SPDX-License-Identifier: Apache-2.0
// Fleet: what a hub knows when it schedules a Placement. The hub's watches keep it up to date; a
// pass only reads it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"

namespace fleet {

// Cluster name -> entries in PlacementDecisions. Clusters that no longer exist count as well; a
// count of 0 is the same as none.
using DecisionCounts = std::unordered_map<std::string, int64_t>;

inline int64_t CountOf(const DecisionCounts& counts, const std::string& cluster) {
  auto found = counts.find(cluster);
  return found == counts.end() ? 0 : found->second;
}

struct Fleet {
  std::map<std::string, ManagedCluster> clusters;  // by name
  std::map<std::string, ManagedClusterSet> sets;   // by name
  // Namespace -> names of the sets that its bindings bind (ManagedClusterSetBinding::cluster_set).
  std::map<std::string, std::set<std::string>> bindings;
  // Cluster -> name of the object -> the object.
  std::unordered_map<std::string, std::map<std::string, AddOnPlacementScore>> scores;
  // The decisions of all Placements in all namespaces.
  DecisionCounts decisions;
};

// In the order of their names; they belong to the Fleet.
using Clusters = std::vector<const ManagedCluster*>;

}  // namespace fleet
