// SPDX-License-Identifier: Apache-2.0
// Slots: a number of things that may be in use at a time (connections, large bodies), and the line
// of those who wait.
//
//   auto slots = std::make_shared<Slots>(executor, clock, 8, "a connection");
//   Result<Slots::Lease> lease = co_await slots->Acquire(deadline);
//   if (!lease) co_return lease.error();               // "wait for a connection"
//   ...                                                // until the lease and its copies are gone
//
// First come, first served. Who ends while waiting, by its deadline or because it is asked to stop,
// leaves the line. Thread: the executor's.
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
  // The right to one slot, which is free again when the last copy goes; it keeps the slots alive.
  using Lease = std::shared_ptr<void>;

  // `clock` outlives all leases; `what` is one of the things, for errors.
  Slots(Executor executor, Clock& clock, size_t count, std::string what)
      : executor_(std::move(executor)), clock_(clock), count_(count), what_(std::move(what)) {}
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  // Errors: kDeadlineExceeded, kCancelled.
  Async<Lease> Acquire(TimePoint deadline);

  // Leases that are out, and those who wait for one.
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
  std::list<Waiter*> waiting_;  // longest first
};

}  // namespace kube
