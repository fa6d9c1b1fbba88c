// SPDX-License-Identifier: Apache-2.0
#include "kube/base/slots.h"

#include <boost/asio/steady_timer.hpp>

#include "kube/base/alarm.h"

namespace kube {

struct Slots::Waiter {
  asio::steady_timer timer;  // cancelled to wake it
  Lease lease;
  bool too_late = false;
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
  Waiter waiter{asio::steady_timer(executor_, asio::steady_timer::time_point::max()), nullptr};
  Alarm alarm(clock_, [&] {
    waiter.too_late = true;
    waiter.timer.cancel();
  });
  alarm.Set(executor_, deadline);

  // Leaves the queue when this coroutine ends or is destroyed.
  struct Registration {
    std::list<Waiter*>& queue;
    Waiter* waiter;
    ~Registration() { queue.remove(waiter); }
  } registration{waiting_, &waiter};
  waiting_.push_back(&waiter);

  auto waited = co_await waiter.timer.async_wait(kTuple);
  (void)waited;
  if (waiter.lease != nullptr) co_return std::move(waiter.lease);
  if (waiter.too_late) co_return Error::DeadlineExceeded("wait for " + what_);
  co_return Error::Cancelled("wait for " + what_);
}

}  // namespace kube
