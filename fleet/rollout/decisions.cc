// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/decisions.h"

#include <charconv>
#include <map>

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

}  // namespace

PlacementRollout RolloutOf(const PlacementRef& ref,
                           std::span<const PlacementDecision* const> decisions) {
  PlacementRollout rollout{.name = ref.name, .strategy = ref.strategy, .decided = false};
  std::map<int64_t, DecidedGroup> groups;
  for (const PlacementDecision* page : decisions) {
    if (!page->has_status) continue;
    rollout.decided = true;
    DecidedGroup& group = groups[IndexOf(*page)];
    group.index = IndexOf(*page);
    if (group.name.empty()) group.name = page->group_name.value_or("");
    for (const Decision& decision : page->decisions) group.clusters.push_back(decision.cluster);
  }
  for (auto& [index, group] : groups) rollout.groups.push_back(std::move(group));
  return rollout;
}

}  // namespace fleet
