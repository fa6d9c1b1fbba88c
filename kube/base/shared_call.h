// SPDX-License-Identifier: Apache-2.0
// SharedCall: one call for all who ask at about the same time, where an answer must not be older
// than its question.
//
//   SharedCall<Lease> lease([&] { return Get<Lease>(client, key); });
//   Result<Lease> newest = co_await lease.Call();      // from a call that started after this line
//   was reached
//
// Who asks while a call is under way shares the next one, which starts when that has ended. So a
// burst of questions costs two calls at most, and a steady stream one call after the other. Thread:
// one executor, that of all who call. T is copied for each of them: make it a shared_ptr if it is
// large.
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
  // `call` is never under way twice at once.
  explicit SharedCall(std::function<Async<T>()> call)
      : state_(std::make_shared<State>(std::move(call))) {}

  // Errors: those of the call, for all who share it; kCancelled where the caller, or who made the
  // call, was asked to stop.
  Async<T> Call() { return Join(state_); }

  bool idle() const { return state_->next == nullptr && state_->current == nullptr; }

 private:
  struct Round {
    std::optional<Result<T>> result;
    Notifier done;
  };
  // Shared with the coroutines, which may be destroyed later.
  struct State {
    explicit State(std::function<Async<T>()> function) : call(std::move(function)) {}
    std::function<Async<T>()> call;
    std::shared_ptr<Round> next;     // not started: who asks now joins it
    std::shared_ptr<Round> current;  // under way
  };

  static Async<T> Join(std::shared_ptr<State> state) {
    co_await IgnoreCancellation();
    if (state->next != nullptr) {
      std::shared_ptr<Round> joined = state->next;
      Result<T> shared = co_await Follow(std::move(joined));
      co_return shared;
    }
    // The first to ask makes the call, for itself and for all who join.
    auto round = std::make_shared<Round>();
    state->next = round;
    while (state->current != nullptr) {
      std::shared_ptr<Round> current = state->current;
      Result<T> ended = co_await Follow(std::move(current));
      // Asked to stop: the call that follows will say so too, to all who wait.
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
