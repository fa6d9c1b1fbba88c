// SPDX-License-Identifier: Apache-2.0
// Reply: what a coroutine waits for, and what arrives from outside of its lane.
//
//   auto reply = std::make_shared<Reply<int>>(executor, [&lane] { lane.Wake(); });
//   loop.At(loop.now() + 5ms, [reply] { reply->Set(7); });
//   Result<int> seven = co_await reply->Wait();
//
// Thread: the Loop's.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <utility>

#include "kube/base/async.h"

namespace sim {

template <class T>
class Reply {
 public:
  // `executor`: of the lane that waits; `wake` wakes that lane.
  Reply(kube::Executor executor, std::function<void()> wake)
      : timer_(std::move(executor), boost::asio::steady_timer::time_point::max()),
        wake_(std::move(wake)) {}

  // The first one counts.
  void Set(kube::Result<T> value) {
    if (value_) return;
    value_ = std::move(value);
    timer_.cancel();
    wake_();
  }
  // Once. Errors: kCancelled, and what was set.
  kube::Async<T> Wait() {
    co_await kube::IgnoreCancellation();
    if (!value_) {
      auto waited = co_await timer_.async_wait(kube::kTuple);
      (void)waited;
    }
    if (!value_) co_return kube::Error::Cancelled("reply");
    co_return std::move(*value_);
  }

 private:
  boost::asio::steady_timer timer_;  // cancelled to wake the coroutine
  std::function<void()> wake_;
  std::optional<kube::Result<T>> value_;
};

}  // namespace sim
