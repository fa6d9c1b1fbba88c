// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/circuit_breaker.h"

#include <algorithm>
#include <chrono>

namespace inspection {

using kube::Error;

std::optional<Error> CircuitBreaker::Check(std::span<const std::string> keys) {
  kube::TimePoint now = clock_.Now();
  auto seconds = [](kube::Duration time) { return std::chrono::ceil<std::chrono::seconds>(time); };
  for (const std::string& key : keys) {
    const Down* down = down_.Find(key);
    if (down == nullptr || now >= down->next_probe) continue;
    std::chrono::seconds left = seconds(down->next_probe - now);
    return down->error
        .Prefix("it failed " + std::to_string(seconds(now - down->failed).count()) +
                " s ago and is asked again in " + std::to_string(left.count()) + " s")
        .WithRetryAfter(left);
  }
  for (const std::string& key : keys) {
    Down* down = down_.Find(key);
    if (down == nullptr) continue;
    down->next_probe = now + options_.probe_interval;
    down->probing = true;
  }
  return std::nullopt;
}

void CircuitBreaker::Fail(const std::string& key, const Error& error) {
  kube::TimePoint now = clock_.Now();
  const Down* before = down_.Find(key);
  std::chrono::milliseconds interval = options_.first_probe;
  if (before != nullptr) interval = before->interval;
  if (before != nullptr && before->probing)
    interval = std::min(interval * 2, options_.probe_interval);
  kube::Duration wait = interval;
  if (error.retry_after())
    wait = std::max<kube::Duration>(wait, std::min(*error.retry_after(), kMaxRetryAfter));
  down_.Put(key, {error, now, interval, now + wait});
}

void CircuitBreaker::Succeed(const std::string& key, kube::TimePoint started) {
  const Down* down = down_.Find(key);
  if (down != nullptr && started >= down->failed) down_.Erase(key);
}

}  // namespace inspection
