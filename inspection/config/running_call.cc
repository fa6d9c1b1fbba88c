// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/running_call.h"

#include <utility>

#include "kube/base/alarm.h"

namespace inspection {

void RunningCall::End() {
  ended_ = true;
  done_.NotifyAll();
}

kube::Async<> RunningCall::Wait(std::shared_ptr<RunningCall> call, kube::Clock& clock,
                                kube::TimePoint deadline, std::string about) {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  kube::Alarm alarm(clock, [call] { call->done_.NotifyAll(); });
  alarm.Set(executor, deadline);
  while (!call->ended_) {
    if (clock.Now() >= deadline) co_return kube::Error::DeadlineExceeded(std::move(about));
    kube::Result<void> waited = co_await call->done_.Wait();
    if (!waited) co_return waited.error();
  }
  co_return kube::Ok();
}

}  // namespace inspection
