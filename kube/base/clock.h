// SPDX-License-Identifier: Apache-2.0
// Clock: the only source of time and of waiting; tests turn a FakeClock (kube/testing) by hand.
#pragma once

#include <chrono>
#include <memory>

#include "kube/base/async.h"

namespace kube {

using Duration = std::chrono::steady_clock::duration;
using TimePoint = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::system_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;

  // Monotonic; for deadlines, backoff and ages.
  virtual TimePoint Now() const = 0;
  // Wall clock; only for times that leave the process (leases, events, conditions, certificates).
  virtual WallTime WallNow() const = 0;
  // Resumes at `when` on the caller's executor. kCancelled if the caller was cancelled before.
  virtual Async<> SleepUntil(TimePoint when) = 0;

  Async<> Sleep(Duration delay) { return SleepUntil(Now() + delay); }
};

// The machine's clocks, as one object for the whole process; any thread.
Clock& RealClock();

// "2026-01-31T23:59:59Z"; metav1.Time.
std::string FormatTime(WallTime time);
// Accepts metav1.Time and metav1.MicroTime. kInvalid for anything else.
Result<WallTime> ParseTime(std::string_view text);

// "500ms", "20s", "5m" or "1h": one number with its unit. kInvalid for anything else, negative ones
// included.
Result<Duration> ParseDuration(std::string_view text);

}  // namespace kube
