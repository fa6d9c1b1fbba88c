// SPDX-License-Identifier: Apache-2.0
#include "sim/base/process_clock.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cmath>
#include <utility>

namespace sim {
namespace asio = boost::asio;

struct ProcessClock::Sleepers {
  struct Sleeper {
    asio::steady_timer timer;  // cancelled to wake it
    bool due = false;
  };
  std::multimap<kube::TimePoint, Sleeper*> waiting;
};

kube::WallTime WallBegin() { return std::chrono::sys_days(std::chrono::year(2026) / 1 / 1); }

kube::WallTime WallTimeAt(kube::TimePoint when) {
  return WallBegin() + std::chrono::duration_cast<kube::WallTime::duration>(when - Loop::kBegin);
}

ProcessClock::ProcessClock(Loop& loop, Loop::Lane& lane)
    : loop_(loop),
      lane_(lane),
      loop_base_(loop.now()),
      own_base_(loop.now()),
      sleepers_(std::make_shared<Sleepers>()) {}

ProcessClock::~ProcessClock() { Stop(); }

void ProcessClock::Stop() {
  stopped_ = true;
  Arm();
}

void ProcessClock::SetRate(double rate) {
  own_base_ = Now();
  loop_base_ = loop_.now();
  rate_ = rate;
  Arm();
}

kube::TimePoint ProcessClock::Now() const {
  kube::Duration passed = loop_.now() - loop_base_;
  if (rate_ == 1) return own_base_ + passed;
  return own_base_ + kube::Duration(std::llround(static_cast<double>(passed.count()) * rate_));
}

kube::WallTime ProcessClock::WallNow() const {
  return WallBegin() +
         std::chrono::duration_cast<kube::WallTime::duration>(Now() - Loop::kBegin + wall_offset_);
}

kube::Async<> ProcessClock::SleepUntil(kube::TimePoint when) {
  co_await kube::IgnoreCancellation();
  if (when <= Now()) co_return kube::Ok();

  auto executor = co_await asio::this_coro::executor;
  bool cancelled = co_await kube::IsCancelled();
  if (cancelled) {
    // Yields: a caller that ignores the cancellation must not starve other tasks.
    co_await asio::post(executor, asio::use_awaitable);
    co_return kube::Error::Cancelled("sleep");
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
  sleepers_->waiting.emplace(when, &sleeper);
  if (sleepers_->waiting.begin()->second == &sleeper) Arm();

  auto waited = co_await sleeper.timer.async_wait(kube::kTuple);
  (void)waited;
  if (!sleeper.due) co_return kube::Error::Cancelled("sleep");
  co_return kube::Ok();
}

void ProcessClock::Arm() {
  if (event_) loop_.Cancel(*event_);
  event_.reset();
  if (stopped_ || sleepers_->waiting.empty()) return;
  const kube::TimePoint due = sleepers_->waiting.begin()->first;
  kube::Duration passes = due - own_base_;
  if (rate_ != 1)
    passes = kube::Duration(std::llround(static_cast<double>(passes.count()) / rate_));
  kube::TimePoint when = loop_base_ + passes;
  // Rounded down.
  if (when <= loop_.now() && due > Now()) when = loop_.now() + kube::Duration(1);
  event_ = loop_.At(when, [this] { WakeSleepers(); });
}

void ProcessClock::WakeSleepers() {
  event_.reset();
  auto& waiting = sleepers_->waiting;
  while (!waiting.empty() && waiting.begin()->first <= Now()) {
    Sleepers::Sleeper* sleeper = waiting.begin()->second;
    waiting.erase(waiting.begin());
    sleeper->due = true;
    sleeper->timer.cancel();
  }
  lane_.Wake();
  Arm();
}

}  // namespace sim
