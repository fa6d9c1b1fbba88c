// SPDX-License-Identifier: Apache-2.0
// TokenAccess: the clients of a server that have access, by the bearer token that they show. A
// review, of which the API server decides (token_review.h), says whether a token has access.
//
//   TokenAccess access(clock, [&](std::string token) { return ReviewToken(...); });
//   AccessVerdict verdict = co_await access.Check(std::move(call.authorization));
//
// Clients are untrusted. A verdict is remembered by the token's SHA-256, concurrent requests with
// one token share a review, and reviews of unknown tokens are bounded in rate and number: a hostile
// client cannot make this process load the API server, nor displace the tokens that were accepted.
// The token itself is neither kept nor logged. Thread: that of the review.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/server/token_review.h"

namespace kube {

struct TokenAccessOptions {
  // How long a verdict is remembered: access, no access, and a review without an answer.
  std::chrono::milliseconds allowed_for{60'000};
  std::chrono::milliseconds refused_for{10'000};
  std::chrono::milliseconds failed_for{1'000};
  // How many tokens with and without access are remembered.
  size_t max_allowed = 64;
  size_t max_refused = 256;
  // Reviews of tokens that never had access.
  ReviewLimits unknown;
};

class TokenAccess {
 public:
  using Verdict = AccessVerdict;
  // Never fails; must end in bounded time.
  using ReviewOf = std::function<asio::awaitable<Verdict>(std::string token)>;

  // `clock`, and what `review` uses, outlive this object.
  TokenAccess(Clock& clock, ReviewOf review, TokenAccessOptions options = {});

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

  Clock& clock_;
  ReviewOf review_;
  TokenAccessOptions options_;
  // By the token's hash. An expired entry stays and shows that the token was known.
  LruMap<Remembered> allowed_;
  LruMap<Remembered> refused_;
  std::map<std::string, std::shared_ptr<Review>> in_flight_;
  ReviewLimiter unknown_;
};

}  // namespace kube
