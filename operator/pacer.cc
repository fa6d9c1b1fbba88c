// SPDX-License-Identifier: Apache-2.0
#include "operator/pacer.h"

#include <algorithm>

namespace operator_ {

void Pacer::ForgetIdle(kube::TimePoint now) {
  if (keys_.size() < sweep_at_) return;
  std::erase_if(keys_, [&](const auto& entry) {
    return std::max(entry.second.full, entry.second.due) <= now;
  });
  sweep_at_ = std::max<size_t>(64, 2 * keys_.size());
}

kube::Duration Pacer::Take(const std::string& key) {
  kube::TimePoint now = clock_.Now();
  ForgetIdle(now);
  Key& paced = keys_[key];
  kube::TimePoint full = std::max(paced.full, now) + options_.period;
  kube::Duration all = options_.period * options_.burst;
  if (full - now > all) return full - now - all;
  paced.full = full;
  return kube::Duration::zero();
}

kube::Duration Pacer::Delay(const std::string& key) {
  kube::TimePoint now = clock_.Now();
  ForgetIdle(now);
  Key& paced = keys_[key];
  if (now < paced.due) return paced.due - now;

  paced.full = std::max(paced.full, now) + options_.period;
  kube::Duration all = options_.period * options_.burst;
  kube::Duration wait = std::max<kube::Duration>(options_.settle, paced.full - now - all);
  paced.due = now + wait;
  return wait;
}

}  // namespace operator_
