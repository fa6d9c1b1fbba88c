// SPDX-License-Identifier: Apache-2.0
// Cluster sets: which clusters a Placement may select at all.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/api/placement.h"
#include "fleet/scheduling/fleet.h"
#include "fleet/scheduling/selector.h"

namespace fleet {

// Whether a cluster is in one of several sets.
class SetMembers {
 public:
  void Add(const ManagedClusterSet& set);
  bool Contains(const ManagedCluster& cluster) const;

 private:
  std::unordered_set<std::string> exclusive_;  // values of kClusterSetLabel
  std::vector<Selector> selectors_;
};

struct EligibleClusters {
  bool bindings = false;          // the namespace has a binding whose set exists
  std::vector<std::string> sets;  // of these, the ones that the Placement names; or all
  Clusters clusters;              // members of `sets` that are not being deleted, once each
};
EligibleClusters FindEligible(const Placement& placement, const Fleet& fleet);

}  // namespace fleet
