// SPDX-License-Identifier: Apache-2.0
// Sleepers: the coroutines that sleep by a clock of a test.
//
//   Async<> SleepUntil(TimePoint when) { ... co_await sleepers_.Wait(when); }
//   ...
//   sleepers_.Wake(now);                  // those that are due, in order of time
//
// Sleeping coroutines may be destroyed after it. Thread: one.
#pragma once

#include <map>
#include <memory>

#include "kube/base/clock.h"

namespace kube {

class Sleepers {
 public:
  Sleepers();

  // Resumes, by a post, after a Wake() for `when` or later. Errors: kCancelled if the caller is
  // cancelled first.
  Async<> Wait(TimePoint when);
  void Wake(TimePoint now);

  size_t size() const { return waiting_->size(); }
  // When the first of them is due; TimePoint::max() if there is none.
  TimePoint next() const { return waiting_->empty() ? TimePoint::max() : waiting_->begin()->first; }

 private:
  struct Sleeper;
  // Shared with the sleeping coroutines.
  using Waiting = std::multimap<TimePoint, Sleeper*>;
  std::shared_ptr<Waiting> waiting_;
};

}  // namespace kube
