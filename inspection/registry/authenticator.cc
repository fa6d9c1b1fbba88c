// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/authenticator.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "inspection/base/reference.h"
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

struct Scheme {
  std::string_view name;
  std::string_view required_param;  // "" for none
  bool anonymous;                   // has a header without a credential, too
};
// The supported schemes, the preferred one first.
constexpr Scheme kSchemes[] = {
    {"bearer", "realm", /*anonymous=*/true},
    {"basic", "", /*anonymous=*/false},
};

// The right to read one repository, whatever else the challenge asks for. A registry that rewrites
// paths may name the repository otherwise than the request does.
std::string PullScope(const AuthRequest& request) {
  std::string scope = request.challenge.Param("scope");
  std::string name = request.repository;
  size_t last = scope.rfind(':');
  if (scope.starts_with("repository:") && last > 11 && IsRepository(scope.substr(11, last - 11))) {
    name = scope.substr(11, last - 11);
  }
  return "repository:" + name + ":pull";
}

std::string KeyOf(const AuthRequest& request) {
  return request.registry.url.scheme + (request.insecure ? "!" : "") + "://" +
         request.registry.url.Authority() + " " + request.repository + " " +
         (request.credential == nullptr ? "" : request.credential->Identity());
}

}  // namespace

std::optional<Challenge> Authenticator::SelectChallenge(const HttpResponse& response) {
  std::vector<Challenge> challenges;
  for (std::string_view value : response.Headers("WWW-Authenticate")) {
    for (Challenge& challenge : ParseChallenges(value)) challenges.push_back(std::move(challenge));
  }
  for (const Scheme& scheme : kSchemes) {
    for (Challenge& challenge : challenges) {
      if (challenge.scheme != scheme.name) continue;
      if (scheme.required_param.empty() ||
          !challenge.Param(std::string(scheme.required_param)).empty())
        return std::move(challenge);
    }
  }
  return std::nullopt;
}

bool Authenticator::AllowsAnonymous(const Challenge& challenge) {
  return std::any_of(std::begin(kSchemes), std::end(kSchemes), [&](const Scheme& scheme) {
    return challenge.scheme == scheme.name && scheme.anonymous;
  });
}

Async<std::string> Authenticator::Header(AuthRequest request) {
  const Credential* credential = request.credential;
  if (request.challenge.scheme == "basic") {
    if (credential == nullptr || credential->username.empty())
      co_return Error::Unauthenticated("the credential has no user name, which Basic needs");
    co_return BasicAuthorization(credential->username, credential->password);
  }
  if (request.challenge.scheme != "bearer")
    co_return Error::Unauthenticated("the challenge is neither Basic nor Bearer");
  if (credential != nullptr && !credential->registry_token.empty())
    co_return "Bearer " + credential->registry_token;

  std::string key = KeyOf(request);
  std::optional<std::string> cached = tokens_.Get(key);
  if (cached) co_return "Bearer " + *cached;
  Result<Token> token = co_await FetchToken(std::move(request));
  if (!token) co_return token.error();
  std::string header = "Bearer " + token->value;
  tokens_.Put(key, std::move(*token));
  co_return header;
}

bool Authenticator::DropToken(const AuthRequest& request) {
  std::string key = KeyOf(request);
  bool had = tokens_.Get(key).has_value();
  tokens_.Erase(key);
  return had;
}

Async<Token> Authenticator::FetchToken(AuthRequest request) {
  std::string realm = request.challenge.Param("realm");
  Result<Url> url = Url::Parse(realm);
  if (!url) co_return Error::Unauthenticated("the challenge names no usable token server");
  // Passwords are sent in plain text only where the registry itself is called that way.
  if (url->scheme != "https" && request.registry.url.scheme == "https" && !request.insecure) {
    co_return Error::Unauthenticated("the challenge names a token server without TLS, at " +
                                     url->host);
  }
  const Url& registry = request.registry.url;
  bool own_host =
      url->scheme == registry.scheme && url->host == registry.host && url->port == registry.port;
  if (request.credential != nullptr && request.credential->own_host_only && !own_host) {
    co_return Error::Unauthenticated("the challenge names the token server " + url->host +
                                     ", to which this credential is not sent");
  }
  std::string service = request.challenge.Param("service");
  std::string scope = PullScope(request);
  const Credential* credential = request.credential;

  FetchRequest fetch{.max_body_bytes = kMaxTokenAnswer,
                     .insecure = request.insecure,
                     .deadline = request.deadline};
  if (credential != nullptr && !credential->identity_token.empty()) {
    // OAuth2 with a refresh token.
    fetch.method = "POST";
    fetch.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    fetch.body =
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
      fetch.authorization = BasicAuthorization(credential->username, credential->password);
    }
  }
  std::string server = url->host;
  fetch.url = std::move(*url);
  std::optional<Referrer> referrer = std::move(request.registry);
  Result<HttpResponse> response = co_await fetcher_.Fetch(std::move(fetch), std::move(referrer));
  if (!response) co_return response.error().Prefix("token server " + server);
  if (response->status != 200) {
    // 400 is OAuth2's status for a bad grant.
    int status = response->status == 400 || response->status == 403 ? 401 : response->status;
    std::string what = "token server " + server + ": " + DescribeStatus(response->status, "");
    co_return Error::FromHttpStatus(status, "", std::move(what));
  }
  Result<Token> token = ParseTokenResponse(response->body);
  if (!token) co_return token.error().Prefix("token server " + server);
  co_return token;
}

}  // namespace inspection
