// SPDX-License-Identifier: Apache-2.0
#include "kube/base/notifier.h"

namespace kube {

Notifier::Notifier() : waiters_(std::make_shared<Waiters>()) {}

Async<> Notifier::Wait() {
  co_await IgnoreCancellation();

  Result<> running = co_await FailIfCancelled();
  if (!running) co_return running;
  auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, asio::steady_timer::time_point::max());
  Waiter waiter{&timer};

  // Leaves the list when this coroutine ends or is destroyed.
  struct Registration {
    std::shared_ptr<Waiters> waiters;
    Waiter* waiter;
    ~Registration() { waiters->remove(waiter); }
  } registration{waiters_, &waiter};
  registration.waiters->push_back(&waiter);

  auto waited = co_await timer.async_wait(kTuple);
  (void)waited;
  if (!waiter.notified) co_return Error::Cancelled("wait");
  co_return Ok();
}

void Notifier::NotifyOne() {
  if (waiters_->empty()) return;
  Waiter* waiter = waiters_->front();
  waiters_->pop_front();
  waiter->notified = true;
  waiter->timer->cancel();
}

void Notifier::NotifyAll() {
  while (!waiters_->empty()) NotifyOne();
}

}  // namespace kube
