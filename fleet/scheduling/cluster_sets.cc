// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/cluster_sets.h"

#include <algorithm>

namespace fleet {

void SetMembers::Add(const ManagedClusterSet& set) {
  switch (set.selects) {
    case ManagedClusterSet::Selects::kNothing:
      break;
    case ManagedClusterSet::Selects::kByLabel:
      exclusive_.insert(set.name);
      break;
    case ManagedClusterSet::Selects::kBySelector:
      selectors_.emplace_back(set.selector);
      break;
  }
}

bool SetMembers::Contains(const ManagedCluster& cluster) const {
  if (!exclusive_.empty()) {
    std::optional<std::string_view> set = cluster.labels.Find(kClusterSetLabel);
    if (set && exclusive_.contains(std::string(*set))) return true;
  }
  return std::any_of(selectors_.begin(), selectors_.end(),
                     [&](const Selector& selector) { return selector.Matches(cluster.labels); });
}

EligibleClusters FindEligible(const Placement& placement, const Fleet& fleet) {
  EligibleClusters eligible;
  auto bound = fleet.bindings.find(placement.ns);
  if (bound == fleet.bindings.end()) return eligible;
  const std::unordered_set<std::string> named(placement.spec.cluster_sets.begin(),
                                              placement.spec.cluster_sets.end());
  SetMembers members;
  for (const std::string& name : bound->second) {
    auto set = fleet.sets.find(name);
    if (set == fleet.sets.end()) continue;
    eligible.bindings = true;
    if (!named.empty() && !named.contains(name)) continue;
    eligible.sets.push_back(name);
    members.Add(set->second);
  }
  if (eligible.sets.empty()) return eligible;
  for (const auto& [name, cluster] : fleet.clusters) {
    if (!cluster.deleting && members.Contains(cluster)) eligible.clusters.push_back(&cluster);
  }
  return eligible;
}

}  // namespace fleet
