// SPDX-License-Identifier: Apache-2.0
// FakeClock: a clock that only Advance() moves.
//
//   FakeClock clock;                       // 2026-01-01T00:00:00Z
//   tasks.Spawn("renew", elector.Hold());
//   clock.Advance(10s);                    // wakes the sleepers that are due, in order of time
//   Drain(io);                             // runs them (kube/testing/run.h)
//
// A negative test advances the clock to prove that nothing fired.
#pragma once

#include "kube/base/clock.h"
#include "kube/testing/sleepers.h"

namespace kube {

class FakeClock final : public Clock {
 public:
  FakeClock();

  // Advances both clocks. The sleepers run when the event loop runs.
  void Advance(Duration step);
  // Sets the wall clock only, as an administrator or NTP may do.
  void SetWall(WallTime now) { wall_ = now; }

  // The number of sleepers, and when the first of them is due.
  size_t sleepers() const { return sleepers_.size(); }
  TimePoint next() const { return sleepers_.next(); }

  // Clock
  TimePoint Now() const override { return now_; }
  WallTime WallNow() const override { return wall_; }
  Async<> SleepUntil(TimePoint when) override;

 private:
  TimePoint now_;
  WallTime wall_;
  Sleepers sleepers_;
};

}  // namespace kube
