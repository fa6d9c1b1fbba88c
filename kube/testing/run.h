// SPDX-License-Identifier: Apache-2.0
// Runs the event loop in a test.
//
//   Result<core::Pod> pod = Run(io, Get<core::Pod>(api, {"ns", "web"}));
//   (in a TEST_F: kube::Run, as testing::Test has a Run of its own)
//   Drain(io);                             // until every task waits for time or network
//   ASSERT_TRUE(RunUntil(io, [&] { return informer.synced(); }));
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <optional>

#include "kube/base/async.h"

namespace kube {

// Real time after which a test is considered stuck.
inline constexpr std::chrono::seconds kStuckAfter{20};

// Runs all ready handlers until none is left.
void Drain(asio::io_context& io);

// Runs until `done`; false after kStuckAfter.
[[nodiscard]] bool RunUntil(asio::io_context& io, const std::function<bool()>& done);

// Runs `task`, and other ready handlers, until it ends. kDeadlineExceeded after kStuckAfter.
// Rethrows an exception of `task`, which fails the test.
template <class T>
Result<T> Run(asio::io_context& io, Async<T> task) {
  struct State {
    std::exception_ptr failure;
    std::optional<Result<T>> result;
  };
  // Shared: a stuck task may end after this call has returned.
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
