// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/cluster_index.h"

#include <algorithm>
#include <utility>

#include "fleet/api/managed_cluster_status.h"
#include "fleet/api/reading.h"
#include "fleet/scheduling/cluster_sets.h"

namespace fleet {

ClusterIndex::Change ClusterIndex::Put(const kube::Json& cluster) {
  api::FieldErrors problems;
  // As placing reads them.
  Known now{.available = ConditionStatus(cluster, kClusterAvailable)};
  now.cluster.labels = Properties(ReadLabels(cluster, kMaxClusterLabels, problems));
  now.cluster.deleting = IsDeleting(cluster);
  auto [found, first] = clusters_.try_emplace(kube::StringAt(cluster, "metadata.name"));
  Known& before = found->second;
  Change change;
  change.members = first || before.cluster != now.cluster;
  change.reported = !first && before.available != now.available && Known::Reports(now.available);
  before = std::move(now);
  return change;
}

ClusterIndex::Change ClusterIndex::Remove(const std::string& cluster) {
  return {.members = clusters_.erase(cluster) > 0};
}

size_t ClusterIndex::CountMembers(const ManagedClusterSet& set) const {
  SetMembers members;
  members.Add(set);
  auto is_member = [&](const auto& cluster) {
    return !cluster.second.cluster.deleting && members.Contains(cluster.second.cluster);
  };
  return static_cast<size_t>(std::count_if(clusters_.begin(), clusters_.end(), is_member));
}

ClusterIndex::Counts ClusterIndex::CountAvailable() const {
  Counts counts;
  for (const auto& [name, cluster] : clusters_) {
    size_t& count = cluster.available == "True"    ? counts.available
                    : cluster.available == "False" ? counts.unavailable
                                                   : counts.unreachable;
    ++count;
  }
  return counts;
}

}  // namespace fleet
