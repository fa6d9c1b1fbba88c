// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/debug_access.h"

#include <chrono>
#include <utility>

#include "fleet/api/placement.h"

namespace fleet {
namespace {

using Verdict = kube::AccessVerdict;

constexpr std::chrono::seconds kTimeout{5};

}  // namespace

DebugAccess::DebugAccess(kube::Client& client, kube::Clock& clock, kube::ReviewLimits limits)
    : client_(client), clock_(clock), limiter_(clock, limits) {}

boost::asio::awaitable<Verdict> DebugAccess::Check(std::string authorization, std::string verb,
                                                   kube::ObjectKey placement) {
  co_await kube::IgnoreCancellation();
  if (authorization.size() > kube::kMaxAuthorizationBytes)
    co_return Verdict{401, "the token is too long"};
  std::string token = kube::BearerTokenOf(authorization);
  if (token.empty()) co_return Verdict{401, "a header Authorization: Bearer TOKEN is required"};
  kube::ReviewLimiter::Slot slot = limiter_.Start();
  if (!slot) co_return Verdict{500, "too many requests: repeat this one later"};
  kube::AskedAccess asked{.text = verb + " Placement " + placement.ToString()};
  asked.attributes["resourceAttributes"] = {{"verb", verb},
                                            {"group", std::string(kPlacements.group)},
                                            {"resource", std::string(kPlacements.plural)},
                                            {"namespace", placement.ns},
                                            {"name", placement.name}};
  Verdict verdict =
      co_await kube::ReviewToken(client_, clock_, std::move(token), std::move(asked), kTimeout);
  if (verdict.status == 503) verdict.status = 500;
  co_return verdict;
}

}  // namespace fleet
