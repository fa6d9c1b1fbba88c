// SPDX-License-Identifier: Apache-2.0
// Turns the event loop for a test.
//
//   Result<core::Pod> pod = Run(io, Get<core::Pod>(api, {"ns", "web"}));
//   (in a TEST_F: kube::Run, as testing::Test has a Run of its own)
//   Drain(io);                                         // until nothing can go on without time or
//   network ASSERT_TRUE(RunUntil(io, [&] { return informer.synced(); }));
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <optional>

#include "kube/base/async.h"

namespace kube {

// Real time after which a test is stuck.
inline constexpr std::chrono::seconds kStuckAfter{20};

// Runs whatever is ready, until nothing is.
void Drain(asio::io_context& io);

// Runs until `done`; false if it is not within kStuckAfter.
[[nodiscard]] bool RunUntil(asio::io_context& io, const std::function<bool()>& done);

// Runs until `task` has ended, and what else is ready meanwhile. kDeadlineExceeded after
// kStuckAfter: `task` waits for something that nobody does. An exception of `task` is thrown on, so
// the test fails by it.
template <class T>
Result<T> Run(asio::io_context& io, Async<T> task) {
  struct State {
    std::exception_ptr failure;
    std::optional<Result<T>> result;
  };
  // Shared: a task that is stuck may end after this call did.
  auto state = std::make_shared<State>();
  asio::co_spawn(io, std::move(task), [state](std::exception_ptr failure, Result<T> result) {
    state->failure = failure;
    state->result.emplace(std::move(result));
  });
  if (!RunUntil(io, [&] { return state->result.has_value(); }))
    return Error::DeadlineExceeded("the task did not end");
  if (state->failure) std::rethrow_exception(state->failure);
  return std::move(*state->result);
}

}  // namespace kube
