// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/placement_status.h"

#include <string_view>
#include <utility>

#include "api/conditions.h"
#include "fleet/api/budgets.h"
#include "fleet/api/names.h"

namespace fleet {

PlacementStatus StatusOf(const Placement& placement, const PlacementView& view,
                         kube::WallTime now) {
  PlacementStatus status = placement.status;
  auto set = [&](std::string_view type, bool value, std::string_view reason, std::string message) {
    api::SetCondition(status.conditions,
                      {.type = std::string(type),
                       .status = value ? "True" : "False",
                       .reason = std::string(reason),
                       .message = std::move(message),
                       .observed_generation = placement.generation},
                      now);
  };
  if (view.misconfigured) {
    set(kPlacementMisconfigured, true, view.too_large ? kTooLarge : kMisconfigured,
        *view.misconfigured);
  } else {
    set(kPlacementMisconfigured, false, kSucceedConfigured, "Placement configurations check pass");
  }
  if (view.scores_written) status.last_score_update_time = kube::FormatTime(*view.scores_written);
  if (view.kept) return status;
  set(kPlacementSatisfied, view.satisfied, view.reason, view.message);
  status.decision_groups = view.groups;
  status.number_of_selected_clusters = 0;
  for (const DecisionGroupStatus& group : view.groups)
    status.number_of_selected_clusters += group.cluster_count;
  return status;
}

}  // namespace fleet
