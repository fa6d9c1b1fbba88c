// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/azure.h"

#include <chrono>
#include <utility>
#include <vector>

#include "kube/base/percent.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Error;
using kube::HttpResponse;
using kube::Json;
using kube::Result;
using kube::Url;

// The user of a refresh token in place of a password.
constexpr char kUser[] = "00000000-0000-0000-0000-000000000000";
constexpr char kScope[] = "https://containerregistry.azure.net/.default";
// A refresh token is valid for three hours, which the answer does not say. Renewing it after one
// leaves time for a token server that fails.
constexpr std::chrono::hours kLifetime{3};
constexpr std::chrono::hours kRenewAfter{1};

}  // namespace

Async<std::string> AzureExchange::AccessToken(kube::TimePoint deadline) {
  if (client_.empty()) co_return Error::Invalid("AZURE_CLIENT_ID is not set");
  if (tenant_.empty()) co_return Error::Invalid("AZURE_TENANT_ID is not set");
  Result<std::string> assertion = ReadIdentityToken(token_file_, "AZURE_FEDERATED_TOKEN_FILE");
  if (!assertion) co_return assertion.error();
  std::string base = authority_;
  if (!base.ends_with('/')) base += '/';
  Result<Url> url = Url::Parse(base + kube::PercentEncode(tenant_) + "/oauth2/v2.0/token");
  if (!url || url->scheme != "https")
    co_return Error::Invalid("AZURE_AUTHORITY_HOST is no https URL");
  std::vector<std::pair<std::string, std::string>> form = {
      {"client_id", client_},
      {"scope", kScope},
      {"grant_type", "client_credentials"},
      {"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
      {"client_assertion", *assertion}};
  Result<HttpResponse> answer =
      co_await http_->PostForm(std::move(*url), std::move(form), deadline);
  if (!answer) co_return answer.error();
  Result<Json> json = ParseCloudAnswer("token server of Entra", answer->body);
  if (!json) co_return json.error();
  Result<std::string> token = SecretAt(*json, "access_token");
  if (!token) co_return token.error().Prefix("token server of Entra");
  co_return token;
}

Async<ExchangedLogin> AzureExchange::Exchange(CloudRegistry registry, kube::TimePoint deadline) {
  Result<std::string> access = co_await AccessToken(deadline);
  if (!access) co_return access.error();
  Result<Url> url = Url::Parse("https://" + registry.host + "/oauth2/exchange");
  if (!url) co_return url.error();
  std::vector<std::pair<std::string, std::string>> form = {{"grant_type", "access_token"},
                                                           {"service", registry.host},
                                                           {"tenant", tenant_},
                                                           {"access_token", *access}};
  Result<HttpResponse> answer =
      co_await http_->PostForm(std::move(*url), std::move(form), deadline);
  if (!answer) co_return answer.error();
  Result<Json> json = ParseCloudAnswer(registry.host, answer->body);
  if (!json) co_return json.error();
  Result<std::string> refresh = SecretAt(*json, "refresh_token");
  if (!refresh) co_return refresh.error().Prefix(registry.host);
  co_return ExchangedLogin{.username = kUser,
                           .password = std::move(*refresh),
                           .lifetime = kLifetime,
                           .renew_after = kRenewAfter};
}

}  // namespace inspection
