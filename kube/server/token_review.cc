// SPDX-License-Identifier: Apache-2.0
#include "kube/server/token_review.h"

#include <glog/logging.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "kube/base/ascii.h"
#include "kube/client/access_review.h"
#include "kube/types/kinds.h"
#include "kube/types/resource.h"

namespace kube {
namespace {

constexpr std::string_view kScheme = "bearer ";
// A program that may not create reviews, or an API server that is away, is logged this often.
constexpr int kLogEverySeconds = 60;

Async<Json> Post(Client& client, Clock& clock, Resource resource, Json spec, TimePoint deadline) {
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock.Now());
  if (left.count() <= 0) co_return Error::DeadlineExceeded("no time left");
  Result<Json> review = co_await PostReview(client, resource, std::move(spec), left);
  co_return review;
}

AccessVerdict Failed(const Error& error, const std::string& asked) {
  LOG_EVERY_T(WARNING, kLogEverySeconds) << "cannot check who may " << asked << ": " << error;
  return {503, "the API server did not say whether this token may " + asked + ": " +
                   std::string(CodeName(error.code()))};
}

}  // namespace

std::string BearerTokenOf(const std::string& authorization) {
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

asio::awaitable<AccessVerdict> ReviewToken(Client& client, Clock& clock, std::string token,
                                           AskedAccess asked, std::chrono::milliseconds timeout) {
  co_await IgnoreCancellation();
  TimePoint deadline = clock.Now() + timeout;
  Json token_spec = {{"token", std::move(token)}};
  Result<Json> who = co_await Post(client, clock, kTokenReviews, std::move(token_spec), deadline);
  if (!who) co_return Failed(who.error().Prefix("TokenReview"), asked.text);
  const Json* user = Find(*who, "status.user");
  std::string name = user == nullptr ? "" : StringAt(*user, "username");
  if (!BoolAt(*who, "status.authenticated") || name.empty())
    co_return AccessVerdict{401, "the API server does not accept the token"};

  Json access_spec = SubjectOf(*user);
  access_spec.update(asked.attributes);
  Result<Json> access =
      co_await Post(client, clock, kSubjectAccessReviews, std::move(access_spec), deadline);
  if (!access) co_return Failed(access.error().Prefix("SubjectAccessReview"), asked.text);
  if (!BoolAt(*access, "status.allowed"))
    co_return AccessVerdict{403, name.substr(0, kMaxUserBytes) + " may not " + asked.text};
  co_return AccessVerdict{.status = 200, .user = name.substr(0, kMaxUserBytes)};
}

ReviewLimiter::ReviewLimiter(Clock& clock, ReviewLimits limits)
    : clock_(clock), limits_(limits), allowance_(limits.burst), refilled_(clock.Now()) {}

ReviewLimiter::Slot ReviewLimiter::Start() {
  TimePoint now = clock_.Now();
  double seconds = std::chrono::duration<double>(now - refilled_).count();
  allowance_ = std::min(limits_.burst, allowance_ + seconds * limits_.per_second);
  refilled_ = now;
  if (running_ >= limits_.at_a_time || allowance_ < 1) return nullptr;
  allowance_ -= 1;
  ++running_;
  return Slot(&running_);
}

}  // namespace kube
