// SPDX-License-Identifier: Apache-2.0
// ClusterCel: evaluates the CEL of Placements for the ManagedClusters of a hub. Expressions read
// any field of the objects, so these are watched as a whole, from the first Placement with CEL on.
// Thread: the client's; calls may block it (cel/evaluator.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/cel/cached_selectors.h"
#include "fleet/cel/evaluator.h"
#include "fleet/hub/fleet_store.h"
#include "fleet/hub/placement_cel.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace fleet {

class ClusterCel final : public PlacementCel, private cel::ClusterTexts {
 public:
  // The references outlive this; `tasks` ends the watch.
  ClusterCel(kube::Client& client, kube::Clock& clock, cel::Evaluator& evaluator, FleetStore& store,
             kube::TaskGroup& tasks);

  // PlacementCel
  CelSelectors& selectors() override { return selectors_; }
  bool Prepare() override;
  bool TakeUnanswered() override { return selectors_.TakeUnanswered(); }

 private:
  // cel::ClusterTexts
  std::optional<std::string> Json(const std::string& cluster) override;
  kube::Result<std::vector<cel::Score>> Scores(const std::string& cluster,
                                               std::string_view name) override;

  FleetStore& store_;
  kube::TaskGroup& tasks_;
  cel::CachedSelectors selectors_;
  kube::Informer<kube::Unstructured> clusters_;
  bool started_ = false;
  // FleetStore::cel_changes() when the selectors in use were found out.
  uint64_t retained_ = 0;
};

}  // namespace fleet
