// SPDX-License-Identifier: Apache-2.0
#include "kube/base/task_group.h"

#include <glog/logging.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/system/system_error.hpp>
#include <list>

#include "kube/base/alarm.h"
#include "kube/base/notifier.h"

namespace kube {
namespace {

// The weakest type that Asio's composed operations (TLS, async_read) accept by default.
constexpr asio::cancellation_type kRequestStop = asio::cancellation_type::terminal;
// Also cancels tasks that called FinishWhenStopped().
constexpr asio::cancellation_type kCancel =
    asio::cancellation_type::terminal | asio::cancellation_type::total;

std::atomic<size_t> running_tasks = 0;

}  // namespace

struct TaskGroup::State {
  struct Task {
    Task() { running_tasks.fetch_add(1, std::memory_order_relaxed); }
    ~Task() { running_tasks.fetch_sub(1, std::memory_order_relaxed); }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    std::string name;
    uint64_t id = 0;
    asio::cancellation_signal cancel;
    asio::cancellation_type asked = asio::cancellation_type::none;

    // Asks again for what was asked before: Asio keeps the last request only, and a weaker one
    // would let a cancelled task begin further operations.
    void Cancel(asio::cancellation_type type) {
      asked |= type;
      cancel.emit(asked);
    }
  };

  // Cancel() may end and erase its task: advance before.
  void CancelAll(asio::cancellation_type type) {
    for (auto task = tasks.begin(); task != tasks.end();) {
      auto next = std::next(task);
      task->Cancel(type);
      task = next;
    }
  }

  Executor executor;
  std::list<Task> tasks;
  Notifier ended;
  int stops = 0;  // running Stop() calls
  uint64_t last_id = 0;
};

TaskGroup::TaskGroup(Executor executor) : state_(std::make_shared<State>()) {
  state_->executor = std::move(executor);
}

TaskGroup::~TaskGroup() = default;

void TaskGroup::Spawn(std::string name, asio::awaitable<void> task) {
  auto position = state_->tasks.emplace(state_->tasks.end());
  position->name = std::move(name);
  uint64_t id = ++state_->last_id;
  position->id = id;
  auto finished = [state = state_, position](std::exception_ptr failure) {
    if (failure) {
      try {
        std::rethrow_exception(failure);
      } catch (const boost::system::system_error& e) {
        LOG_IF(FATAL, e.code() != asio::error::operation_aborted)
            << "task " << position->name << ": " << e.what();
      } catch (const std::exception& e) {
        LOG(FATAL) << "task " << position->name << ": " << e.what();
      }
    }
    state->tasks.erase(position);
    state->ended.NotifyAll();
  };
  asio::co_spawn(state_->executor, std::move(task),
                 asio::bind_cancellation_slot(position->cancel.slot(), std::move(finished)));
  if (state_->stops == 0) return;
  // The task may have ended already.
  auto is_it = [id](const State::Task& candidate) { return candidate.id == id; };
  auto spawned = std::find_if(state_->tasks.begin(), state_->tasks.end(), is_it);
  if (spawned != state_->tasks.end()) spawned->Cancel(kRequestStop);
}

Async<> TaskGroup::Stop(Clock& clock, Duration grace) {
  // Callers are often cancelled themselves.
  co_await ForgetCancellation();
  co_await IgnoreCancellation();
  std::shared_ptr<State> state = state_;
  // Decrements when this coroutine ends or is destroyed.
  struct Stopping {
    explicit Stopping(State& state) : state(state) { ++state.stops; }
    ~Stopping() { --state.stops; }
    State& state;
  } stopping(*state);
  state->CancelAll(kRequestStop);

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
  state->CancelAll(kCancel);
  co_return Error::DeadlineExceeded("tasks still running:" + names);
}

size_t TaskGroup::size() const { return state_->tasks.size(); }

size_t TaskGroup::Running() { return running_tasks.load(std::memory_order_relaxed); }

}  // namespace kube
