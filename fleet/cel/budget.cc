// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/budget.h"

#include <algorithm>

namespace fleet::cel {

using kube::Duration;
using kube::TimePoint;

Duration Budget::Left(const Debt& debt, TimePoint now) {
  return std::max(debt.time - (now - debt.since) / kShare, Duration::zero());
}

void Budget::Charge(const std::string& ns, Duration used, TimePoint now) {
  Debt& debt = debts_.try_emplace(ns, Debt{Duration::zero(), now}).first->second;
  debt = {Left(debt, now) + used, now};
  if (debts_.size() < sweep_at_) return;
  std::erase_if(debts_,
                [&](const auto& entry) { return Left(entry.second, now) == Duration::zero(); });
  sweep_at_ = std::max<size_t>(64, 2 * debts_.size());
}

Duration Budget::Wait(const std::string& ns, TimePoint now) const {
  auto found = debts_.find(ns);
  if (found == debts_.end()) return Duration::zero();
  return std::max(Left(found->second, now) - kAtOnce, Duration::zero()) * kShare;
}

}  // namespace fleet::cel
