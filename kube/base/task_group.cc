// SPDX-License-Identifier: Apache-2.0
#include "kube/base/task_group.h"

#include <glog/logging.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <list>

namespace kube {

using namespace std::chrono_literals;

struct TaskGroup::State {
  struct Task {
    std::string name;
    asio::cancellation_signal cancel;
  };

  Executor executor;
  std::list<Task> tasks;
};

TaskGroup::TaskGroup(Executor executor) : state_(std::make_shared<State>(State{std::move(executor), {}})) {}

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
  };
  asio::co_spawn(state_->executor, std::move(task),
                 asio::bind_cancellation_slot(position->cancel.slot(), std::move(finished)));
}

Async<> TaskGroup::Stop(Clock& clock, Duration grace) {
  co_await IgnoreCancellation();
  TimePoint deadline = clock.Now() + grace;
  // emit() may end a task and so erase it: step on first.
  for (auto task = state_->tasks.begin(); task != state_->tasks.end();) {
    auto next = std::next(task);
    // The mildest type that Asio's composed operations (TLS, async_read) let through by default.
    task->cancel.emit(asio::cancellation_type::terminal);
    task = next;
  }
  while (!state_->tasks.empty()) {
    if (clock.Now() >= deadline) {
      std::string names;
      for (auto& task : state_->tasks) names += " " + task.name;
      for (auto task = state_->tasks.begin(); task != state_->tasks.end();) {
        auto next = std::next(task);
        task->cancel.emit(asio::cancellation_type::terminal);
        task = next;
      }
      co_return Error::DeadlineExceeded("tasks still running:" + names);
    }
    Result<> waited = co_await clock.Sleep(1ms);
    (void)waited;
  }
  co_return Ok();
}

size_t TaskGroup::size() const { return state_->tasks.size(); }

}  // namespace kube
