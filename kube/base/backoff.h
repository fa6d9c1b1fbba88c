// SPDX-License-Identifier: Apache-2.0
// Backoff: how long to wait before the next try of something that failed: doubling, capped, with
// jitter so that a thousand clients of a server that comes back do not come back together.
#pragma once

#include <cstdint>
#include <random>

#include "kube/base/clock.h"

namespace kube {

struct BackoffOptions {
  // The first delay; doubles per failure.
  Duration base = std::chrono::milliseconds(200);
  Duration cap = std::chrono::seconds(30);
  // The part of each delay that is left to chance: 0.5 waits between half of it and all of it.
  double jitter = 0.5;
};

class Backoff {
 public:
  explicit Backoff(BackoffOptions options = {});

  // The delay after one more failure: at most the cap.
  Duration Next();
  // The last try went well: begin anew.
  void Reset() { failures_ = 0; }
  int failures() const { return failures_; }

 private:
  BackoffOptions options_;
  int failures_ = 0;
  std::minstd_rand random_;
};

}  // namespace kube
