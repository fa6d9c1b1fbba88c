// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/decisions.h"

#include <charconv>
#include <map>
#include <utility>

#include "api/find_condition.h"
#include "fleet/api/names.h"

namespace fleet {
namespace {

int64_t IndexOf(const PlacementDecision& decision) {
  if (!decision.group_index) return 0;
  const std::string& text = *decision.group_index;
  int32_t index = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  bool number = error == std::errc() && end == text.data() + text.size() && index >= 0;
  return number ? index : 0;
}

bool Counts(const PlacementDecision& decision, const Placement& placement) {
  return decision.has_status && decision.ns == placement.ns &&
         decision.placement == placement.name && !placement.uid.empty() &&
         decision.owner_uid == placement.uid;
}

bool SelectsNone(const PlacementStatus& status) {
  return status.number_of_selected_clusters == 0 &&
         api::FindCondition(status.conditions, kPlacementSatisfied) != nullptr;
}

}  // namespace

PlacementRollout RolloutOf(const PlacementRef& ref, const Placement* placement,
                           std::span<const PlacementDecision> decisions,
                           const MaySelect& may_select) {
  PlacementRollout rollout{.name = ref.name, .strategy = ref.strategy, .decided = false};
  if (placement == nullptr) return rollout;
  rollout.decided = SelectsNone(placement->status);
  std::map<int64_t, DecidedGroup> groups;
  for (const PlacementDecision& page : decisions) {
    if (!Counts(page, *placement)) continue;
    rollout.decided = true;
    DecidedGroup& group = groups[IndexOf(page)];
    group.index = IndexOf(page);
    if (group.name.empty()) group.name = page.group_name.value_or("");
    for (const Decision& decision : page.decisions) {
      if (may_select(decision.cluster)) {
        group.clusters.push_back(decision.cluster);
      } else {
        ++rollout.ignored;
      }
    }
  }
  for (auto& [index, group] : groups) rollout.groups.push_back(std::move(group));
  return rollout;
}

}  // namespace fleet
