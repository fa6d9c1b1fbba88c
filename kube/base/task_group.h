// SPDX-License-Identifier: Apache-2.0
// TaskGroup owns the coroutines that run beside main: none is detached, each has a name, all are
// stopped together.
//
//   TaskGroup tasks(executor);
//   tasks.Spawn("pod-watch", informer.Run());
//   ...
//   co_await tasks.Stop(RealClock(), 10s);    // asks all to stop, waits, then cancels those that
//   finish something first
//
// A task is asked to stop once, by cancellation: what it waits for then fails with kCancelled, and
// so does each Sleep or Wait after that, until it calls ForgetCancellation() to finish something
// first. A task that takes kCancelled for one more failure and goes on is never stopped, and busy.
// A task that called FinishWhenStopped() goes on undisturbed, and is cancelled in the same way only
// when the grace of Stop() is over. A task that ends by an exception is a bug: it is logged with
// its name and ends the process.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

// From here on this task is not cancelled when it is first asked to stop: it ends what is under way
// and then itself, having learnt of the stop in another way. What still runs at the end of Stop()'s
// grace is cancelled.
inline auto FinishWhenStopped() {
  auto only_total = [](asio::cancellation_type type) {
    bool total = (type & asio::cancellation_type::total) != asio::cancellation_type::none;
    return total ? asio::cancellation_type::terminal : asio::cancellation_type::none;
  };
  return asio::this_coro::reset_cancellation_state(only_total,
                                                   asio::enable_terminal_cancellation());
}

class TaskGroup {
 public:
  explicit TaskGroup(Executor executor);
  // Every task must have ended (see Stop), unless the process is ending.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts `task` on the group's executor; called from there, it runs until it first waits before
  // this returns.
  void Spawn(std::string name, asio::awaitable<void> task);

  // Asks all tasks to stop and waits until they have ended, at most `grace`. Those that still run
  // then are cancelled, whatever they finish, and may need another Stop() to be waited for. A task
  // that is spawned meanwhile is asked at once. Errors: kDeadlineExceeded names those that still
  // run, kCancelled if the caller is asked to stop (again).
  Async<> Stop(Clock& clock, Duration grace);

  // Tasks that have not ended.
  size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kube
