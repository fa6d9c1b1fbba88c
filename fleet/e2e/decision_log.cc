// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/decision_log.h"

#include "fleet/api/placement_decision.h"

namespace e2e {

using kube::ObjectKey;

namespace {

constexpr size_t kListed = 20;

// One entry less of `cluster`. Returns: whether it was the last.
bool Drop(DecisionLog::Entries& entries, const std::string& cluster) {
  auto found = entries.find(cluster);
  if (found == entries.end() || --found->second > 0) return false;
  entries.erase(found);
  return true;
}

}  // namespace

void DecisionLog::On(const std::string& type, const kube::Json& json) {
  kube::Result<fleet::PlacementDecision> read = fleet::PlacementDecision::FromJson(json);
  if (!read) return;
  ++events_;
  Page page{.placement = {read->ns, read->placement}, .clusters = {}};
  // Without the label, or deleted, readers do not see it.
  bool visible = type != "DELETED" && !read->placement.empty();
  for (fleet::Decision& decision : read->decisions)
    page.clusters.push_back(std::move(decision.cluster));
  // The new state first: what is in both never counts as away.
  if (visible) Add(page);
  ObjectKey key{read->ns, read->name};
  auto before = pages_.find(key);
  if (before != pages_.end()) {
    Remove(before->second);
    pages_.erase(before);
  }
  if (visible) pages_.emplace(std::move(key), std::move(page));
}

void DecisionLog::Add(const Page& page) {
  Entries& selected = selected_[page.placement];
  for (const std::string& cluster : page.clusters) {
    ++entries_[cluster];
    if (++selected[cluster] > 1 || left_.erase({page.placement, cluster}) == 0) continue;
    ++missing_count_;
    if (missing_.size() < kListed) missing_.push_back(Line(page.placement, cluster));
  }
}

void DecisionLog::Remove(const Page& page) {
  Entries& selected = selected_[page.placement];
  for (const std::string& cluster : page.clusters) {
    (void)Drop(entries_, cluster);
    if (Drop(selected, cluster)) left_.emplace(page.placement, cluster);
  }
}

std::vector<std::string> DecisionLog::Left() const {
  std::vector<std::string> lines;
  for (const auto& [placement, cluster] : left_) lines.push_back(Line(placement, cluster));
  return lines;
}

bool DecisionLog::Selects(const ObjectKey& placement, const std::string& cluster) const {
  return Of(placement).contains(cluster);
}

const DecisionLog::Entries& DecisionLog::Of(const ObjectKey& placement) const {
  static const Entries none;
  auto found = selected_.find(placement);
  return found == selected_.end() ? none : found->second;
}

int DecisionLog::EntriesOf(const std::string& cluster) const {
  auto found = entries_.find(cluster);
  return found == entries_.end() ? 0 : found->second;
}

}  // namespace e2e
