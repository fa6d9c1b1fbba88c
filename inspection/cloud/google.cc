// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/google.h"

#include <utility>

namespace inspection {

using kube::Async;
using kube::Error;
using kube::HttpRequest;
using kube::HttpResponse;
using kube::Json;
using kube::Result;
using kube::Url;

Async<ExchangedLogin> GoogleExchange::Exchange(CloudRegistry, kube::TimePoint deadline) {
  Result<Url> url =
      Url::Parse("http://" + host_ + "/computeMetadata/v1/instance/service-accounts/default/token");
  if (!url) co_return Error::Invalid("GCE_METADATA_HOST is no host");
  HttpRequest request;
  request.headers.emplace_back("Metadata-Flavor", "Google");
  Result<HttpResponse> answer =
      co_await metadata_->Call(std::move(*url), std::move(request), deadline);
  if (!answer) co_return answer.error();
  if (answer->Header("Metadata-Flavor") != "Google")
    co_return Error::Invalid(host_ + " is no metadata server of Google");
  Result<Json> json = ParseCloudAnswer("metadata server", answer->body);
  if (!json) co_return json.error();
  Result<std::string> token = SecretAt(*json, "access_token");
  if (!token) co_return token.error().Prefix("metadata server");
  co_return ExchangedLogin{.username = "oauth2accesstoken",
                           .password = std::move(*token),
                           .lifetime = LifetimeAt(*json, "expires_in")};
}

}  // namespace inspection
