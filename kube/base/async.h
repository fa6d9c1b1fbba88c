// SPDX-License-Identifier: Apache-2.0
// Async: the return type of every coroutine, and the completion token that replaces exceptions by
// error codes.
//
//   Async<Pod> Read(Key key) {
//     co_await IgnoreCancellation();  // a cancelled operation returns an error code
//     auto read = co_await http::async_read(stream, buffer, parser, kTuple);
//     auto& [ec, size] = read;
//     if (ec) co_return Error::Unavailable(ec.message());
//   }
//
// One co_await per statement, on named locals: GCC 12 miscompiles temporaries that live across one.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "kube/base/error.h"

namespace kube {

namespace asio = boost::asio;

using Executor = asio::any_io_executor;

template <class T = void>
using Async = asio::awaitable<Result<T>>;

inline constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

// Inside this coroutine a cancelled operation completes with operation_aborted instead of throwing
// at the next co_await.
inline auto IgnoreCancellation() { return asio::this_coro::throw_if_cancelled(false); }

// True once this coroutine's task was asked to stop, until ForgetCancellation(). A stop request
// between two operations interrupts neither of them, therefore a loop checks at its start. Clock
// and Notifier check before they wait.
inline asio::awaitable<bool> IsCancelled() {
  asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

// kCancelled if this coroutine's task was asked to stop. Other coroutines run before it returns
// that: a caller that ignores the cancellation does not starve them.
Async<> FailIfCancelled();

// Clears the stop request, for cleanup after a kCancelled. The next stop request cancels again.
inline auto ForgetCancellation() {
  return asio::this_coro::reset_cancellation_state(asio::enable_terminal_cancellation());
}

}  // namespace kube
