// SPDX-License-Identifier: Apache-2.0
// Pace: when the next of a series may begin: so many at once, and from then on one in each period.
// Time regains those at once, and no more. Thread: one.
#pragma once

#include <algorithm>

#include "kube/base/clock.h"

namespace exec_format {

class Pace {
 public:
  // `clock` outlives this.
  Pace(kube::Clock& clock, int at_once, kube::Duration period)
      : clock_(clock), regain_((at_once - 1) * period), period_(period), next_(Earliest()) {}

  // When one may begin; a time that has passed: now.
  kube::TimePoint NextAt() const { return next_; }
  // The same, and it counts. Not before now.
  kube::TimePoint Take() {
    next_ = std::max(next_, Earliest());
    const kube::TimePoint begin = std::max(next_, clock_.Now());
    next_ += period_;
    return begin;
  }

 private:
  kube::TimePoint Earliest() const { return clock_.Now() - regain_; }

  kube::Clock& clock_;
  kube::Duration regain_;  // the time in which all at once are regained, but one
  kube::Duration period_;
  kube::TimePoint next_;
};

}  // namespace exec_format
