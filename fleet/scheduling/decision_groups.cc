// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/decision_groups.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "fleet/scheduling/selectors.h"

namespace fleet {
namespace {

// "12.5%" -> 12.5
std::optional<double> ParsePercent(std::string_view text) {
  constexpr size_t kMaxLength = 64;
  if (!text.ends_with('%') || text.size() > kMaxLength) return std::nullopt;
  text.remove_suffix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

// Clusters of one group: 1 to `selected`.
size_t GroupSize(const std::variant<int64_t, std::string>& size, size_t selected) {
  double wanted = 0;
  if (const int64_t* number = std::get_if<int64_t>(&size)) {
    wanted = static_cast<double>(*number);
  } else {
    double percent = ParsePercent(std::get<std::string>(size)).value_or(0);
    wanted = std::ceil((percent / 100) * static_cast<double>(selected));
  }
  if (wanted <= 0 || wanted > static_cast<double>(selected)) return selected;
  return static_cast<size_t>(wanted);
}

void Cut(const std::string& name, std::vector<SelectedCluster> clusters, SortBy sort_by,
         size_t size, std::vector<DecisionGroup>& groups) {
  if (sort_by == SortBy::kScore) {
    std::stable_sort(
        clusters.begin(), clusters.end(),
        [](const SelectedCluster& a, const SelectedCluster& b) { return a.total > b.total; });
  }
  for (size_t i = 0; i < clusters.size(); i += size) {
    auto begin = clusters.begin() + static_cast<std::ptrdiff_t>(i);
    auto end = begin + static_cast<std::ptrdiff_t>(std::min(size, clusters.size() - i));
    groups.push_back({.name = name, .clusters = {begin, end}});
  }
}

}  // namespace

std::optional<std::string> CheckGroupSize(const std::variant<int64_t, std::string>& size) {
  const std::string* text = std::get_if<std::string>(&size);
  if (text == nullptr || ParsePercent(*text)) return std::nullopt;
  return "clustersPerDecisionGroup must be a number or a percentage, such as 10 or \"25%\"";
}

std::vector<DecisionGroup> DivideIntoGroups(const PlacementSpec& spec,
                                            const std::vector<SelectedCluster>& selected) {
  const size_t size = GroupSize(spec.clusters_per_group, selected.size());
  Selectors selectors;
  for (const NamedGroup& group : spec.groups) {
    selectors.Add(group.selector.labels, Selectors::kLabels);
    selectors.Add(group.selector.claims, Selectors::kClaims);
  }
  // Each cluster goes to the first group that matches it, or to the rest.
  std::vector<std::vector<SelectedCluster>> members(spec.groups.size() + 1);
  for (const SelectedCluster& cluster : selected) {
    selectors.Read(*cluster.cluster);
    size_t group = 0;
    while (group < spec.groups.size() &&
           !(selectors.Matches(2 * group) && selectors.Matches(2 * group + 1)))
      ++group;
    members[group].push_back(cluster);
  }
  std::vector<DecisionGroup> groups;
  for (size_t i = 0; i < members.size(); ++i) {
    Cut(i < spec.groups.size() ? spec.groups[i].name : "", std::move(members[i]), spec.sort_by,
        size, groups);
  }
  if (groups.empty()) groups.emplace_back();
  return groups;
}

std::vector<DecisionPage> PagesOf(const Placement& placement,
                                  const std::vector<DecisionGroup>& groups) {
  std::vector<DecisionPage> pages;
  for (size_t index = 0; index < groups.size(); ++index) {
    const DecisionGroup& group = groups[index];
    size_t next = 0;
    do {
      DecisionPage& page = pages.emplace_back();
      page.name = placement.name + "-decision-" + std::to_string(pages.size());
      page.group_index = index;
      page.group_name = group.name;
      for (; next < group.clusters.size() && page.decisions.size() < kDecisionsPerPage; ++next) {
        const SelectedCluster& selected = group.clusters[next];
        Decision decision{.cluster = selected.cluster->name};
        if (placement.spec.sort_by == SortBy::kScore) decision.score = selected.total;
        page.decisions.push_back(std::move(decision));
      }
    } while (next < group.clusters.size());
  }
  return pages;
}

}  // namespace fleet
