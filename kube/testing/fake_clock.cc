// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_clock.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>

namespace kube {

struct FakeClock::Sleepers {
  struct Sleeper {
    asio::steady_timer timer;
    bool due = false;
  };
  std::multimap<TimePoint, Sleeper*> waiting;
};

FakeClock::FakeClock()
    : now_(std::chrono::hours(1'000)),
      wall_(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)),
      sleepers_(std::make_shared<Sleepers>()) {}

void FakeClock::Advance(Duration step) {
  now_ += step;
  wall_ += std::chrono::duration_cast<WallTime::duration>(step);
  auto& waiting = sleepers_->waiting;
  while (!waiting.empty() && waiting.begin()->first <= now_) {
    Sleepers::Sleeper* sleeper = waiting.begin()->second;
    waiting.erase(waiting.begin());
    sleeper->due = true;
    sleeper->timer.cancel();
  }
}

size_t FakeClock::sleepers() const { return sleepers_->waiting.size(); }

TimePoint FakeClock::next() const {
  return sleepers_->waiting.empty() ? TimePoint::max() : sleepers_->waiting.begin()->first;
}

Async<> FakeClock::SleepUntil(TimePoint when) {
  co_await IgnoreCancellation();
  if (when <= now_) co_return Ok();

  auto executor = co_await asio::this_coro::executor;
  bool cancelled = co_await IsCancelled();
  if (cancelled) {
    // Yields: a caller that ignores the cancellation must not starve other tasks.
    co_await asio::post(executor, asio::use_awaitable);
    co_return Error::Cancelled("sleep");
  }
  Sleepers::Sleeper sleeper{asio::steady_timer(executor, asio::steady_timer::time_point::max())};
  struct Registration {
    std::shared_ptr<Sleepers> sleepers;
    Sleepers::Sleeper* sleeper;
    ~Registration() {
      std::erase_if(sleepers->waiting,
                    [this](const auto& entry) { return entry.second == sleeper; });
    }
  } registration{sleepers_, &sleeper};
  registration.sleepers->waiting.emplace(when, &sleeper);

  auto waited = co_await sleeper.timer.async_wait(kTuple);
  (void)waited;
  if (!sleeper.due) co_return Error::Cancelled("sleep");
  co_return Ok();
}

}  // namespace kube
