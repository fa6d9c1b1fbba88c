// SPDX-License-Identifier: Apache-2.0
// PlacementReads: what of the hub's objects the decisions of one Placement depend on, so that other
// changes do not wake it. Where it is not sure, it says yes. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/placement.h"
#include "fleet/scheduling/prioritizers.h"
#include "fleet/scheduling/selector.h"
#include "kube/base/clock.h"

namespace fleet {

class PlacementReads {
 public:
  explicit PlacementReads(const PlacementSpec& spec);

  // CEL reads any field of a ManagedCluster, and any score.
  bool whole_object() const { return whole_object_; }
  // A change of a cluster that is in the Placement's sets before and after. A cluster whose labels
  // and claims match no predicate is rejected before anything else of it is read.
  bool Notices(const ManagedCluster& before, const ManagedCluster& after) const;
  // A change of an AddOnPlacementScore; nullptr: it does not exist. A later validUntil alone is no
  // change, unless the scores had expired at `now`.
  bool Notices(const AddOnPlacementScore* before, const AddOnPlacementScore* after,
               kube::WallTime now) const;

 private:
  using Names = std::set<std::string, std::less<>>;

  // A predicate without its CEL.
  struct Predicate {
    Selector labels;
    Selector claims;
  };

  void Read(const ClusterSelector& selector);
  bool MayMatch(const ManagedCluster& cluster) const;
  bool SameScores(const AddOnPlacementScore* before, const AddOnPlacementScore* after) const;

  std::vector<Predicate> predicates_;
  Names labels_;
  Names claims_;
  // "RESOURCE/SCORE", and the RESOURCEs.
  std::set<std::pair<std::string, std::string>> scores_;
  Names score_resources_;
  std::vector<std::optional<double> ManagedCluster::*> resources_;
  bool whole_object_ = false;
};

}  // namespace fleet
