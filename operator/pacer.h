// SPDX-License-Identifier: Apache-2.0
// Pacer: delays the reconciles that events cause, so a client that changes objects in a loop gets
// no larger share of the operator than others. The events of a burst cause one reconcile; beyond
// `burst` reconciles, each key gets one in `period`. The same for writes, with a Pacer of their
// own.
//
//   shards.EnqueueAfter(key, pacer.Delay(ns));
//
//   kube::Duration wait = writes.Take(name);
//   if (wait > kube::Duration::zero()) co_return Outcome::After(...);
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

#include "kube/base/clock.h"

namespace operator_ {

struct PacerOptions {
  // How long to wait for further events of a burst.
  std::chrono::milliseconds settle{200};
  // Reconciles that are not delayed further, and the time to regain one. A rollout causes fewer.
  int burst = 50;
  std::chrono::milliseconds period{2'000};
};

class Pacer {
 public:
  // `clock` outlives this.
  Pacer(kube::Clock& clock, PacerOptions options) : clock_(clock), options_(options) {}

  // How long to delay the reconcile of `key` for an event of this moment.
  kube::Duration Delay(const std::string& key);
  // Zero if `key` may write now, which counts, or else the time until it may. Without `settle`.
  kube::Duration Take(const std::string& key);
  // The keys that have state.
  size_t size() const { return keys_.size(); }

 private:
  struct Key {
    // When the last announced reconcile is due.
    kube::TimePoint due;
    // When the whole burst is available again.
    kube::TimePoint full;
  };

  void ForgetIdle(kube::TimePoint now);

  kube::Clock& clock_;
  PacerOptions options_;
  std::unordered_map<std::string, Key> keys_;
  size_t sweep_at_ = 64;
};

}  // namespace operator_
