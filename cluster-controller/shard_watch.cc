// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/shard_watch.h"

#include <algorithm>

namespace cluster_controller {

void ShardWatch::OnLease(kube::EventType type, const kube::coordination::Lease& lease) {
  const std::string& ns = lease.metadata().namespace_();
  if (type == kube::EventType::kDeleted) {
    last_signs_.erase(ns);
    return;
  }
  // A released Lease has no holder: nobody is there to renew it.
  if (lease.spec().holder_identity().empty()) return;
  std::string renewed = lease.spec().holder_identity() + "@" + std::to_string(lease.spec().renew_time().seconds()) + "." +
                        std::to_string(lease.spec().renew_time().nanos());
  Sign& sign = last_signs_[ns];
  if (sign.renewed == renewed) return;
  sign = {std::move(renewed), clock_.Now()};
}

kube::Duration ShardWatch::WaitLeft(const std::string& ns, kube::TimePoint first_seen) const {
  auto sign = last_signs_.find(ns);
  kube::TimePoint silent_since = sign == last_signs_.end() ? first_seen : std::max(sign->second.seen, first_seen);
  return std::max(silent_since + takeover_after_ - clock_.Now(), kube::Duration::zero());
}

}  // namespace cluster_controller
