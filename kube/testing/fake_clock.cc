// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_clock.h"

namespace kube {

FakeClock::FakeClock()
    : now_(std::chrono::hours(1'000)),
      wall_(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)) {}

void FakeClock::Advance(Duration step) {
  now_ += step;
  wall_ += std::chrono::duration_cast<WallTime::duration>(step);
  sleepers_.Wake(now_);
}

Async<> FakeClock::SleepUntil(TimePoint when) {
  co_await IgnoreCancellation();
  if (when <= now_) co_return Ok();
  Result<> slept = co_await sleepers_.Wait(when);
  co_return slept;
}

}  // namespace kube
