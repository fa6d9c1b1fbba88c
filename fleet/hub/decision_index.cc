// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/decision_index.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "fleet/api/budgets.h"

namespace fleet {

using kube::ObjectKey;

bool IsOlderVersion(std::string_view version, std::string_view than) {
  uint64_t numbers[2] = {0, 0};
  const std::string_view texts[2] = {version, than};
  for (int i = 0; i < 2; ++i) {
    const char* end = texts[i].data() + texts[i].size();
    auto parsed = std::from_chars(texts[i].data(), end, numbers[i]);
    if (parsed.ec != std::errc() || parsed.ptr != end) return false;
  }
  return numbers[0] < numbers[1];
}

std::vector<ObjectKey> DecisionIndex::Put(const PlacementDecision& decision, bool left_out) {
  ObjectKey key{decision.ns, decision.name};
  Page page = Packed(decision);
  page.left_out = left_out;
  auto found = pages_.find(key);
  if (found != pages_.end()) {
    Page& before = found->second;
    if (before.uid == page.uid && IsOlderVersion(page.resource_version, before.resource_version)) {
      Release(page);
      return {};
    }
    bool same = before.owner_uid == page.owner_uid && before.placement == page.placement &&
                before.group == page.group && before.deleting == page.deleting &&
                before.has_status == page.has_status && before.left_out == page.left_out &&
                before.clusters == page.clusters && before.scores == page.scores;
    if (same) {
      Release(page);
      before.resource_version = std::move(page.resource_version);
      return {};
    }
  }
  std::vector<ObjectKey> placements = Remove(key);
  if (!page.placement.empty()) {
    ObjectKey placement{key.ns, page.placement};
    by_placement_[placement].push_back(key.name);
    if (std::find(placements.begin(), placements.end(), placement) == placements.end())
      placements.push_back(std::move(placement));
  }
  size_t bytes = BytesOf(page);
  bytes_of_[key.ns] += bytes;
  bytes_ += bytes;
  pages_.emplace(std::move(key), std::move(page));
  return placements;
}

std::vector<ObjectKey> DecisionIndex::LeaveOut(PlacementDecision decision) {
  decision.has_status = false;
  decision.decisions.clear();
  return Put(decision, /*left_out=*/true);
}

std::vector<ObjectKey> DecisionIndex::LeaveOut(const ObjectKey& decision) {
  auto found = pages_.find(decision);
  if (found == pages_.end() || found->second.left_out) return {};
  const Page& page = found->second;
  PlacementDecision bare;
  bare.ns = decision.ns;
  bare.name = decision.name;
  bare.uid = page.uid;
  bare.resource_version = page.resource_version;
  bare.deleting = page.deleting;
  bare.owner_uid = page.owner_uid;
  bare.placement = page.placement;
  return LeaveOut(std::move(bare));
}

bool DecisionIndex::Incomplete(const ObjectKey& placement) const {
  if (overflow_.contains(placement.ns)) return true;
  bool incomplete = false;
  ForEachPage(placement, 0, [&](const ObjectKey&, const Page& page) {
    incomplete = incomplete || page.left_out;
  });
  return incomplete;
}

DecisionIndex::Bytes DecisionIndex::BytesOf(const ObjectKey& placement) const {
  Bytes bytes{.total = bytes_};
  ForEachPage(placement, 0,
              [&](const ObjectKey&, const Page& page) { bytes.own += BytesOf(page); });
  auto of_namespace = bytes_of_.find(placement.ns);
  if (of_namespace != bytes_of_.end()) bytes.of_namespace = of_namespace->second;
  return bytes;
}

size_t DecisionIndex::BytesOf(const Page& page) {
  return DecisionBytes(page.clusters.size(), !page.scores.empty());
}

std::vector<ObjectKey> DecisionIndex::Remove(const ObjectKey& decision) {
  auto found = pages_.find(decision);
  if (found == pages_.end()) return {};
  Release(found->second);
  size_t bytes = BytesOf(found->second);
  bytes_ -= bytes;
  auto of_namespace = bytes_of_.find(decision.ns);
  of_namespace->second -= bytes;
  if (of_namespace->second == 0) bytes_of_.erase(of_namespace);
  std::vector<ObjectKey> placements;
  if (!found->second.placement.empty()) {
    ObjectKey placement{decision.ns, found->second.placement};
    auto names = by_placement_.find(placement);
    std::erase(names->second, decision.name);
    if (names->second.empty()) by_placement_.erase(names);
    placements.push_back(std::move(placement));
  }
  pages_.erase(found);
  return placements;
}

DecisionIndex::Page DecisionIndex::Packed(const PlacementDecision& decision) {
  Page page{.uid = decision.uid,
            .resource_version = decision.resource_version,
            .owner_uid = decision.owner_uid,
            .placement = decision.placement,
            .deleting = decision.deleting,
            .has_status = decision.has_status};
  if (decision.group_index && decision.group_name)
    page.group = GroupLabels{*decision.group_index, *decision.group_name};
  page.clusters.reserve(decision.decisions.size());
  bool scored = false;
  for (const Decision& entry : decision.decisions) {
    auto [id, fresh] = ids_.try_emplace(entry.cluster, 0);
    if (fresh) {
      if (free_ids_.empty()) {
        free_ids_.push_back(static_cast<uint32_t>(clusters_.size()));
        clusters_.push_back(nullptr);
      }
      id->second = free_ids_.back();
      free_ids_.pop_back();
      clusters_[id->second] = &*counts_.try_emplace(entry.cluster, 0).first;
    }
    ++clusters_[id->second]->second;
    page.clusters.push_back(id->second);
    scored |= entry.score.has_value();
  }
  if (!scored) return page;
  for (const Decision& entry : decision.decisions) page.scores.push_back(entry.score);
  return page;
}

void DecisionIndex::Release(const Page& page) {
  for (uint32_t id : page.clusters) {
    if (--clusters_[id]->second > 0) continue;
    std::string name = std::exchange(clusters_[id], nullptr)->first;
    ids_.erase(name);
    counts_.erase(name);
    free_ids_.push_back(id);
  }
}

StoredPage DecisionIndex::Unpacked(const ObjectKey& key, const Page& page,
                                   const ObjectKey& placement, std::string_view uid) const {
  StoredPage stored{.name = key.name,
                    .visible = page.placement == placement.name,
                    .owned = page.owner_uid == uid,
                    .deleting = page.deleting,
                    .group = page.group};
  stored.decisions.reserve(page.clusters.size());
  for (size_t i = 0; i < page.clusters.size(); ++i) {
    Decision& decision = stored.decisions.emplace_back();
    decision.cluster = clusters_[page.clusters[i]]->first;
    if (!page.scores.empty()) decision.score = page.scores[i];
  }
  return stored;
}

template <class Visit>
void DecisionIndex::ForEachPage(const ObjectKey& placement, size_t wanted,
                                const Visit& visit) const {
  auto labelled = by_placement_.find(placement);
  if (labelled != by_placement_.end()) {
    for (const std::string& name : labelled->second) {
      ObjectKey key{placement.ns, name};
      visit(key, pages_.at(key));
    }
  }
  for (size_t i = 1; i <= wanted; ++i) {
    ObjectKey key{placement.ns, DecisionName(placement.name, i)};
    auto page = pages_.find(key);
    if (page != pages_.end() && page->second.placement != placement.name) visit(key, page->second);
  }
}

std::vector<StoredPage> DecisionIndex::PagesOf(const ObjectKey& placement, std::string_view uid,
                                               size_t wanted) const {
  std::vector<StoredPage> pages;
  ForEachPage(placement, wanted, [&](const ObjectKey& key, const Page& page) {
    pages.push_back(Unpacked(key, page, placement, uid));
  });
  return pages;
}

std::map<std::string, std::string> DecisionIndex::VersionsOf(const ObjectKey& placement,
                                                             size_t wanted) const {
  std::map<std::string, std::string> versions;
  ForEachPage(placement, wanted, [&](const ObjectKey& key, const Page& page) {
    versions[key.name] = page.resource_version;
  });
  return versions;
}

std::vector<PlacementDecision> DecisionIndex::DecisionsOf(const ObjectKey& placement) const {
  std::vector<PlacementDecision> decisions;
  ForEachPage(placement, 0, [&](const ObjectKey& key, const Page& page) {
    PlacementDecision& decision = decisions.emplace_back();
    decision.ns = key.ns;
    decision.name = key.name;
    decision.deleting = page.deleting;
    decision.owner_uid = page.owner_uid;
    decision.placement = page.placement;
    if (page.group) {
      decision.group_index = page.group->index;
      decision.group_name = page.group->name;
    }
    decision.has_status = page.has_status;
    decision.decisions.reserve(page.clusters.size());
    for (uint32_t id : page.clusters)
      decision.decisions.push_back({.cluster = clusters_[id]->first});
  });
  return decisions;
}

DecisionCounts DecisionIndex::OwnOf(const ObjectKey& placement) const {
  DecisionCounts own;
  ForEachPage(placement, 0, [&](const ObjectKey&, const Page& page) {
    for (uint32_t id : page.clusters) ++own[clusters_[id]->first];
  });
  return own;
}

}  // namespace fleet
