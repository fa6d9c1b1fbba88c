// SPDX-License-Identifier: Apache-2.0
// ProcessClock: the clocks of one process, which may be wrong.
//
//   ProcessClock clock(loop, lane);
//   clock.SetRate(1.01);       // its seconds are too short
//   clock.JumpWall(-1h);       // somebody sets the wall clock
//
// Both clocks go on while the process is held, as during SIGSTOP. Thread: the Loop's.
#pragma once

#include <optional>

#include "kube/base/clock.h"
#include "kube/testing/sleepers.h"
#include "sim/base/loop.h"

namespace sim {

class ProcessClock final : public kube::Clock {
 public:
  // `loop` and `lane` outlive it.
  ProcessClock(Loop& loop, Loop::Lane& lane);
  ~ProcessClock() override;

  // How fast it goes, from now on; greater than 0.
  void SetRate(double rate);
  void JumpWall(kube::Duration step) { wall_offset_ += step; }
  // Wakes nobody any more.
  void Stop();

  // Clock
  kube::TimePoint Now() const override;
  kube::WallTime WallNow() const override;
  kube::Async<> SleepUntil(kube::TimePoint when) override;

 private:
  // Sets the event for the first sleeper, who is due at `due`.
  void Arm(kube::TimePoint due);
  void WakeSleepers();

  Loop& loop_;
  Loop::Lane& lane_;
  double rate_ = 1;
  // What both clocks showed when the rate was set.
  kube::TimePoint loop_base_, own_base_;
  kube::Duration wall_offset_{};
  bool stopped_ = false;
  std::optional<Loop::Event> event_;
  kube::Sleepers sleepers_;
};

// The wall clock's time when a simulation begins.
kube::WallTime WallBegin();
// What a right wall clock shows at this time of the Loop.
kube::WallTime WallTimeAt(kube::TimePoint when);

}  // namespace sim
