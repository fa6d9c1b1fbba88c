// SPDX-License-Identifier: Apache-2.0
#include "kube/server/metrics_access.h"

#include <glog/logging.h>
#include <openssl/sha.h>

#include <algorithm>
#include <optional>

#include "kube/base/ascii.h"
#include "kube/base/notifier.h"
#include "kube/client/access_review.h"
#include "kube/types/kinds.h"

namespace kube {
namespace {

constexpr std::string_view kScheme = "bearer ";
constexpr size_t kMaxUserBytes = 256;
// A program that may not create reviews, or an API server that is away, is logged this often.
constexpr int kLogEverySeconds = 60;

// The token of "Bearer TOKEN"; empty for any other text (RFC 6750, section 2.1).
std::string TokenOf(const std::string& authorization) {
  if (authorization.size() <= kScheme.size() ||
      AsciiLower(std::string_view(authorization).substr(0, kScheme.size())) != kScheme)
    return "";
  std::string token = authorization.substr(kScheme.size());
  bool valid = std::all_of(token.begin(), token.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~+/=").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return valid ? token : "";
}

std::string HashOf(const std::string& token) {
  uint8_t hash[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const uint8_t*>(token.data()), token.size(), hash);
  return {reinterpret_cast<const char*>(hash), sizeof hash};
}

// The spec of a SubjectAccessReview for the user of a TokenReview's status.
Json AccessOf(const Json& user) {
  Json spec = SubjectOf(user);
  spec["nonResourceAttributes"] = {{"path", "/metrics"}, {"verb", "get"}};
  return spec;
}

MetricsAccess::Verdict Failed(const Error& error) {
  LOG_EVERY_T(WARNING, kLogEverySeconds) << "cannot check who reads /metrics: " << error;
  return {503, "the API server did not say whether this token may read metrics: " +
                   std::string(CodeName(error.code()))};
}

}  // namespace

// A review that requests with the same token wait for.
struct MetricsAccess::Review {
  std::optional<Verdict> verdict;
  Notifier done;
};

// Ends a review whatever happens to the coroutine that runs it.
class MetricsAccess::Round {
 public:
  Round(MetricsAccess& access, std::string hash, bool unknown)
      : access_(access), hash_(std::move(hash)), unknown_(unknown) {
    access_.in_flight_[hash_] = review_;
    access_.unknown_in_flight_ += unknown_;
  }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;
  ~Round() {
    access_.unknown_in_flight_ -= unknown_;
    access_.in_flight_.erase(hash_);
    if (!review_->verdict) review_->verdict = Verdict{503, "this process is stopping"};
    review_->done.NotifyAll();
  }

  void End(const Verdict& verdict) {
    review_->verdict = verdict;
    access_.Remember(hash_, verdict);
  }

 private:
  MetricsAccess& access_;
  std::string hash_;
  bool unknown_;
  std::shared_ptr<Review> review_ = std::make_shared<Review>();
};

MetricsAccess::MetricsAccess(Client& client, Clock& clock, MetricsAccessOptions options)
    : client_(client),
      clock_(clock),
      options_(options),
      allowed_(options.max_allowed),
      refused_(options.max_refused),
      tokens_(options.burst),
      refilled_(clock.Now()) {}

asio::awaitable<MetricsAccess::Verdict> MetricsAccess::Check(std::string authorization) {
  co_await IgnoreCancellation();
  if (authorization.size() > kScheme.size() + options_.max_token_bytes)
    co_return Verdict{401, "the token is too long"};
  std::string token = TokenOf(authorization);
  if (token.empty()) co_return Verdict{401, "metrics need a header Authorization: Bearer TOKEN"};

  // Remembered?
  std::string hash = HashOf(token);
  TimePoint* allowed_until = allowed_.Find(hash);
  bool unknown = allowed_until == nullptr;
  if (!unknown && clock_.Now() < *allowed_until) co_return Verdict{200, ""};
  Remembered* refused = refused_.Find(hash);
  if (refused != nullptr && clock_.Now() < refused->until) co_return refused->verdict;

  // Under review for another request?
  auto running = in_flight_.find(hash);
  if (running != in_flight_.end()) {
    std::shared_ptr<Review> review = running->second;
    while (!review->verdict) {
      Result<> waited = co_await review->done.Wait();
      if (!waited) co_return Failed(waited.error());
    }
    co_return *review->verdict;
  }

  // Ask.
  if (unknown && !MayReviewUnknown())
    co_return Verdict{503, "too many unknown tokens: try again later"};
  Round round(*this, hash, unknown);
  Verdict verdict = co_await Ask(std::move(token));
  round.End(verdict);
  co_return verdict;
}

bool MetricsAccess::MayReviewUnknown() {
  TimePoint now = clock_.Now();
  double seconds = std::chrono::duration<double>(now - refilled_).count();
  tokens_ = std::min(options_.burst, tokens_ + seconds * options_.per_second);
  refilled_ = now;
  if (unknown_in_flight_ >= options_.max_reviews || tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

asio::awaitable<MetricsAccess::Verdict> MetricsAccess::Ask(std::string token) {
  TimePoint deadline = clock_.Now() + options_.timeout;
  Json token_spec = {{"token", std::move(token)}};
  Result<Json> who = co_await Post(kTokenReviews, std::move(token_spec), deadline);
  if (!who) co_return Failed(who.error().Prefix("TokenReview"));
  const Json* user = Find(*who, "status.user");
  std::string name = user == nullptr ? "" : StringAt(*user, "username");
  if (!BoolAt(*who, "status.authenticated") || name.empty())
    co_return Verdict{401, "the API server does not accept the token"};

  Json access_spec = AccessOf(*user);
  Result<Json> access = co_await Post(kSubjectAccessReviews, std::move(access_spec), deadline);
  if (!access) co_return Failed(access.error().Prefix("SubjectAccessReview"));
  if (!BoolAt(*access, "status.allowed")) {
    co_return Verdict{403,
                      name.substr(0, kMaxUserBytes) + " may not get the non-resource URL /metrics"};
  }
  co_return Verdict{200, ""};
}

Async<Json> MetricsAccess::Post(Resource resource, Json spec, TimePoint deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock_.Now());
  if (left.count() <= 0) co_return Error::DeadlineExceeded("no time left");
  Result<Json> review = co_await PostReview(client_, resource, std::move(spec), left);
  co_return review;
}

void MetricsAccess::Remember(const std::string& hash, const Verdict& verdict) {
  TimePoint now = clock_.Now();
  if (verdict.status == 200) {
    refused_.Erase(hash);
    allowed_.Put(hash, now + options_.allowed_for);
    return;
  }
  // After a failed review the token is as known as before.
  bool failed = verdict.status == 503;
  if (!failed) allowed_.Erase(hash);
  refused_.Put(hash, {verdict, now + (failed ? options_.failed_for : options_.refused_for)});
}

}  // namespace kube
