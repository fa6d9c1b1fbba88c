// SPDX-License-Identifier: Apache-2.0
// DecisionIndex: all PlacementDecisions of the hub, and for each cluster the number of their
// entries that name it, kept up to date with each change. 500 Placements that select 5,000 clusters
// each have 2.5 million entries, so an entry is a number of 4 bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fleet/api/placement_decision.h"
#include "fleet/hub/decision_writes.h"
#include "fleet/scheduling/fleet.h"
#include "kube/types/resource.h"

namespace fleet {

// Whether a resourceVersion is older than another one of the same object; false unless both are
// numbers.
bool IsOlderVersion(std::string_view version, std::string_view than);

class DecisionIndex {
 public:
  // `counts`: what this keeps up to date; it outlives the index and is empty.
  explicit DecisionIndex(DecisionCounts& counts) : counts_(counts) {}
  DecisionIndex(const DecisionIndex&) = delete;
  DecisionIndex& operator=(const DecisionIndex&) = delete;

  // Adds or replaces; ignores a version older than the stored one, as watches are behind what this
  // process has written itself.
  // Returns: the Placements of which the change is, by their label before and after; empty if
  // nothing but the resourceVersion changed.
  std::vector<kube::ObjectKey> Put(const PlacementDecision& decision) {
    return Put(decision, /*left_out=*/false);
  }
  std::vector<kube::ObjectKey> Remove(const kube::ObjectKey& decision);

  // One that exceeds a budget (fleet/api/budgets.h): only its Placement stays known, which is
  // Incomplete() then. Both return what Put() returns.
  std::vector<kube::ObjectKey> LeaveOut(PlacementDecision decision);
  std::vector<kube::ObjectKey> LeaveOut(const kube::ObjectKey& decision);
  // There are PlacementDecisions in this namespace that will not be known.
  void SetOverflow(const std::string& ns) { overflow_.insert(ns); }
  // Whether it is not known what `placement` has selected.
  bool Incomplete(const kube::ObjectKey& placement) const;
  // DecisionBytes() of all.
  struct Bytes {
    size_t own = 0;  // of `placement`
    size_t of_namespace = 0;
    size_t total = 0;
  };
  Bytes BytesOf(const kube::ObjectKey& placement) const;

  // The PlacementDecisions with the label of `placement`, and those with the name of one of its
  // first `wanted` pages. `uid`: of the Placement.
  std::vector<StoredPage> PagesOf(const kube::ObjectKey& placement, std::string_view uid,
                                  size_t wanted) const;
  // The resourceVersions of the same.
  std::map<std::string, std::string> VersionsOf(const kube::ObjectKey& placement,
                                                size_t wanted) const;

  // The PlacementDecisions with the label of `placement`, without uid, resourceVersion and scores.
  std::vector<PlacementDecision> DecisionsOf(const kube::ObjectKey& placement) const;

  // For each cluster in the decisions of `placement` the number of its entries.
  DecisionCounts OwnOf(const kube::ObjectKey& placement) const;

  size_t size() const { return pages_.size(); }

 private:
  struct Page {
    std::string uid;
    std::string resource_version;
    std::string owner_uid;
    std::string placement;
    std::optional<GroupLabels> group;
    bool deleting = false;
    bool has_status = false;
    bool left_out = false;
    std::vector<uint32_t> clusters;
    std::vector<std::optional<int64_t>> scores;  // empty if none has one
  };

  std::vector<kube::ObjectKey> Put(const PlacementDecision& decision, bool left_out);
  Page Packed(const PlacementDecision& decision);
  static size_t BytesOf(const Page& page);
  // Ends the use of the clusters of a page.
  void Release(const Page& page);
  StoredPage Unpacked(const kube::ObjectKey& key, const Page& page,
                      const kube::ObjectKey& placement, std::string_view uid) const;
  // Calls `visit` for the pages that PagesOf() returns.
  template <class Visit>
  void ForEachPage(const kube::ObjectKey& placement, size_t wanted, const Visit& visit) const;

  std::unordered_map<kube::ObjectKey, Page> pages_;
  // The names of the pages with the label of a Placement.
  std::unordered_map<kube::ObjectKey, std::vector<std::string>> by_placement_;
  // The clusters that are in some PlacementDecision: name -> id, and id -> name and entries.
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<DecisionCounts::value_type*> clusters_;
  std::vector<uint32_t> free_ids_;
  DecisionCounts& counts_;
  std::unordered_map<std::string, size_t> bytes_of_;  // by namespace
  size_t bytes_ = 0;
  std::set<std::string> overflow_;
};

}  // namespace fleet
