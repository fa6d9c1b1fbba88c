// SPDX-License-Identifier: Apache-2.0
// ManualClock: time stands still until a test moves it; a sleep ends at once and moves it.
#pragma once

#include "kube/base/clock.h"

namespace inspection {

class ManualClock final : public kube::Clock {
 public:
  void Advance(kube::Duration by) { now_ += by; }

  kube::TimePoint Now() const override { return now_; }
  kube::WallTime WallNow() const override {
    return kube::WallTime(std::chrono::duration_cast<kube::WallTime::duration>(now_.time_since_epoch()));
  }
  kube::Async<> SleepUntil(kube::TimePoint when) override {
    if (when > now_) now_ = when;
    co_return kube::Ok();
  }

 private:
  kube::TimePoint now_{std::chrono::hours(1000)};
};

}  // namespace inspection
