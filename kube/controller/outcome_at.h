// SPDX-License-Identifier: Apache-2.0
// OutcomeAfter() and OutcomeAt() - when to reconcile again, for a state that changes with time.
// Rounded up to a millisecond, at least one: earlier, nothing would have changed yet.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "kube/base/clock.h"
#include "kube/controller/reconciler.h"

namespace kube {

inline Outcome OutcomeAfter(Duration wait) {
  constexpr std::chrono::milliseconds kLeast{1};
  return Outcome::After(std::max(std::chrono::ceil<std::chrono::milliseconds>(wait), kLeast));
}

// Again at `next`, or in an hour if that is earlier: timers count from when they are set. Done
// without `next`.
inline Outcome OutcomeAt(const std::optional<WallTime>& next, WallTime now) {
  constexpr std::chrono::hours kLongest{1};
  if (!next) return Outcome::Done();
  return OutcomeAfter(std::min<Duration>(*next - now, kLongest));
}

}  // namespace kube
