// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/amazon.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "inspection/base/header_value.h"
#include "inspection/base/timing.h"
#include "kube/base/base64.h"
#include "kube/types/list_at.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Error;
using kube::HttpRequest;
using kube::HttpResponse;
using kube::Json;
using kube::Result;
using kube::Url;

// The shortest session that STS issues, in seconds: it is used at once.
constexpr char kSessionSeconds[] = "900";
constexpr char kTarget[] = "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken";
// Of a password in an answer without a time.
constexpr std::chrono::hours kDefaultLifetime{1};
constexpr size_t kMaxElement = 8 * 1024;

// The text of the first element <name>; "" without, or with anything but plain text.
std::string ElementText(std::string_view xml, const std::string& name) {
  std::string begin = "<" + name + ">";
  size_t from = xml.find(begin);
  if (from == std::string_view::npos) return "";
  from += begin.size();
  size_t to = xml.find("</" + name + ">", from);
  if (to == std::string_view::npos || to - from > kMaxElement) return "";
  std::string_view text = xml.substr(from, to - from);
  bool plain = FitsIntoHeader(text) && text.find_first_of("<&>") == std::string_view::npos;
  return plain ? std::string(text) : "";
}

// expiresAt: seconds since 1970, with a fraction.
std::chrono::seconds LifetimeOf(const Json& authorization, kube::WallTime now) {
  const Json* expires = kube::Find(authorization, "expiresAt");
  if (expires == nullptr || !expires->is_number()) return kDefaultLifetime;
  double left =
      expires->get<double>() - std::chrono::duration<double>(now.time_since_epoch()).count();
  double most = std::chrono::duration<double>(kMaxLoginLifetime).count();
  return std::chrono::seconds(static_cast<int64_t>(std::clamp(left, 0.0, most)));
}

}  // namespace

Result<AwsCredentials> ParseAssumedRole(std::string_view xml) {
  AwsCredentials credentials{.access_key_id = ElementText(xml, "AccessKeyId"),
                             .secret_access_key = ElementText(xml, "SecretAccessKey"),
                             .session_token = ElementText(xml, "SessionToken")};
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty() ||
      credentials.session_token.empty())
    return Error::Invalid("the answer of AssumeRoleWithWebIdentity has no credentials");
  return credentials;
}

Result<ExchangedLogin> ParseEcrLogin(std::string_view body, kube::WallTime now) {
  Result<Json> json = ParseCloudAnswer("GetAuthorizationToken", body);
  if (!json) return json.error();
  const Json& list = kube::ListAt(*json, "authorizationData");
  if (list.empty()) return Error::Invalid("GetAuthorizationToken: the answer has no token");
  Result<std::string> pair = kube::Base64Decode(kube::StringAt(list.front(), "authorizationToken"));
  size_t colon = pair ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos || !IsSecret(pair->substr(0, colon)) ||
      !IsSecret(pair->substr(colon + 1)))
    return Error::Invalid("GetAuthorizationToken: the token is not a user with a password");
  return ExchangedLogin{.username = pair->substr(0, colon),
                        .password = pair->substr(colon + 1),
                        .lifetime = LifetimeOf(list.front(), now)};
}

Async<AwsCredentials> AmazonExchange::AssumeRole(const CloudRegistry& registry,
                                                 kube::TimePoint deadline) {
  if (role_.empty()) co_return Error::Invalid("AWS_ROLE_ARN is not set");
  // Not the region of the image, which a pod chooses: the token is sent there.
  if (region_.empty()) co_return Error::Invalid("AWS_REGION is not set");
  std::optional<std::string_view> domain = AmazonDomainOf(region_);
  if (!domain) co_return Error::Invalid("AWS_REGION is no region");
  // A role has no rights in another partition.
  if (*domain != registry.domain)
    co_return Error::Invalid("AWS_REGION is not in the partition of this registry");
  Result<std::string> token = ReadIdentityToken(token_file_, "AWS_WEB_IDENTITY_TOKEN_FILE");
  if (!token) co_return token.error();
  Result<Url> url = Url::Parse("https://sts." + region_ + "." + std::string(*domain) + "/");
  if (!url) co_return url.error();
  std::vector<std::pair<std::string, std::string>> form = {
      {"Action", "AssumeRoleWithWebIdentity"},
      {"Version", "2011-06-15"},
      {"RoleArn", role_},
      {"RoleSessionName", "pod-placement-controller"},
      {"DurationSeconds", kSessionSeconds},
      {"WebIdentityToken", *token}};
  Result<HttpResponse> answer =
      co_await http_->PostForm(std::move(*url), std::move(form), deadline);
  if (!answer) co_return answer.error();
  co_return ParseAssumedRole(answer->body);
}

Async<ExchangedLogin> AmazonExchange::Exchange(CloudRegistry registry, kube::TimePoint deadline) {
  Result<AwsCredentials> credentials = co_await AssumeRole(registry, deadline);
  if (!credentials) co_return credentials.error();
  Result<Url> url = Url::Parse("https://api.ecr." + registry.region + "." + registry.domain + "/");
  if (!url) co_return url.error();
  HttpRequest request;
  request.method = "POST";
  request.body = "{}";
  request.headers.emplace_back("Content-Type", "application/x-amz-json-1.1");
  request.headers.emplace_back("X-Amz-Target", kTarget);
  AwsScope scope{.region = registry.region, .service = "ecr"};
  SignAwsRequest(*credentials, scope, url->host, clock_.WallNow(), request);
  Result<HttpResponse> answer = co_await http_->Call(std::move(*url), std::move(request), deadline);
  if (!answer) co_return answer.error();
  co_return ParseEcrLogin(answer->body, clock_.WallNow());
}

}  // namespace inspection
