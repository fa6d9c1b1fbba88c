// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/wanted_pages.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "fleet/api/names.h"

namespace fleet {
namespace {

// A group with more pages keeps them.
constexpr size_t kPagesCutByName = 2;

constexpr size_t kNoPage = SIZE_MAX;

bool ByName(const Decision& a, const Decision& b) { return a.cluster < b.cluster; }

// For each of `wanted`, which is in the order of names, the page that has it now, or kNoPage.
// `stored`: nullptr where nothing is stored.
std::vector<size_t> PagesNow(const std::vector<Decision>& wanted,
                             const std::vector<const StoredPage*>& stored) {
  std::vector<size_t> page_of(wanted.size(), kNoPage);
  for (size_t page = 0; page < stored.size(); ++page) {
    if (stored[page] == nullptr) continue;
    // What is next on a page is nearly always the next one that is wanted.
    auto next = wanted.begin();
    for (const Decision& decision : stored[page]->decisions) {
      if (next == wanted.end() || next->cluster != decision.cluster)
        next = std::lower_bound(wanted.begin(), wanted.end(), decision, ByName);
      if (next == wanted.end() || next->cluster != decision.cluster) continue;
      size_t& found = page_of[static_cast<size_t>(next - wanted.begin())];
      found = std::min(found, page);
      ++next;
    }
  }
  return page_of;
}

// The pages of one group, and what is stored under their names.
void KeepPagesOfGroup(const std::vector<const StoredPage*>& stored, std::span<WantedPage> pages) {
  std::vector<Decision> wanted;
  for (WantedPage& page : pages) {
    std::move(page.decisions.begin(), page.decisions.end(), std::back_inserter(wanted));
    page.decisions.clear();
  }
  std::vector<size_t> page_of = PagesNow(wanted, stored);
  std::vector<Decision> others;
  for (size_t i = 0; i < wanted.size(); ++i) {
    // Other writers may have stored more than a page has room for.
    bool stays = page_of[i] != kNoPage && pages[page_of[i]].decisions.size() < kDecisionsPerPage;
    (stays ? pages[page_of[i]].decisions : others).push_back(std::move(wanted[i]));
  }
  if (others.empty()) return;
  auto page = pages.begin();
  for (Decision& decision : others) {
    while (page->decisions.size() == kDecisionsPerPage) ++page;
    page->decisions.push_back(std::move(decision));
  }
  for (WantedPage& filled : pages)
    std::sort(filled.decisions.begin(), filled.decisions.end(), ByName);
}

}  // namespace

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

void KeepPages(std::string_view placement, const std::vector<StoredPage>& stored,
               std::vector<WantedPage>& pages) {
  std::unordered_map<std::string_view, const StoredPage*> by_name;
  for (const StoredPage& page : stored) by_name[page.name] = &page;
  for (size_t begin = 0, end = 0; begin < pages.size(); begin = end) {
    while (end < pages.size() && pages[end].group == pages[begin].group) ++end;
    if (end - begin <= kPagesCutByName) continue;
    std::vector<const StoredPage*> now;
    for (size_t i = begin; i < end; ++i) {
      auto found = by_name.find(DecisionName(placement, i + 1));
      now.push_back(found == by_name.end() ? nullptr : found->second);
    }
    KeepPagesOfGroup(now, std::span(pages).subspan(begin, end - begin));
  }
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
