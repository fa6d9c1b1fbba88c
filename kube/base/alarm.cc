// SPDX-License-Identifier: Apache-2.0
#include "kube/base/alarm.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>

namespace kube {

// One pending call. It lives until its sleep has ended, maybe longer than the alarm.
struct Alarm::State {
  Executor executor;
  TimePoint when;
  asio::cancellation_signal cancel;
  bool wanted = true;
};

Alarm::Alarm(Clock& clock, std::function<void()> ring) : clock_(clock), ring_(std::move(ring)) {}

Alarm::~Alarm() { Cancel(); }

void Alarm::Set(Executor executor, TimePoint when) {
  Cancel();
  state_ = std::make_shared<State>();
  state_->executor = executor;
  state_->when = when;
  auto ended = [this, state = state_](std::exception_ptr, Result<> slept) {
    if (!state->wanted) return;  // the alarm may be destroyed
    state_.reset();
    if (slept) ring_();
  };
  asio::co_spawn(std::move(executor), clock_.SleepUntil(when),
                 asio::bind_cancellation_slot(state_->cancel.slot(), std::move(ended)));
}

void Alarm::Cancel() {
  if (!state_) return;
  std::shared_ptr<State> state = std::move(state_);
  state_.reset();
  state->wanted = false;
  // Outside of the executor, co_spawn's handler would post the cancellation. It would then run
  // after the signal's destruction; this handler keeps the signal alive.
  Executor executor = state->executor;
  asio::dispatch(executor, [state] { state->cancel.emit(asio::cancellation_type::terminal); });
}

std::optional<TimePoint> Alarm::set_to() const {
  if (!state_) return std::nullopt;
  return state_->when;
}

}  // namespace kube
