// SPDX-License-Identifier: Apache-2.0
// Clock: the only source of time and timers. Tests advance a FakeClock (kube/testing).
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
  // Resumes at `when` on the caller's executor. Errors: kCancelled if the caller is cancelled
  // first.
  virtual Async<> SleepUntil(TimePoint when) = 0;

  Async<> Sleep(Duration delay) { return SleepUntil(Now() + delay); }
};

// The machine's clocks; one object for the process. Thread: any.
Clock& RealClock();

// "2026-01-31T23:59:59Z"; metav1.Time.
std::string FormatTime(WallTime time);
// Parses RFC 3339 in any zone: metav1.Time, metav1.MicroTime, and what clients write. A year before
// 1970 or after 2260 becomes the nearest of these: "never" can be added to and subtracted from.
// Errors: kInvalid.
Result<WallTime> ParseTime(std::string_view text);

// Parses one non-negative number with its unit: "500ms", "20s", "5m" or "1h". Errors: kInvalid.
Result<Duration> ParseDuration(std::string_view text);

}  // namespace kube
