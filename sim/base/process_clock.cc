// SPDX-License-Identifier: Apache-2.0
#include "sim/base/process_clock.h"

#include <cmath>
#include <utility>

namespace sim {

kube::WallTime WallBegin() { return std::chrono::sys_days(std::chrono::year(2026) / 1 / 1); }

kube::WallTime WallTimeAt(kube::TimePoint when) {
  return WallBegin() + std::chrono::duration_cast<kube::WallTime::duration>(when - Loop::kBegin);
}

ProcessClock::ProcessClock(Loop& loop, Loop::Lane& lane)
    : loop_(loop), lane_(lane), loop_base_(loop.now()), own_base_(loop.now()) {}

ProcessClock::~ProcessClock() { Stop(); }

void ProcessClock::Stop() {
  stopped_ = true;
  Arm(kube::TimePoint::max());
}

void ProcessClock::SetRate(double rate) {
  own_base_ = Now();
  loop_base_ = loop_.now();
  rate_ = rate;
  Arm(sleepers_.next());
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

  if (when < sleepers_.next()) Arm(when);
  kube::Result<> slept = co_await sleepers_.Wait(when);
  co_return slept;
}

void ProcessClock::Arm(kube::TimePoint due) {
  if (event_) loop_.Cancel(*event_);
  event_.reset();
  if (stopped_ || due == kube::TimePoint::max()) return;
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
  sleepers_.Wake(Now());
  lane_.Wake();
  Arm(sleepers_.next());
}

}  // namespace sim
