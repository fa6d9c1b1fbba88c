// SPDX-License-Identifier: Apache-2.0
#include "kube/base/slots.h"

#include <boost/asio/steady_timer.hpp>

namespace kube {

struct Slots::Waiter {
  asio::steady_timer timer;
  Lease lease;
};

Slots::Lease Slots::NewLease() {
  return Lease(this, [self = shared_from_this()](void*) { self->Release(); });
}

void Slots::Release() {
  // Hand the slot to the first waiter directly: a new caller cannot take it first.
  if (waiting_.empty()) {
    --busy_;
    return;
  }
  Waiter* next = waiting_.front();
  waiting_.pop_front();
  next->lease = NewLease();
  next->timer.cancel();
}

Async<Slots::Lease> Slots::Acquire(TimePoint deadline) {
  co_await IgnoreCancellation();
  asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  if (state.cancelled() != asio::cancellation_type::none)
    co_return Error::Cancelled("wait for " + what_);
  if (busy_ < count_) {
    ++busy_;
    co_return NewLease();
  }
  std::shared_ptr<Slots> self = shared_from_this();
  Waiter waiter{asio::steady_timer(executor_), nullptr};
  waiter.timer.expires_after(deadline - clock_.Now());

  // Leaves the queue when this coroutine ends or is destroyed.
  struct Registration {
    std::list<Waiter*>& queue;
    Waiter* waiter;
    ~Registration() { queue.remove(waiter); }
  } registration{waiting_, &waiter};
  waiting_.push_back(&waiter);

  auto waited = co_await waiter.timer.async_wait(kTuple);
  if (waiter.lease != nullptr) co_return std::move(waiter.lease);
  if (std::get<0>(waited)) co_return Error::Cancelled("wait for " + what_);
  co_return Error::DeadlineExceeded("wait for " + what_);
}

}  // namespace kube
