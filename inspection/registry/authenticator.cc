// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/authenticator.h"

#include "inspection/reference.h"
#include "kube/base/percent.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Error;
using kube::HttpResponse;
using kube::PercentEncode;
using kube::Result;
using kube::Url;

constexpr size_t kMaxTokenAnswer = 256u << 10;

// Reading one repository, whatever else the challenge asks for. A registry that rewrites paths may
// call it by another name than the request does.
std::string PullScope(const AuthQuestion& question) {
  std::string scope = question.challenge.Param("scope");
  std::string name = question.repository;
  size_t last = scope.rfind(':');
  if (scope.starts_with("repository:") && last > 11 && IsRepository(scope.substr(11, last - 11))) {
    name = scope.substr(11, last - 11);
  }
  return "repository:" + name + ":pull";
}

std::string KeyOf(const AuthQuestion& question) {
  return question.registry.url.scheme + (question.insecure ? "!" : "") + "://" +
         question.registry.url.Authority() + " " + question.repository + " " +
         (question.credential == nullptr ? "" : question.credential->Identity());
}

}  // namespace

Async<std::string> Authenticator::Header(AuthQuestion question) {
  const Credential* credential = question.credential;
  if (question.challenge.scheme == "basic") {
    if (credential == nullptr || credential->username.empty())
      co_return Error::Unauthenticated("no user for Basic");
    co_return BasicAuthorization(credential->username, credential->password);
  }
  if (question.challenge.scheme != "bearer")
    co_return Error::Unauthenticated("neither Basic nor Bearer is asked for");
  if (credential != nullptr && !credential->registry_token.empty())
    co_return "Bearer " + credential->registry_token;

  std::string key = KeyOf(question);
  std::optional<std::string> kept = tokens_.Get(key);
  if (kept) co_return "Bearer " + *kept;
  Result<Token> token = co_await FetchToken(std::move(question));
  if (!token) co_return token.error();
  std::string header = "Bearer " + token->value;
  tokens_.Put(key, std::move(*token));
  co_return header;
}

bool Authenticator::Forget(const AuthQuestion& question) {
  std::string key = KeyOf(question);
  bool had = tokens_.Get(key).has_value();
  tokens_.Erase(key);
  return had;
}

Async<Token> Authenticator::FetchToken(AuthQuestion question) {
  std::string realm = question.challenge.Param("realm");
  Result<Url> url = Url::Parse(realm);
  if (!url) co_return Error::Unauthenticated("the challenge names no usable token server");
  // A password in plain text only where the registry itself is asked that way.
  if (url->scheme != "https" && question.registry.url.scheme == "https" && !question.insecure) {
    co_return Error::Unauthenticated("the challenge names a token server without TLS, at " +
                                     url->host);
  }
  std::string service = question.challenge.Param("service");
  std::string scope = PullScope(question);
  const Credential* credential = question.credential;

  FetchRequest request{.max_body_bytes = kMaxTokenAnswer,
                       .insecure = question.insecure,
                       .deadline = question.deadline};
  if (credential != nullptr && !credential->identity_token.empty()) {
    // OAuth2 with a refresh token.
    request.method = "POST";
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    request.body =
        "grant_type=refresh_token&client_id=pod-placement&service=" + PercentEncode(service) +
        "&scope=" + PercentEncode(scope) +
        "&refresh_token=" + PercentEncode(credential->identity_token);
  } else {
    char separator = url->target.find('?') == std::string::npos ? '?' : '&';
    url->target += separator;
    if (!service.empty()) url->target += "service=" + PercentEncode(service) + "&";
    url->target += "scope=" + PercentEncode(scope);
    if (credential != nullptr) {
      url->target += "&account=" + PercentEncode(credential->username);
      request.authorization = BasicAuthorization(credential->username, credential->password);
    }
  }
  std::string server = url->host;
  request.url = std::move(*url);
  ++token_requests_;
  std::optional<Sender> sent_by = std::move(question.registry);
  Result<HttpResponse> response = co_await fetcher_.Fetch(std::move(request), std::move(sent_by));
  if (!response) co_return response.error().Prefix("token server " + server);
  if (response->status != 200) {
    // 400 is OAuth2's word for a bad grant.
    int status = response->status == 400 || response->status == 403 ? 401 : response->status;
    std::string what = "token server " + server + ": " + DescribeStatus(response->status, "");
    co_return Error::FromHttpStatus(status, "", std::move(what));
  }
  Result<Token> token = ParseTokenResponse(response->body);
  if (!token) co_return token.error().Prefix("token server " + server);
  co_return token;
}

}  // namespace inspection
