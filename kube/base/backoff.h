// SPDX-License-Identifier: Apache-2.0
// Backoff: the delay before the next attempt. It doubles with each failure up to a cap. Jitter
// spreads the clients of a server that becomes available again.
#pragma once

#include <cstdint>
#include <random>

#include "kube/base/clock.h"

namespace kube {

struct BackoffOptions {
  // The first delay; doubles per failure.
  Duration base = std::chrono::milliseconds(200);
  Duration cap = std::chrono::seconds(30);
  // The random share of each delay: 0.5 waits between half of the delay and all of it.
  double jitter = 0.5;
};

class Backoff {
 public:
  explicit Backoff(BackoffOptions options = {});

  // Counts a failure and returns the delay before the next attempt.
  Duration Next();
  // Starts again with the base delay, after a success.
  void Reset() { failures_ = 0; }
  int failures() const { return failures_; }

 private:
  BackoffOptions options_;
  int failures_ = 0;
  std::minstd_rand random_;
};

}  // namespace kube
