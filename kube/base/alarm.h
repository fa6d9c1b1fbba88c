// SPDX-License-Identifier: Apache-2.0
// Alarm: a timer that calls a function, for code that is not a coroutine. Set() replaces an earlier
// time.
//
//   Alarm alarm(clock, [this] { MoveDueItems(); });
//   alarm.Set(executor, clock.Now() + 5s);
//
// After Cancel() or destruction the function is not called.
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

  // Calls the function once, on `executor`, at `when`.
  void Set(Executor executor, TimePoint when);
  void Cancel();

  // The pending time; nullopt if there is none.
  std::optional<TimePoint> set_to() const;

 private:
  struct State;
  Clock& clock_;
  std::function<void()> ring_;
  std::shared_ptr<State> state_;
};

}  // namespace kube
