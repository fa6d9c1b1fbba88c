// SPDX-License-Identifier: Apache-2.0
#include "fleet/standalone/access/hub_token.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "fleet/api/reading.h"
#include "fleet/standalone/access/agent_access.h"
#include "kube/base/base64.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace fleet {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;
using kube::WallTime;

constexpr std::chrono::hours kLife{24 * 7};

bool IsTokenCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '=';
}

}  // namespace

Result<HubToken> ReadHubToken(const Json& answer, WallTime now) {
  HubToken token{.text = kube::StringAt(answer, "status.token")};
  bool valid = !token.text.empty() && token.text.size() <= kMaxTokenBytes &&
               std::all_of(token.text.begin(), token.text.end(), IsTokenCharacter);
  if (!valid) return Error::Invalid("the hub's answer to a TokenRequest has no token");
  kube::Result<WallTime> expires =
      kube::ParseTime(kube::StringAt(answer, "status.expirationTimestamp"));
  if (!expires) return Error::Invalid("the hub's answer to a TokenRequest has no time of expiry");
  // Clamped before the arithmetic, so that no time overflows.
  WallTime end = std::clamp<WallTime>(*expires, now, now + 2 * kMaxTokenUse);
  token.renew_after = now + std::max<WallTime::duration>((end - now) / 2, kMinTokenUse);
  return token;
}

kube::Async<HubToken> RequestHubToken(kube::Client& hub, kube::Clock& clock, std::string cluster) {
  const int64_t seconds = std::chrono::seconds(kLife).count();
  Json body = {{"apiVersion", "authentication.k8s.io/v1"},
               {"kind", "TokenRequest"},
               {"spec", {{"expirationSeconds", seconds}}}};
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = kube::kServiceAccounts.Path(cluster, kAgentAccess, "token"),
                           .content_type = std::string(kube::kJson),
                           .body = kube::DumpJson(body)};
  Result<kube::Unstructured> answer =
      co_await kube::CallFor<kube::Unstructured>(hub, std::move(request));
  if (!answer) co_return answer.error().Prefix("request a token");
  co_return ReadHubToken(answer->body(), clock.WallNow());
}

Json TokenPatch(const HubToken& token) {
  Json patch;
  patch["metadata"]["annotations"][std::string(kRenewAfterAnnotation)] =
      kube::FormatTime(token.renew_after);
  patch["data"][std::string(kHubTokenKey)] = kube::Base64Encode(token.text);
  return patch;
}

std::optional<WallTime> RenewAfter(const Json& secret, WallTime now) {
  kube::Result<WallTime> time =
      kube::ParseTime(MetadataString(secret, "metadata.annotations", kRenewAfterAnnotation));
  if (!time || *time > now + kMaxTokenUse) return std::nullopt;
  return *time;
}

}  // namespace fleet
