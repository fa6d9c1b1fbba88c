// SPDX-License-Identifier: Apache-2.0
// Pacer: how soon events wake a reconcile, so that who changes objects in a loop gets no more of
// the operator than anybody else. Events of one burst wake it once; wakes beyond `burst` come one
// in `period`.
//
//   shards.EnqueueAfter(key, pacer.Delay(ns));
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

#include "kube/base/clock.h"

namespace operator_ {

struct PacerOptions {
  // Changes come in bursts: how long to wait for the rest of one.
  std::chrono::milliseconds settle{200};
  // Wakes that are not slowed down, and how long it takes to get one of them back. The wakes of a
  // rollout are fewer.
  int burst = 50;
  std::chrono::milliseconds period{2'000};
};

class Pacer {
 public:
  // `clock` outlives the pacer.
  Pacer(kube::Clock& clock, PacerOptions options) : clock_(clock), options_(options) {}

  // When to wake `key` for an event of now.
  kube::Duration Delay(const std::string& key);
  // Keys that are not as good as new.
  size_t size() const { return keys_.size(); }

 private:
  struct Key {
    // The last wake that was promised.
    kube::TimePoint due;
    // When all of the burst is there again.
    kube::TimePoint full;
  };

  kube::Clock& clock_;
  PacerOptions options_;
  std::unordered_map<std::string, Key> keys_;
  size_t sweep_at_ = 64;
};

}  // namespace operator_
