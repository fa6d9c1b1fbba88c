// SPDX-License-Identifier: Apache-2.0
// AdvancingClock: a clock on which each sleep advances the time at once, for code that polls until
// a deadline.
#pragma once

#include <algorithm>
#include <chrono>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

class AdvancingClock final : public Clock {
 public:
  // Clock
  TimePoint Now() const override { return now_; }
  // 2026-01-01T00:00:00Z and the time that was slept.
  WallTime WallNow() const override {
    return WallTime(std::chrono::seconds(1'767'225'600)) + now_.time_since_epoch();
  }
  Async<> SleepUntil(TimePoint when) override {
    now_ = std::max(now_, when);
    co_return Ok();
  }

 private:
  TimePoint now_;
};

}  // namespace kube
