// SPDX-License-Identifier: Apache-2.0
#include "kube/base/async.h"

#include <boost/asio/post.hpp>

namespace kube {

Async<> FailIfCancelled() {
  bool cancelled = co_await IsCancelled();
  if (!cancelled) co_return Ok();
  auto executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);
  co_return Error::Cancelled("wait");
}

}  // namespace kube
