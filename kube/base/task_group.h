// SPDX-License-Identifier: Apache-2.0
// TaskGroup owns named background coroutines and stops them together.
//
//   TaskGroup tasks(executor);
//   tasks.Spawn("pod-watch", informer.Run());
//   ...
//   Result<> stopped = co_await tasks.Stop(RealClock(), 10s);
//
// Stop() first requests cancellation: the operation that a task waits for fails with kCancelled,
// and so does each later Sleep or Wait until the task calls ForgetCancellation() for its cleanup. A
// task that retries after kCancelled never stops and spins. A task that called FinishWhenStopped()
// is not cancelled before the grace period of Stop() is over. A task that ends by an exception is a
// bug: the exception is logged with the task's name and ends the process.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

// Exempts this task from the first cancellation of TaskGroup::Stop(). The task needs another signal
// to stop, then completes its in-flight work and returns. It is cancelled after Stop()'s grace
// period.
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
  // Every task must have ended (see Stop), unless the process exits.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts `task` on the group's executor. On that executor, Spawn() returns when `task` first
  // waits.
  void Spawn(std::string name, asio::awaitable<void> task);

  // Requests cancellation of all tasks and waits up to `grace` for them. Then cancels the remaining
  // tasks, including their cleanup; another Stop() waits for those. A task spawned meanwhile is
  // cancelled at once. Errors: kDeadlineExceeded with the names of the running tasks, kCancelled if
  // the caller is cancelled.
  Async<> Stop(Clock& clock, Duration grace);

  // The number of tasks that have not ended.
  size_t size() const;
  // The same of all groups of the process. Any thread.
  static size_t Running();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kube
