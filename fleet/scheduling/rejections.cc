// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/rejections.h"

#include <algorithm>

#include "kube/base/join.h"
#include "kube/base/utf8.h"

namespace fleet {

size_t Rejections::ReasonIndex(std::string_view by, std::string_view why) {
  why = kube::CutUtf8(why, kMaxWhy);
  std::string key(by);
  key += ':';
  key += why;
  auto [found, added] = index_.try_emplace(std::move(key), reasons_.size());
  if (added) reasons_.push_back({.by = by, .why = std::string(why)});
  return found->second;
}

void Rejections::Add(const ManagedCluster& cluster, size_t reason) {
  ++reasons_[reason].clusters;
  clusters_.push_back({&cluster, reason});
}

std::string Rejections::Describe(size_t shown) const {
  std::vector<const Reason*> order;
  for (const Reason& reason : reasons_) order.push_back(&reason);
  std::stable_sort(order.begin(), order.end(),
                   [](const Reason* a, const Reason* b) { return a->clusters > b->clusters; });
  std::vector<std::string> parts;
  for (const Reason* reason : order) {
    if (parts.size() > shown) break;
    parts.push_back(std::to_string(reason->clusters) + " by " + std::string(reason->by) + " (" +
                    reason->why + ")");
  }
  if (order.size() <= shown) return kube::Join(parts);
  parts.resize(shown);
  return kube::Join(parts) + " and " + std::to_string(order.size() - shown) + " more reasons";
}

}  // namespace fleet
