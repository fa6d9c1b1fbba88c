// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/run.h"

namespace kube {

void Drain(asio::io_context& io) {
  if (io.stopped()) io.restart();
  while (io.poll() > 0) {
  }
}

bool RunUntil(asio::io_context& io, const std::function<bool()>& done) {
  auto deadline = std::chrono::steady_clock::now() + kStuckAfter;
  while (!done()) {
    if (io.stopped()) io.restart();
    // No handler ran before the time limit.
    if (io.run_one_until(deadline) == 0) return done();
    if (std::chrono::steady_clock::now() >= deadline) return done();
  }
  return true;
}

}  // namespace kube
