// SPDX-License-Identifier: Apache-2.0
// Notifier: a condition variable for coroutines. It has no state: check the condition before and
// after each wait.
//
//   while (items_.empty()) {
//     Result<> waited = co_await added_.Wait();
//     if (!waited) co_return waited.error();          // kCancelled
//   }
//
// Thread: one executor for the notifier and its waiters. A waiter woken by NotifyOne() that cannot
// proceed calls NotifyOne() again, or the notification is lost.
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

  // Resumes, by a post, after the next notification. Errors: kCancelled if the caller is cancelled
  // first.
  Async<> Wait();

  void NotifyOne();
  void NotifyAll();

 private:
  struct Waiter {
    asio::steady_timer* timer;
    bool notified = false;
  };
  // Shared with the waiting coroutines, which may outlive the notifier.
  using Waiters = std::list<Waiter*>;
  std::shared_ptr<Waiters> waiters_;
};

}  // namespace kube
