// SPDX-License-Identifier: Apache-2.0
// CircuitBreaker: spares what is down. After a failure, calls fail at once until one may try again:
// soon, if it was the first failure, then every probe_interval, or as the server wishes with
// Retry-After.
//
//   std::optional<Error> down = breaker.Check({{host, repository}});
//   if (down) co_return *down;          // the last failure, without a call
//   kube::TimePoint started = clock.Now();
//   ... call ...
//   breaker.Fail(host, error);          // or
//   breaker.Succeed(host, started);
//
// A key stands for what fails together: a host, a document, a user's quota. Of more
// than `capacity` keys, the least recently used one counts as up. Thread: one.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "inspection/base/timing.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/lru_map.h"

namespace inspection {

struct CircuitBreakerOptions {
  std::chrono::milliseconds first_probe = kFirstProbe;  // doubles
  std::chrono::milliseconds probe_interval = kProbeInterval;
};

class CircuitBreaker {
 public:
  CircuitBreaker(kube::Clock& clock, size_t capacity, CircuitBreakerOptions options = {})
      : clock_(clock), options_(options), down_(capacity) {}

  // The error of the first key that is down. nullopt: the caller may call, and if one of them is
  // down, no other caller until the next interval has passed.
  std::optional<kube::Error> Check(std::span<const std::string> keys);
  // Of calls that were in flight together, only the probe makes the interval longer.
  void Fail(const std::string& key, const kube::Error& error);
  // Nothing if the call was `started` before the last failure.
  void Succeed(const std::string& key, kube::TimePoint started);

 private:
  struct Down {
    kube::Error error;
    kube::TimePoint failed;
    std::chrono::milliseconds interval;
    kube::TimePoint next_probe;
    bool probing = false;
  };

  kube::Clock& clock_;
  CircuitBreakerOptions options_;
  kube::LruMap<Down> down_;
};

}  // namespace inspection
