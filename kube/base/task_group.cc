// SPDX-License-Identifier: Apache-2.0
#include "kube/base/task_group.h"

#include <glog/logging.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>
#include <list>

#include "kube/base/alarm.h"
#include "kube/base/notifier.h"

namespace kube {

struct TaskGroup::State {
  struct Task {
    std::string name;
    asio::cancellation_signal cancel;
  };

  // The mildest type that Asio's composed operations (TLS, async_read) let through by default.
  // emit() may end a task and so erase it: step on first.
  void CancelAll() {
    for (auto task = tasks.begin(); task != tasks.end();) {
      auto next = std::next(task);
      task->cancel.emit(asio::cancellation_type::terminal);
      task = next;
    }
  }

  Executor executor;
  std::list<Task> tasks;
  Notifier ended;
};

TaskGroup::TaskGroup(Executor executor) : state_(std::make_shared<State>()) { state_->executor = std::move(executor); }

TaskGroup::~TaskGroup() = default;

void TaskGroup::Spawn(std::string name, asio::awaitable<void> task) {
  auto position = state_->tasks.emplace(state_->tasks.end());
  position->name = std::move(name);
  auto finished = [state = state_, position](std::exception_ptr failure) {
    if (failure) {
      try {
        std::rethrow_exception(failure);
      } catch (const boost::system::system_error& e) {
        LOG_IF(FATAL, e.code() != asio::error::operation_aborted) << "task " << position->name << ": " << e.what();
      } catch (const std::exception& e) {
        LOG(FATAL) << "task " << position->name << ": " << e.what();
      }
    }
    state->tasks.erase(position);
    state->ended.NotifyAll();
  };
  asio::co_spawn(state_->executor, std::move(task),
                 asio::bind_cancellation_slot(position->cancel.slot(), std::move(finished)));
}

Async<> TaskGroup::Stop(Clock& clock, Duration grace) {
  // Often called because the caller itself was cancelled.
  co_await ForgetCancellation();
  co_await IgnoreCancellation();
  std::shared_ptr<State> state = state_;
  state->CancelAll();

  bool late = false;
  Alarm deadline(clock, [&late, state] {
    late = true;
    state->ended.NotifyAll();
  });
  deadline.Set(state->executor, clock.Now() + grace);
  while (!state->tasks.empty() && !late) {
    Result<> waited = co_await state->ended.Wait();
    if (!waited) co_return waited.error();
  }
  if (state->tasks.empty()) co_return Ok();

  std::string names;
  for (auto& task : state->tasks) names += " " + task.name;
  state->CancelAll();
  co_return Error::DeadlineExceeded("tasks still running:" + names);
}

size_t TaskGroup::size() const { return state_->tasks.size(); }

}  // namespace kube
