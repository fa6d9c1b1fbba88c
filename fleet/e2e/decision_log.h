// SPDX-License-Identifier: Apache-2.0
// DecisionLog: follows the PlacementDecisions of a hub event by event: which clusters are in the
// decisions of each Placement, and whether one that stays selected is missing for a moment. No I/O.
//
//   DecisionLog log;
//   Follower decisions(client, clock, fleet::kPlacementDecisions, {},
//                      [&](const std::string& type, const Json& json) { log.On(type, json); });
//   ...
//   log.BeginChange();                      // before something that changes what is selected
//   ...
//   EXPECT_THAT(log.missing(), IsEmpty());
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

class DecisionLog {
 public:
  // Cluster -> how many entries name it.
  using Entries = std::unordered_map<std::string, int>;

  // An event of one watch of all PlacementDecisions; `type` is ADDED, MODIFIED or DELETED.
  void On(const std::string& type, const kube::Json& decision);

  // From here on each cluster may leave the decisions of a Placement, or come to them, once. One
  // that leaves and comes back was missing: readers have lost a cluster that stays selected.
  void BeginChange() { left_.clear(); }
  // "NAMESPACE/PLACEMENT CLUSTER" of each that left since BeginChange() and is still away.
  std::vector<std::string> Left() const;
  // The same for each that was missing since the start; the first 20, and the number of all.
  const std::vector<std::string>& missing() const { return missing_; }
  int64_t missing_count() const { return missing_count_; }

  // The number of events so far.
  int64_t events() const { return events_; }
  bool Selects(const kube::ObjectKey& placement, const std::string& cluster) const;
  // Empty if there are no decisions.
  const Entries& Of(const kube::ObjectKey& placement) const;
  // How many entries of all PlacementDecisions name the cluster.
  int EntriesOf(const std::string& cluster) const;
  size_t pages() const { return pages_.size(); }
  const std::unordered_map<kube::ObjectKey, Entries>& selected() const { return selected_; }

 private:
  struct Page {
    kube::ObjectKey placement;
    std::vector<std::string> clusters;
  };

  void Add(const Page& page);
  void Remove(const Page& page);
  static std::string Line(const kube::ObjectKey& placement, const std::string& cluster) {
    return placement.ToString() + " " + cluster;
  }

  std::unordered_map<kube::ObjectKey, Page> pages_;
  std::unordered_map<kube::ObjectKey, Entries> selected_;
  Entries entries_;
  std::set<std::pair<kube::ObjectKey, std::string>> left_;
  std::vector<std::string> missing_;
  int64_t missing_count_ = 0;
  int64_t events_ = 0;
};

}  // namespace e2e
