// SPDX-License-Identifier: Apache-2.0
// Rejections: which clusters a pass dropped, and why. Thousands of clusters share few reasons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fleet/api/managed_cluster.h"

namespace fleet {

class Rejections {
 public:
  struct Reason {
    std::string_view by;  // kPredicate, kTaintToleration or kSpread
    std::string why;      // at most kMaxWhy bytes
    int64_t clusters = 0;
  };
  struct Rejected {
    const ManagedCluster* cluster;
    size_t reason;  // index in reasons()
  };
  static constexpr size_t kMaxWhy = 300;

  // The index of a reason; a new one if it is not known. `by` is a constant.
  size_t ReasonIndex(std::string_view by, std::string_view why);
  void Add(const ManagedCluster& cluster, size_t reason);

  const std::vector<Reason>& reasons() const { return reasons_; }
  const std::vector<Rejected>& clusters() const { return clusters_; }

  // "3 by TaintToleration (taint gpu=true:NoSelect), 1 by Predicate (...)": at most `shown`
  // reasons, those of the most clusters first.
  std::string Describe(size_t shown = 5) const;

 private:
  std::vector<Reason> reasons_;
  std::vector<Rejected> clusters_;
  std::unordered_map<std::string, size_t> index_;  // "by:why"
};

}  // namespace fleet
