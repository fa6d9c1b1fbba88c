// SPDX-License-Identifier: Apache-2.0
// The filter TaintToleration.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fleet/api/managed_cluster.h"
#include "fleet/api/placement.h"
#include "fleet/scheduling/fleet.h"
#include "fleet/scheduling/rejections.h"
#include "kube/base/clock.h"

namespace fleet {

// Why the tolerations are misconfigured, or nullopt.
std::optional<std::string> CheckTolerations(const std::vector<Toleration>& tolerations);

struct Tolerated {
  const Taint* rejected = nullptr;      // the first taint that is not tolerated, or nullptr
  bool expired = false;                 // `rejected` was tolerated for a time that is over
  std::optional<kube::WallTime> until;  // when a taint stops to be tolerated; nullopt: never
};
// `selected`: the Placement's decisions have the cluster.
Tolerated Tolerate(const std::vector<Taint>& taints, const std::vector<Toleration>& tolerations,
                   bool selected, kube::WallTime now);

struct ToleratedClusters {
  Clusters clusters;
  std::vector<std::optional<kube::WallTime>> until;  // of each of `clusters`
};
ToleratedClusters FilterByTaints(const std::vector<Toleration>& tolerations,
                                 const Clusters& clusters, const DecisionCounts& own,
                                 kube::WallTime now, Rejections& rejections);

}  // namespace fleet
