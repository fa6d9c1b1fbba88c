// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/cloud_http.h"

#include <algorithm>

#include "inspection/base/header_value.h"
#include "inspection/base/timing.h"
#include "kube/base/percent.h"
#include "kube/client/read_file.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Error;
using kube::HttpRequest;
using kube::HttpResponse;
using kube::Json;
using kube::Result;
using std::chrono::seconds;

// As in OAuth2's answers without a time.
constexpr seconds kDefaultLifetime{60};

}  // namespace

bool IsSecret(std::string_view text) {
  return !text.empty() && text.size() <= kMaxSecret && FitsIntoHeader(text);
}

Async<HttpResponse> CloudHttp::Call(kube::Url url, HttpRequest request, kube::TimePoint deadline) {
  std::string host = url.host;
  auto left = std::chrono::floor<std::chrono::milliseconds>(deadline - clock_.Now());
  if (left.count() <= 0) co_return Error::DeadlineExceeded("no time is left for " + host);
  request.timeout = std::min(kCallTimeout, left);
  request.max_body_bytes = kMaxAnswer;
  bool insecure = false;
  std::optional<Referrer> referrer;
  Result<HttpResponse> response =
      co_await transport_.Call(std::move(url), std::move(request), insecure, referrer);
  if (!response) co_return response.error().Prefix(host);
  if (response->status == 200) co_return response;
  std::string what = host + ": status " + std::to_string(response->status);
  // 400 is OAuth2's and Amazon's status for a token that is not accepted.
  int status = response->status == 400 ? 401 : response->status;
  if (status < 400) co_return Error::Invalid(what);
  co_return Error::FromHttpStatus(status, "", std::move(what));
}

Async<HttpResponse> CloudHttp::PostForm(kube::Url url,
                                        std::vector<std::pair<std::string, std::string>> fields,
                                        kube::TimePoint deadline) {
  HttpRequest request;
  request.method = "POST";
  request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  for (const auto& [name, value] : fields) {
    if (!request.body.empty()) request.body += '&';
    request.body += name + "=" + kube::PercentEncode(value);
  }
  Result<HttpResponse> response = co_await Call(std::move(url), std::move(request), deadline);
  co_return response;
}

Result<Json> ParseCloudAnswer(std::string_view what, std::string_view body) {
  Result<Json> json = kube::ParseJson(body);
  // The parser's message may quote the answer.
  if (!json || !json->is_object())
    return Error::Invalid(std::string(what) + ": the answer is no JSON object");
  return json;
}

Result<std::string> SecretAt(const Json& answer, std::string_view field) {
  std::string secret = kube::StringAt(answer, field);
  if (!IsSecret(secret)) return Error::Invalid("the answer has no usable " + std::string(field));
  return secret;
}

seconds LifetimeAt(const Json& answer, std::string_view field) {
  const Json* value = kube::Find(answer, field);
  if (value == nullptr || !value->is_number_unsigned()) return kDefaultLifetime;
  uint64_t number = std::min<uint64_t>(value->get<uint64_t>(), kMaxLoginLifetime.count());
  return seconds(static_cast<int64_t>(number));
}

Result<std::string> ReadIdentityToken(const std::string& path, std::string_view variable) {
  std::string name(variable);
  if (path.empty()) return Error::Invalid(name + " is not set");
  Result<std::string> token = kube::ReadFile(path);
  if (!token) return Error::Invalid("the file of " + name + " cannot be read");
  while (!token->empty() && (token->back() == '\n' || token->back() == '\r')) token->pop_back();
  if (!IsSecret(*token)) return Error::Invalid("the file of " + name + " has no token");
  return token;
}

}  // namespace inspection
