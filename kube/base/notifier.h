// SPDX-License-Identifier: Apache-2.0
// Notifier: coroutines wait until another one says that something changed. It carries no state of
// its own: look first, then wait, and look again.
//
//   while (items_.empty()) {
//     Result<> waited = co_await added_.Wait();
//     if (!waited) co_return waited.error();          // kCancelled
//   }
//
// Thread: one executor, as all that waits. No notification is lost: who was woken by NotifyOne()
// but no longer wants to go on, passes it to the next by calling NotifyOne() again.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <list>
#include <memory>

#include "kube/base/async.h"

namespace kube {

class Notifier {
 public:
  Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // Resumes (by a post) after the next notification. kCancelled if the caller was asked to stop
  // before.
  Async<> Wait();

  void NotifyOne();
  void NotifyAll();

 private:
  struct Waiter {
    asio::steady_timer* timer;
    bool notified = false;
  };
  // Shared with the waiting coroutines, which may be destroyed after their notifier.
  using Waiters = std::list<Waiter*>;
  std::shared_ptr<Waiters> waiters_;
};

}  // namespace kube
