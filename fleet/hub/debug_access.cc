// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/debug_access.h"

#include <glog/logging.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "fleet/api/placement.h"
#include "kube/base/ascii.h"
#include "kube/client/access_review.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Json;
using kube::Result;
using Verdict = DebugAccess::Verdict;

constexpr std::string_view kScheme = "bearer ";
constexpr size_t kMaxUserBytes = 256;
// An API server that is away is logged this often.
constexpr int kLogEverySeconds = 60;

// The token of "Bearer TOKEN"; empty for any other text.
std::string TokenOf(const std::string& authorization) {
  if (authorization.size() <= kScheme.size() ||
      kube::AsciiLower(std::string_view(authorization).substr(0, kScheme.size())) != kScheme)
    return "";
  std::string token = authorization.substr(kScheme.size());
  bool valid = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 127; });
  return valid ? token : "";
}

Verdict Failed(const kube::Error& error) {
  LOG_EVERY_T(WARNING, kLogEverySeconds) << "cannot check who reads debug answers: " << error;
  return {500, "the API server did not say whether this token may ask: " +
                   std::string(kube::CodeName(error.code()))};
}

// Counts a running check.
class Running {
 public:
  explicit Running(int& count) : count_(count) { ++count_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { --count_; }

 private:
  int& count_;
};

}  // namespace

DebugAccess::DebugAccess(kube::Client& client, kube::Clock& clock, DebugAccessOptions options)
    : client_(client),
      clock_(clock),
      options_(options),
      allowance_(options.burst),
      refilled_(clock.Now()) {}

bool DebugAccess::MayStart() {
  kube::TimePoint now = clock_.Now();
  double seconds = std::chrono::duration<double>(now - refilled_).count();
  allowance_ = std::min(options_.burst, allowance_ + seconds * options_.per_second);
  refilled_ = now;
  if (running_ >= options_.max_checks || allowance_ < 1) return false;
  allowance_ -= 1;
  return true;
}

boost::asio::awaitable<Verdict> DebugAccess::Check(std::string authorization, std::string verb,
                                                   kube::ObjectKey placement) {
  co_await kube::IgnoreCancellation();
  if (authorization.size() > kScheme.size() + options_.max_token_bytes)
    co_return Verdict{401, "the token is too long"};
  std::string token = TokenOf(authorization);
  if (token.empty()) co_return Verdict{401, "a header Authorization: Bearer TOKEN is required"};
  if (!MayStart()) co_return Verdict{500, "too many requests: repeat this one later"};
  Running running(running_);
  Verdict verdict = co_await Ask(std::move(token), std::move(verb), std::move(placement));
  co_return verdict;
}

boost::asio::awaitable<Verdict> DebugAccess::Ask(std::string token, std::string verb,
                                                 kube::ObjectKey placement) {
  kube::TimePoint deadline = clock_.Now() + options_.timeout;
  Json spec = {{"token", std::move(token)}};
  Result<Json> who =
      co_await kube::PostReview(client_, kube::kTokenReviews, std::move(spec), options_.timeout);
  if (!who) co_return Failed(who.error().Prefix("TokenReview"));
  const Json* user = kube::Find(*who, "status.user");
  std::string name = user == nullptr ? "" : kube::StringAt(*user, "username");
  if (!kube::BoolAt(*who, "status.authenticated") || name.empty())
    co_return Verdict{401, "the API server does not accept the token"};

  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock_.Now());
  if (left.count() <= 0) {
    kube::Error late = kube::Error::DeadlineExceeded("no time left");
    co_return Failed(late);
  }
  Json attributes = {{"verb", verb},
                     {"group", std::string(kPlacements.group)},
                     {"resource", std::string(kPlacements.plural)},
                     {"namespace", placement.ns},
                     {"name", placement.name}};
  Json subject = *user;
  Result<bool> allowed =
      co_await kube::MayAccess(client_, std::move(subject), std::move(attributes), left);
  if (!allowed) co_return Failed(allowed.error());
  if (!*allowed) {
    co_return Verdict{403, name.substr(0, kMaxUserBytes) + " may not " + verb + " Placement " +
                               placement.ToString()};
  }
  co_return Verdict{200, ""};
}

}  // namespace fleet
