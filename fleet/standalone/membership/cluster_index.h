// SPDX-License-Identifier: Apache-2.0
// ClusterIndex: of all ManagedClusters, what cannot be asked for one by one: which set has how
// many, and how many are available. About 500 bytes a cluster. No I/O.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "fleet/api/managed_cluster.h"
#include "fleet/api/managed_cluster_set.h"
#include "kube/types/unstructured.h"

namespace fleet {

class ClusterIndex {
 public:
  struct Change {
    // Sets may have other members now.
    bool members = false;
    // The agent has set the condition Available to True or False.
    bool reported = false;
  };

  // The first time of a cluster is no report: it may be an old one.
  Change Put(const kube::Json& cluster);
  Change Remove(const std::string& cluster);

  // The clusters of the set that are not being deleted.
  size_t CountMembers(const ManagedClusterSet& set) const;

  struct Counts {
    size_t available = 0;
    size_t unavailable = 0;
    // The agent is silent, or has never reported.
    size_t unreachable = 0;
  };
  Counts CountAvailable() const;

 private:
  struct Known {
    ManagedCluster cluster;  // what the sets read of it: labels and deletion
    std::string available;   // the status of the condition; "" without one

    static bool Reports(const std::string& status) { return status == "True" || status == "False"; }
  };

  std::map<std::string, Known> clusters_;
};

}  // namespace fleet
