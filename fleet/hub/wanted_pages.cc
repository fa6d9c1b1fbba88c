// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/wanted_pages.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace fleet {

WantedDecisions WantedOf(const Placement& placement, const std::vector<DecisionGroup>& groups) {
  WantedDecisions wanted;
  for (size_t i = 0; i < groups.size(); ++i) {
    wanted.groups.push_back({.index = static_cast<int64_t>(i),
                             .name = groups[i].name,
                             .cluster_count = static_cast<int64_t>(groups[i].clusters.size())});
  }
  for (DecisionPage& page : PagesOf(placement, groups)) {
    wanted.groups[page.group_index].decisions.push_back(page.name);
    wanted.pages.push_back(
        {{std::to_string(page.group_index), page.group_name}, std::move(page.decisions)});
  }
  return wanted;
}

bool OnlyScoresDiffer(const std::vector<StoredPage>& stored,
                      const std::vector<WantedPage>& wanted) {
  if (stored.size() != wanted.size()) return false;
  // Cluster -> name of its group.
  std::map<std::string_view, std::string_view> before;
  std::map<std::string_view, std::string_view> after;
  for (const StoredPage& page : stored) {
    if (!page.visible || !page.owned || !page.group) return false;
    for (const Decision& decision : page.decisions) before[decision.cluster] = page.group->name;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (const Decision& decision : wanted[i].decisions)
      after[decision.cluster] = wanted[i].group.name;
  }
  if (before != after) return false;
  // The stored ones are in no order: each is that of its group and size.
  std::map<std::pair<std::string_view, size_t>, int> sizes;
  for (const StoredPage& page : stored) ++sizes[{page.group->index, page.decisions.size()}];
  for (const WantedPage& page : wanted) --sizes[{page.group.index, page.decisions.size()}];
  return std::all_of(sizes.begin(), sizes.end(), [](const auto& size) { return size.second == 0; });
}

}  // namespace fleet
