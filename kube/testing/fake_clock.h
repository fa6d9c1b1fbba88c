// SPDX-License-Identifier: Apache-2.0
// FakeClock: time that only moves when a test says so.
//
//   FakeClock clock;                       // 2026-01-01T00:00:00Z
//   tasks.Spawn("renew", elector.Hold());
//   clock.Advance(10s);                    // wakes what slept up to then, in the order of its
//   times Drain(io);                             // lets it run (kube/testing/run.h)
//
// A negative test advances the clock to prove that nothing fired.
#pragma once

#include <memory>

#include "kube/base/clock.h"

namespace kube {

class FakeClock final : public Clock {
 public:
  FakeClock();

  // Moves both clocks on. The sleepers run when the event loop does.
  void Advance(Duration step);
  // Moves the wall clock alone, as an administrator or NTP may.
  void SetWall(WallTime now) { wall_ = now; }

  // Sleepers that wait, and the time when the first of them is due.
  size_t sleepers() const;
  TimePoint next() const;

  // Clock
  TimePoint Now() const override { return now_; }
  WallTime WallNow() const override { return wall_; }
  Async<> SleepUntil(TimePoint when) override;

 private:
  struct Sleepers;
  TimePoint now_;
  WallTime wall_;
  // Shared with the coroutines that sleep: these may be destroyed after the clock.
  std::shared_ptr<Sleepers> sleepers_;
};

}  // namespace kube
