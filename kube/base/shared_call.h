// SPDX-License-Identifier: Apache-2.0
// SharedCall: coalesces concurrent calls whose result must not be older than the request for it.
//
//   SharedCall<Lease> lease([&] { return Get<Lease>(client, key); });
//   Result<Lease> newest = co_await lease.Call();  // of a call that starts after this line
//
// A Call() during an in-flight call shares the next call, which starts when the current one has
// ended. A burst therefore costs at most two calls, a steady stream one call after the other.
// Thread: one executor for all callers. T is copied for each caller: use a shared_ptr for large
// results.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/notifier.h"

namespace kube {

template <class T>
class SharedCall {
 public:
  // `call` is never in flight twice.
  explicit SharedCall(std::function<Async<T>()> call)
      : state_(std::make_shared<State>(std::move(call))) {}

  // Errors: those of the call, for all callers that share it. kCancelled if this caller or the
  // caller that runs the shared call is cancelled.
  Async<T> Call() { return Join(state_); }

  bool idle() const { return state_->next == nullptr && state_->current == nullptr; }

 private:
  struct Round {
    std::optional<Result<T>> result;
    Notifier done;
  };
  // Shared with the coroutines, which may outlive this object.
  struct State {
    explicit State(std::function<Async<T>()> function) : call(std::move(function)) {}
    std::function<Async<T>()> call;
    std::shared_ptr<Round> next;     // not started: callers join it
    std::shared_ptr<Round> current;  // in flight
  };

  static Async<T> Join(std::shared_ptr<State> state) {
    co_await IgnoreCancellation();
    if (state->next != nullptr) {
      std::shared_ptr<Round> joined = state->next;
      Result<T> shared = co_await Follow(std::move(joined));
      co_return shared;
    }
    // The first caller makes the call for all callers that join.
    auto round = std::make_shared<Round>();
    state->next = round;
    while (state->current != nullptr) {
      std::shared_ptr<Round> current = state->current;
      Result<T> ended = co_await Follow(std::move(current));
      // Cancelled: the call below fails with kCancelled too, for all callers that joined.
      if (!ended && ended.error().code() == Code::kCancelled) break;
    }
    state->next = nullptr;
    state->current = round;
    Result<T> result = co_await state->call();
    round->result = result;
    if (state->current == round) state->current = nullptr;
    round->done.NotifyAll();
    co_return result;
  }

  static Async<T> Follow(std::shared_ptr<Round> round) {
    while (!round->result) {
      Result<> waited = co_await round->done.Wait();
      if (!waited) co_return waited.error();
    }
    co_return *round->result;
  }

  std::shared_ptr<State> state_;
};

}  // namespace kube
