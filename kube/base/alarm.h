// SPDX-License-Identifier: Apache-2.0
// Alarm: calls a function at a time, for code that is no coroutine itself. One time at once:
// setting it again moves it.
//
//   Alarm alarm(clock, [this] { MoveDueItems(); });
//   alarm.Set(executor, clock.Now() + 5s);
//
// Destroying or cancelling the alarm guarantees that the function is not called any more.
#pragma once

#include <functional>
#include <memory>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

class Alarm {
 public:
  // `clock` outlives the alarm.
  Alarm(Clock& clock, std::function<void()> ring);
  ~Alarm();
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // Rings once, on `executor`, when the clock shows `when`.
  void Set(Executor executor, TimePoint when);
  void Cancel();

  // The time it is set to, if it is.
  std::optional<TimePoint> set_to() const;

 private:
  struct State;
  Clock& clock_;
  std::function<void()> ring_;
  std::shared_ptr<State> state_;
};

}  // namespace kube
