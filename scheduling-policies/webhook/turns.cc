// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/turns.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace policy {

using kube::Result;

Turns::Turns(size_t max_waiting) : max_waiting_(max_waiting) {
  share_.OnTurn([this](const kube::ObjectKey& request) {
    auto waits = waiters_.find(request);
    if (waits == waiters_.end()) return;
    waits->second->woken = true;
    waits->second->changed.NotifyOne();
  });
}

kube::Async<Turns::Turn> Turns::Wait(std::string ns) {
  co_await kube::IgnoreCancellation();
  size_t& of_namespace = counts_[ns];
  if (count_ + of_namespace >= max_waiting_) {
    std::string message = std::to_string(of_namespace) + " requests of namespace " + ns +
                          " wait already, of " + std::to_string(max_waiting_) + " in all";
    if (of_namespace == 0) counts_.erase(ns);
    co_return kube::Error::Throttled(std::move(message));
  }
  ++count_;
  ++of_namespace;
  kube::ObjectKey request{std::move(ns), std::to_string(++last_)};
  Turn turn(*this, request);

  if (share_.Enter(request)) {
    auto executor = co_await kube::asio::this_coro::executor;
    co_await kube::asio::post(executor, kube::asio::use_awaitable);
    co_return std::move(turn);
  }
  Waiter waiter;
  waiters_[request] = &waiter;
  Result<> waited = kube::Ok();
  while (waited && !waiter.woken) waited = co_await waiter.changed.Wait();
  waiters_.erase(request);
  if (!waited) co_return waited.error();
  co_return std::move(turn);
}

void Turns::End(const kube::ObjectKey& request) {
  --count_;
  auto of_namespace = counts_.find(request.ns);
  if (--of_namespace->second == 0) counts_.erase(of_namespace);
  share_.Leave(request);
}

}  // namespace policy
