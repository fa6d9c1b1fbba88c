// SPDX-License-Identifier: Apache-2.0
// QuietClock: how much time has passed without a fault. A pod may wait during a fault, so its wait
// is measured by this clock.
#pragma once

#include "kube/base/clock.h"

namespace e2e {

class QuietClock {
 public:
  explicit QuietClock(kube::TimePoint start) : since_(start) {}

  // Each BeginFault() is followed by an EndFault(). Faults may overlap.
  void BeginFault(kube::TimePoint now) {
    passed_ = At(now);
    ++faults_;
  }
  void EndFault(kube::TimePoint now) {
    if (--faults_ == 0) since_ = now;
  }

  bool quiet() const { return faults_ == 0; }
  // The time without a fault from the start until `now`, which is not before the last call.
  kube::Duration At(kube::TimePoint now) const {
    return quiet() ? passed_ + (now - since_) : passed_;
  }

 private:
  kube::TimePoint since_;
  kube::Duration passed_{};
  int faults_ = 0;
};

}  // namespace e2e
