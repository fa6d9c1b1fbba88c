// SPDX-License-Identifier: Apache-2.0
#include "kube/server/token_access.h"

#include <openssl/sha.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "kube/base/notifier.h"

namespace kube {
namespace {

std::string HashOf(const std::string& token) {
  uint8_t hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const uint8_t*>(token.data()), token.size(), hash);
  return {reinterpret_cast<const char*>(hash), sizeof hash};
}

}  // namespace

// A review that requests with the same token wait for.
struct TokenAccess::Review {
  std::optional<Verdict> verdict;
  Notifier done;
};

// Ends a review whatever happens to the coroutine that runs it.
class TokenAccess::Round {
 public:
  Round(TokenAccess& access, std::string hash) : access_(access), hash_(std::move(hash)) {
    access_.in_flight_[hash_] = review_;
  }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;
  ~Round() {
    access_.in_flight_.erase(hash_);
    if (!review_->verdict) review_->verdict = Verdict{503, "this process is stopping"};
    review_->done.NotifyAll();
  }

  void End(const Verdict& verdict) {
    review_->verdict = verdict;
    access_.Remember(hash_, verdict);
  }

 private:
  TokenAccess& access_;
  std::string hash_;
  std::shared_ptr<Review> review_ = std::make_shared<Review>();
};

TokenAccess::TokenAccess(Clock& clock, ReviewOf review, TokenAccessOptions options)
    : clock_(clock),
      review_(std::move(review)),
      options_(options),
      allowed_(options.max_allowed),
      refused_(options.max_refused),
      unknown_(clock, options.unknown) {}

asio::awaitable<TokenAccess::Verdict> TokenAccess::Check(std::string authorization) {
  co_await IgnoreCancellation();
  if (authorization.size() > kMaxAuthorizationBytes)
    co_return Verdict{401, "the token is too long"};
  std::string token = BearerTokenOf(authorization);
  if (token.empty()) co_return Verdict{401, "a header Authorization: Bearer TOKEN is needed"};

  // Remembered?
  std::string hash = HashOf(token);
  Remembered* allowed = allowed_.Find(hash);
  bool unknown = allowed == nullptr;
  if (!unknown && clock_.Now() < allowed->until) co_return allowed->verdict;
  Remembered* refused = refused_.Find(hash);
  if (refused != nullptr && clock_.Now() < refused->until) co_return refused->verdict;

  // Under review for another request?
  auto running = in_flight_.find(hash);
  if (running != in_flight_.end()) {
    std::shared_ptr<Review> review = running->second;
    while (!review->verdict) {
      Result<> waited = co_await review->done.Wait();
      if (!waited) co_return Verdict{503, "this process is stopping"};
    }
    co_return *review->verdict;
  }

  // Ask.
  ReviewLimiter::Slot slot;
  if (unknown) slot = unknown_.Start();
  if (unknown && !slot) co_return Verdict{503, "too many unknown tokens: try again later"};
  Round round(*this, hash);
  Verdict verdict = co_await review_(std::move(token));
  round.End(verdict);
  co_return verdict;
}

void TokenAccess::Remember(const std::string& hash, const Verdict& verdict) {
  TimePoint now = clock_.Now();
  if (verdict.status == 200) {
    refused_.Erase(hash);
    allowed_.Put(hash, {verdict, now + options_.allowed_for});
    return;
  }
  // A failed review does not change whether the token is known.
  bool failed = verdict.status == 503;
  if (!failed) allowed_.Erase(hash);
  refused_.Put(hash, {verdict, now + (failed ? options_.failed_for : options_.refused_for)});
}

}  // namespace kube
