// SPDX-License-Identifier: Apache-2.0
#include "console/access/login.h"

#include <chrono>
#include <utility>

#include "kube/crypto/secret_token.h"
#include "kube/types/unstructured.h"

namespace console {
namespace {

using kube::AccessVerdict;
using kube::Json;
using kube::Result;
using namespace std::chrono_literals;
namespace asio = kube::asio;

constexpr std::string_view kServiceAccount = "system:serviceaccount:";

// Logged-in users beyond this many are reviewed again.
constexpr size_t kMaxUsers = 256;

std::string AuthorizationIn(const kube::HttpCall& call) {
  auto forwarded = call.headers.find(kTokenHeader);
  if (forwarded == call.headers.end()) return call.authorization;
  return "Bearer " + forwarded->second;
}

}  // namespace

Login::Login(kube::Client& client, kube::Clock& clock, std::string secret)
    : client_(client),
      secret_(std::move(secret)),
      access_(clock, [this](std::string token) { return Review(std::move(token)); },
              {.max_allowed = kMaxUsers}) {}

asio::awaitable<Caller> Login::Find(const kube::HttpCall& call) {
  std::string authorization = AuthorizationIn(call);
  Caller caller;
  caller.verdict = co_await access_.Check(authorization);
  if (secret_.empty()) caller.authorization = std::move(authorization);
  co_return caller;
}

asio::awaitable<AccessVerdict> Login::Review(std::string token) {
  if (!secret_.empty() && !kube::SameSecret(token, secret_))
    co_return AccessVerdict{401, "not the secret that the console has printed"};
  kube::ApiRequest request{
      .method = kube::Method::kPost,
      .target = "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      .content_type = std::string(kube::kJson),
      .body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})",
      .authorization = secret_.empty() ? "Bearer " + token : "",
      .timeout = 5s};
  Result<kube::ApiResponse> response = co_await client_.Call(std::move(request));
  if (!response) {
    if (response.error().code() == kube::Code::kUnauthenticated)
      co_return AccessVerdict{401, "the API server does not accept the token"};
    if (response.error().code() == kube::Code::kPermissionDenied)
      co_return AccessVerdict{403, "the user may not ask the API server for the own name: " +
                                       response.error().message()};
    co_return AccessVerdict{503, "the API server did not say whose token this is: " +
                                     std::string(CodeName(response.error().code()))};
  }
  Result<Json> review = kube::ParseJson(response->body);
  const std::string user = review ? kube::StringAt(*review, "status.userInfo.username") : "";
  if (user.empty() || user == "system:anonymous")
    co_return AccessVerdict{401, "the API server does not accept the token"};
  co_return AccessVerdict{.status = 200, .user = user.substr(0, kube::kMaxUserBytes)};
}

std::string OwnerOf(const std::string& user) {
  if (!user.starts_with(kServiceAccount)) return user;
  return user.substr(0, user.find(':', kServiceAccount.size()));
}

}  // namespace console
