// SPDX-License-Identifier: Apache-2.0
// MetricsAccess: which users may read /metrics: those that may `get` this non-resource URL
// (token_review.h).
//
// Clients are untrusted. A verdict is remembered by the token's SHA-256, concurrent requests with
// one token share a review, and reviews of unknown tokens are bounded in rate and number: a hostile
// client cannot make this process load the API server, nor displace the tokens that were accepted.
// The token itself is neither kept nor logged. Thread: the client's.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/client/client.h"
#include "kube/server/token_review.h"

namespace kube {

struct MetricsAccessOptions {
  // How long a verdict is remembered: access, no access, and a review without an answer.
  std::chrono::milliseconds allowed_for{60'000};
  std::chrono::milliseconds refused_for{10'000};
  std::chrono::milliseconds failed_for{1'000};
  // How many tokens with and without access are remembered.
  size_t max_allowed = 64;
  size_t max_refused = 256;
  // Reviews of tokens that never had access.
  ReviewLimits unknown;
  // Timeout for both reviews together.
  std::chrono::milliseconds timeout{5'000};
};

class MetricsAccess {
 public:
  using Verdict = AccessVerdict;

  // Both outlive this object.
  MetricsAccess(Client& client, Clock& clock, MetricsAccessOptions options = {});

  // `authorization`: the value of the Authorization header. Never fails.
  asio::awaitable<Verdict> Check(std::string authorization);

 private:
  struct Remembered {
    Verdict verdict;
    TimePoint until;
  };
  struct Review;
  class Round;

  void Remember(const std::string& hash, const Verdict& verdict);

  Client& client_;
  Clock& clock_;
  MetricsAccessOptions options_;
  // By the token's hash. An expired entry stays and shows that the token was known.
  LruMap<TimePoint> allowed_;
  LruMap<Remembered> refused_;
  std::map<std::string, std::shared_ptr<Review>> in_flight_;
  ReviewLimiter unknown_;
};

}  // namespace kube
