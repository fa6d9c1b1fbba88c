// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/pod_ledger.h"

namespace e2e {

using kube::Duration;
using kube::ObjectKey;
using kube::TimePoint;

void PodLedger::OnPod(const ObjectKey& pod, bool gated, TimePoint now, Duration quiet) {
  auto [known, is_new] = pods_.try_emplace(pod, Pod{.since = quiet});
  if (is_new) ++gated_;
  if (gated || !known->second.gated) return;
  known->second.gated = false;
  --gated_;
  due_.emplace_back(now + keep_, pod);
}

void PodLedger::OnDeleted(const ObjectKey& pod) {
  auto known = pods_.find(pod);
  if (known == pods_.end()) return;
  if (known->second.gated) --gated_;
  pods_.erase(known);
}

std::vector<ObjectKey> PodLedger::TakeDue(TimePoint now, size_t most) {
  std::vector<ObjectKey> taken;
  while (!due_.empty() && due_.front().first <= now && taken.size() < most) {
    if (pods_.contains(due_.front().second)) taken.push_back(std::move(due_.front().second));
    due_.pop_front();
  }
  return taken;
}

void PodLedger::Return(const ObjectKey& pod, TimePoint now) { due_.emplace_back(now + keep_, pod); }

std::optional<PodLedger::Gated> PodLedger::LongestGated(Duration quiet) const {
  std::optional<Gated> longest;
  for (const auto& [key, pod] : pods_) {
    if (pod.gated && (!longest || quiet - pod.since > longest->waited))
      longest = Gated{.pod = key, .waited = quiet - pod.since};
  }
  return longest;
}

}  // namespace e2e
