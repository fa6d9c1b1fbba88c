// SPDX-License-Identifier: Apache-2.0
// TaskGroup owns the coroutines that run beside main: none is detached, each has a name, all are stopped together.
//
//   TaskGroup tasks(executor);
//   tasks.Spawn("pod-watch", informer.Run());
//   ...
//   co_await tasks.Stop(RealClock(), 10s);    // asks all to stop, waits, then gives up on those that don't
//
// A task is asked to stop once, by cancellation: what it waits for then fails with kCancelled, and so does each Sleep or
// Wait after that, until it calls ForgetCancellation() to finish something first. A task that takes kCancelled for one
// more failure and goes on is never stopped, and busy.
// A task that ends by an exception is a bug: it is logged with its name and ends the process.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

class TaskGroup {
 public:
  explicit TaskGroup(Executor executor);
  // Every task must have ended (see Stop), unless the process is ending.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts `task` on the group's executor (a post: it does not run before the caller yields).
  void Spawn(std::string name, asio::awaitable<void> task);

  // Cancels all tasks and waits until they have ended, at most `grace`.
  // Errors: kDeadlineExceeded names those that still run, kCancelled if the caller is asked to stop (again).
  Async<> Stop(Clock& clock, Duration grace);

  // Tasks that have not ended.
  size_t size() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace kube
