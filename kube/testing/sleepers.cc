// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/sleepers.h"

#include <boost/asio/steady_timer.hpp>

namespace kube {

struct Sleepers::Sleeper {
  asio::steady_timer timer;  // cancelled to wake it
  bool due = false;
};

Sleepers::Sleepers() : waiting_(std::make_shared<Waiting>()) {}

Async<> Sleepers::Wait(TimePoint when) {
  co_await IgnoreCancellation();
  Result<> running = co_await FailIfCancelled();
  if (!running) co_return running;
  auto executor = co_await asio::this_coro::executor;
  Sleeper sleeper{asio::steady_timer(executor, asio::steady_timer::time_point::max())};
  struct Registration {
    std::shared_ptr<Waiting> waiting;
    Sleeper* sleeper;
    ~Registration() {
      std::erase_if(*waiting, [this](const auto& entry) { return entry.second == sleeper; });
    }
  } registration{waiting_, &sleeper};
  waiting_->emplace(when, &sleeper);

  auto waited = co_await sleeper.timer.async_wait(kTuple);
  (void)waited;
  if (!sleeper.due) co_return Error::Cancelled("sleep");
  co_return Ok();
}

void Sleepers::Wake(TimePoint now) {
  while (!waiting_->empty() && next() <= now) {
    Sleeper* sleeper = waiting_->begin()->second;
    waiting_->erase(waiting_->begin());
    sleeper->due = true;
    sleeper->timer.cancel();
  }
}

}  // namespace kube
