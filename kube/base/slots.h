// SPDX-License-Identifier: Apache-2.0
// Slots: a counting semaphore with a FIFO queue, for limited resources such as connections.
//
//   auto slots = std::make_shared<Slots>(executor, clock, 8, "a connection");
//   Result<Slots::Lease> lease = co_await slots->Acquire(deadline);
//   if (!lease) co_return lease.error();  // "wait for a connection"
//   ...                                   // until the last copy of the lease is destroyed
//
// A waiter that reaches its deadline or is cancelled leaves the queue. Thread: the executor's.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <utility>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

class Slots : public std::enable_shared_from_this<Slots> {
 public:
  // Holds one slot until its last copy is destroyed. Keeps the Slots object alive.
  using Lease = std::shared_ptr<void>;

  // `clock` outlives all leases. `what` names one resource in errors.
  Slots(Executor executor, Clock& clock, size_t count, std::string what)
      : executor_(std::move(executor)), clock_(clock), count_(count), what_(std::move(what)) {}
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // Errors: kDeadlineExceeded, kCancelled.
  Async<Lease> Acquire(TimePoint deadline);

  // The number of held slots and of waiting callers.
  size_t busy() const { return busy_; }
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiter;

  Lease NewLease();
  void Release();

  Executor executor_;
  Clock& clock_;
  size_t count_;
  std::string what_;
  size_t busy_ = 0;
  std::list<Waiter*> waiting_;  // in order of arrival
};

}  // namespace kube
