// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/membership/signs_of_life.h"

#include <algorithm>

namespace fleet {

bool SignsOfLife::Renewed(const std::string& cluster, const Renewal& renewal) {
  Sign& sign = signs_[cluster];
  bool first = !sign.renewal;
  if (sign.renewal == renewal) return false;
  sign.renewal = renewal;
  sign.last = clock_.Now();
  return first;
}

bool SignsOfLife::HasLease(const std::string& cluster) const {
  auto found = signs_.find(cluster);
  return found != signs_.end() && found->second.renewal;
}

kube::Duration SignsOfLife::Silence(const std::string& cluster) {
  kube::TimePoint now = clock_.Now();
  auto [found, first] = signs_.try_emplace(cluster, Sign{.last = now});
  kube::TimePoint last = found->second.last;
  if (blind_until_) last = std::max(last, *blind_until_);
  return now - last;
}

}  // namespace fleet
