// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/namespace_turns.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "kube/base/alarm.h"

namespace inspection {

using kube::Async;
using kube::Error;

struct NamespaceTurns::Waiter {
  kube::asio::steady_timer timer;
  Turn turn;
  bool late = false;
};

NamespaceTurns::Turn NamespaceTurns::NewTurn(const std::string& ns) {
  ++running_;
  ++namespaces_[ns].running;
  return Turn(this, [self = shared_from_this(), ns](void*) { self->End(ns); });
}

void NamespaceTurns::End(const std::string& ns) {
  --running_;
  auto found = namespaces_.find(ns);
  --found->second.running;
  if (found->second.running == 0 && found->second.waiting.empty()) namespaces_.erase(found);
  StartNext();
}

void NamespaceTurns::StartNext() {
  while (true) {
    auto next = std::find_if(order_.begin(), order_.end(),
                             [this](const std::string& ns) { return MayRun(namespaces_.at(ns)); });
    if (next == order_.end()) return;
    std::string ns = *next;
    order_.erase(next);
    std::list<Waiter*>& waiting = namespaces_.at(ns).waiting;
    Waiter* waiter = waiting.front();
    waiting.pop_front();
    if (!waiting.empty()) order_.push_back(ns);
    waiter->turn = NewTurn(ns);
    waiter->timer.cancel();
  }
}

// Does nothing after StartNext() has given the waiter its turn.
void NamespaceTurns::Leave(const std::string& ns, Waiter* waiter) {
  auto found = namespaces_.find(ns);
  if (found == namespaces_.end() || found->second.waiting.remove(waiter) == 0) return;
  if (!found->second.waiting.empty()) return;
  order_.remove(ns);
  if (found->second.running == 0) namespaces_.erase(found);
}

Async<NamespaceTurns::Turn> NamespaceTurns::Take(std::string ns, kube::TimePoint deadline) {
  co_await kube::IgnoreCancellation();
  auto executor = co_await kube::asio::this_coro::executor;
  bool cancelled = co_await kube::IsCancelled();
  if (cancelled) co_return Error::Cancelled(limits_.about);
  auto own = namespaces_.find(ns);
  if (own == namespaces_.end() ? running_ < limits_.at_once : MayRun(own->second)) {
    // No other namespace waits for what this one may have.
    co_return NewTurn(ns);
  }
  std::shared_ptr<NamespaceTurns> self = shared_from_this();
  Waiter waiter{kube::asio::steady_timer(executor, kube::asio::steady_timer::time_point::max()),
                nullptr};
  // Leaves the queue when this coroutine ends or is destroyed.
  struct Registration {
    NamespaceTurns& turns;
    const std::string& ns;
    Waiter* waiter;
    ~Registration() { turns.Leave(ns, waiter); }
  } registration{*self, ns, &waiter};
  Namespace& queue = namespaces_[ns];
  if (queue.waiting.empty()) order_.push_back(ns);
  queue.waiting.push_back(&waiter);
  kube::Alarm alarm(clock_, [&waiter] {
    waiter.late = true;
    waiter.timer.cancel();
  });
  alarm.Set(executor, deadline);

  auto waited = co_await waiter.timer.async_wait(kube::kTuple);
  (void)waited;
  if (waiter.turn != nullptr) co_return std::move(waiter.turn);
  if (waiter.late) co_return Error::DeadlineExceeded(limits_.about);
  co_return Error::Cancelled(limits_.about);
}

}  // namespace inspection
