// SPDX-License-Identifier: Apache-2.0
#include "kube/base/backoff.h"

#include <algorithm>

#include "kube/base/random.h"

namespace kube {

Backoff::Backoff(BackoffOptions options) : options_(options), random_(RandomSeed()) {}

Duration Backoff::Next() {
  Duration delay = options_.base;
  for (int i = 0; i < failures_ && delay < options_.cap; ++i) delay *= 2;
  delay = std::min(delay, options_.cap);
  ++failures_;
  std::uniform_real_distribution<double> chance(0.0, options_.jitter);
  double share = 1.0 - chance(random_);
  return std::chrono::duration_cast<Duration>(delay * share);
}

}  // namespace kube
