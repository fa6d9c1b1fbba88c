// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace inspection {

// The real time plus an offset that the test advances, for tests with real connections.
class OffsetClock final : public kube::Clock {
 public:
  void Advance(kube::Duration by) { offset_ += by; }
  kube::TimePoint Now() const override { return kube::RealClock().Now() + offset_; }
  kube::WallTime WallNow() const override { return kube::RealClock().WallNow(); }
  kube::Async<> SleepUntil(kube::TimePoint when) override {
    return kube::RealClock().SleepUntil(when - offset_);
  }

 private:
  kube::Duration offset_{};
};

}  // namespace inspection
