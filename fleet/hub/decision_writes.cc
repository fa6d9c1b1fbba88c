// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/decision_writes.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "fleet/api/names.h"

namespace fleet {
namespace {

using Items = std::vector<Decision>;
using Kind = DecisionWrite::Kind;

constexpr std::string_view kInfix = "-decision-";

// The K of "PLACEMENT-decision-K"; 0 for another name.
size_t NumberOf(std::string_view placement, std::string_view name) {
  if (!name.starts_with(placement)) return 0;
  name.remove_prefix(placement.size());
  if (!name.starts_with(kInfix)) return 0;
  name.remove_prefix(kInfix.size());
  // Larger numbers do not belong to a Placement, which has far fewer pages.
  constexpr size_t kMaxDigits = 9;
  size_t number = 0;
  if (name.empty() || name.size() > kMaxDigits || name.front() == '0') return 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : 0;
}

bool SameItem(const Decision& stored, const Decision& wanted) {
  return stored.cluster == wanted.cluster && (!stored.score || stored.score == wanted.score);
}

bool SameItems(const Items& stored, const Items& wanted) {
  return std::equal(stored.begin(), stored.end(), wanted.begin(), wanted.end(), SameItem);
}

std::set<std::string_view> ClustersOf(const Items& items) {
  std::set<std::string_view> clusters;
  for (const Decision& item : items) clusters.insert(item.cluster);
  return clusters;
}

// Plans by applying each write to a copy of what is stored.
class Planner {
 public:
  // `same`: the wanted pages that are already stored. A cluster that leaves another page is on none
  // of them, or may leave, so they take no part.
  Planner(std::string_view placement, const std::vector<StoredPage>& stored,
          const std::vector<WantedPage>& wanted, const std::vector<bool>& same);

  std::vector<DecisionWrite> Plan();

 private:
  // A PlacementDecision as it is after the writes planned so far.
  struct Page {
    std::string name;
    size_t number = 0;  // in unfinished_
    bool exists = false;
    bool visible = false;
    bool labelled = false;  // has all our labels with the wanted values, and the owner
    bool deleting = false;
    GroupLabels group = {};              // that it has now
    const WantedPage* wanted = nullptr;  // nullptr: to delete
    Items items = {};                    // now
    bool queued = false;
  };

  // Writes all that `page` needs, unless that would remove a cluster that is nowhere else; then the
  // page waits for that cluster.
  void TryToFinish(Page& page);
  // Some pages wait for each other: makes one write that ends the wait of one of them.
  void BreakCycle();
  // Puts `items` into additional pages with the labels `group`.
  void Copy(const GroupLabels& group, const Items& items);

  // The items that only `page` has and that are wanted on another page.
  Items Leaving(const Page& page) const;

  void WriteLabels(Page& page);
  void WriteItems(Page& page, Items items);
  void Create(Page& page);
  // Adds the clusters of a page that readers see to the counts, or removes them.
  void Count(const Items& items, bool add);
  void Enqueue(Page& page);

  std::string_view placement_;
  std::deque<Page> pages_;  // stable addresses
  std::unordered_set<std::string_view> wanted_clusters_;
  // How many visible pages have the cluster.
  std::unordered_map<std::string, int> counts_;
  std::unordered_map<std::string, std::vector<Page*>> waiting_for_;
  std::deque<Page*> queue_;
  // Not finished, in the order of their numbers.
  std::map<size_t, Page*> unfinished_;
  size_t last_number_ = 0;
  Page* copies_ = nullptr;  // the additional page that may have room
  std::vector<DecisionWrite> writes_;
};

Planner::Planner(std::string_view placement, const std::vector<StoredPage>& stored,
                 const std::vector<WantedPage>& wanted, const std::vector<bool>& same)
    : placement_(placement), last_number_(wanted.size()) {
  std::map<std::string_view, const StoredPage*> by_name;
  for (const StoredPage& page : stored) by_name[page.name] = &page;
  auto add = [&](std::string name, const WantedPage* target) {
    Page& page = pages_.emplace_back();
    page.name = std::move(name);
    page.wanted = target;
    auto found = by_name.find(page.name);
    if (found == by_name.end()) return;
    const StoredPage& now = *found->second;
    page.exists = true;
    page.visible = now.visible;
    page.deleting = now.deleting;
    page.items = now.decisions;
    // Readers need the labels, also of an additional page with its clusters.
    page.group = now.group.value_or(target == nullptr ? GroupLabels{"0", ""} : target->group);
    page.labelled =
        now.visible && now.owned && target != nullptr && now.group && *now.group == target->group;
    if (page.visible) Count(page.items, /*add=*/true);
  };
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (same[i]) continue;
    add(DecisionName(placement, i + 1), &wanted[i]);
    pages_.back().number = i;
    unfinished_[i] = &pages_.back();
    for (const Decision& item : wanted[i].decisions) wanted_clusters_.insert(item.cluster);
  }
  for (const StoredPage& page : stored) {
    size_t number = NumberOf(placement, page.name);
    last_number_ = std::max(last_number_, number);
    if (number == 0 || number > wanted.size()) add(page.name, nullptr);
  }
}

std::vector<DecisionWrite> Planner::Plan() {
  std::vector<Page*> first;
  for (auto& [number, page] : unfinished_) first.push_back(page);
  for (Page* page : first) Enqueue(*page);
  while (!unfinished_.empty()) {
    while (!queue_.empty()) {
      Page* page = queue_.front();
      queue_.pop_front();
      page->queued = false;
      TryToFinish(*page);
    }
    if (!unfinished_.empty()) BreakCycle();
  }
  for (const Page& page : pages_) {
    if (page.wanted == nullptr && !page.deleting)
      writes_.push_back({.kind = Kind::kDelete, .name = page.name});
  }
  return std::move(writes_);
}

void Planner::TryToFinish(Page& page) {
  if (page.visible) {
    std::set<std::string_view> stay = ClustersOf(page.wanted->decisions);
    for (const Decision& item : page.items) {
      if (stay.contains(item.cluster) || !wanted_clusters_.contains(item.cluster) ||
          counts_[item.cluster] > 1)
        continue;
      waiting_for_[item.cluster].push_back(&page);
      return;
    }
  }
  if (!page.exists) Create(page);
  if (page.visible && !page.labelled) WriteLabels(page);
  if (!SameItems(page.items, page.wanted->decisions)) WriteItems(page, page.wanted->decisions);
  if (!page.visible) WriteLabels(page);
  unfinished_.erase(page.number);
}

void Planner::BreakCycle() {
  for (auto& [number, page] : unfinished_) {
    Items items = page->wanted->decisions;
    // It has them already, and still waits.
    std::set<std::string_view> now = ClustersOf(page->items);
    if (std::all_of(items.begin(), items.end(),
                    [&](const Decision& item) { return now.contains(item.cluster); }))
      continue;
    Items leaving = Leaving(*page);
    if (items.size() + leaving.size() > kDecisionsPerPage) continue;
    items.insert(items.end(), leaving.begin(), leaving.end());
    if (!page->labelled) WriteLabels(*page);
    WriteItems(*page, std::move(items));
    Enqueue(*page);
    return;
  }
  Page& page = *unfinished_.begin()->second;
  Copy(page.group, Leaving(page));
  Enqueue(page);
}

Items Planner::Leaving(const Page& page) const {
  std::set<std::string_view> seen = ClustersOf(page.wanted->decisions);
  Items leaving;
  for (const Decision& item : page.items) {
    if (seen.insert(item.cluster).second && wanted_clusters_.contains(item.cluster) &&
        counts_.at(item.cluster) == 1)
      leaving.push_back(item);
  }
  return leaving;
}

void Planner::Copy(const GroupLabels& group, const Items& items) {
  // Fills the last additional page, without what is on another page meanwhile; then new ones.
  Items content;
  bool has_room = copies_ != nullptr && copies_->group == group;
  if (has_room) {
    for (const Decision& item : copies_->items) {
      if (counts_[item.cluster] == 1) content.push_back(item);
    }
    has_room = content.size() < kDecisionsPerPage;
  }
  for (auto next = items.begin(); next != items.end(); has_room = false) {
    if (!has_room) {
      content.clear();
      copies_ = &pages_.emplace_back();
      copies_->name = DecisionName(placement_, ++last_number_);
      copies_->group = group;
      Create(*copies_);
    }
    auto left = static_cast<size_t>(items.end() - next);
    auto end = next + static_cast<ptrdiff_t>(std::min(left, kDecisionsPerPage - content.size()));
    content.insert(content.end(), next, end);
    next = end;
    WriteItems(*copies_, std::exchange(content, {}));
  }
}

void Planner::Create(Page& page) {
  if (page.wanted != nullptr) page.group = page.wanted->group;
  page.exists = page.visible = page.labelled = true;
  writes_.push_back({.kind = Kind::kCreate, .name = page.name, .group = page.group});
}

void Planner::WriteLabels(Page& page) {
  page.group = page.wanted->group;
  page.labelled = true;
  writes_.push_back({.kind = Kind::kLabels, .name = page.name, .group = page.group});
  if (std::exchange(page.visible, true)) return;
  Count(page.items, /*add=*/true);
}

void Planner::WriteItems(Page& page, Items items) {
  writes_.push_back({.kind = Kind::kDecisions, .name = page.name, .decisions = items});
  Items before = std::exchange(page.items, std::move(items));
  if (!page.visible) return;
  Count(page.items, /*add=*/true);
  Count(before, /*add=*/false);
}

void Planner::Count(const Items& items, bool add) {
  for (std::string_view cluster : ClustersOf(items)) {
    int& count = counts_[std::string(cluster)];
    count += add ? 1 : -1;
    if (!add) continue;
    auto waiting = waiting_for_.extract(std::string(cluster));
    if (waiting.empty()) continue;
    for (Page* page : waiting.mapped()) Enqueue(*page);
  }
}

void Planner::Enqueue(Page& page) {
  if (std::exchange(page.queued, true)) return;
  queue_.push_back(&page);
}

// Which of `wanted` are already stored.
std::vector<bool> SamePages(std::string_view placement, const std::vector<StoredPage>& stored,
                            const std::vector<WantedPage>& wanted) {
  std::vector<bool> same(wanted.size());
  for (const StoredPage& page : stored) {
    size_t number = NumberOf(placement, page.name);
    if (number == 0 || number > wanted.size()) continue;
    const WantedPage& target = wanted[number - 1];
    same[number - 1] = page.visible && page.owned && page.group && *page.group == target.group &&
                       SameItems(page.decisions, target.decisions);
  }
  return same;
}

}  // namespace

std::string DecisionName(std::string_view placement, size_t number) {
  return std::string(placement) + std::string(kInfix) + std::to_string(number);
}

std::vector<DecisionWrite> PlanDecisionWrites(std::string_view placement,
                                              const std::vector<StoredPage>& stored,
                                              const std::vector<WantedPage>& wanted) {
  return Planner(placement, stored, wanted, SamePages(placement, stored, wanted)).Plan();
}

}  // namespace fleet
