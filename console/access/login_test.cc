// SPDX-License-Identifier: Apache-2.0
#include "console/access/login.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/crypto/secret_token.h"
#include "kube/server/http_message.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/run.h"

namespace console {
namespace {

using kube::ApiRequest;
using kube::Async;
using kube::Error;

// An API server for which tokens that begin with "good" are of the user of the same name, and its
// own credentials are of "admin".
class Api final : public kube::Client {
 public:
  Async<kube::ApiResponse> Call(ApiRequest request) override {
    co_await kube::IgnoreCancellation();
    calls_.push_back(request);
    if (error_) co_return *error_;
    std::string user = "admin";
    if (!request.authorization.empty()) user = request.authorization.substr(7);
    if (user != "admin" && !user.starts_with("good"))
      co_return Error::Unauthenticated("Unauthorized");
    co_return kube::ApiResponse{
        201, "application/json",
        R"({"status":{"userInfo":{"username":")" + (name_.empty() ? user : name_) + "\"}}}"};
  }
  Async<std::unique_ptr<kube::WatchStream>> Watch(ApiRequest) override {
    co_await kube::IgnoreCancellation();
    co_return Error::Internal("not used");
  }

  std::vector<ApiRequest> calls_;
  std::optional<Error> error_;
  std::string name_;
};

class LoginTest : public ::testing::Test {
 protected:
  Caller Find(Login& login, kube::HttpCall call) {
    kube::Result<Caller> caller = kube::Run(io_, Ask(login, std::move(call)));
    EXPECT_TRUE(caller) << caller.error();
    return caller ? *caller : Caller();
  }
  static Async<Caller> Ask(Login& login, kube::HttpCall call) {
    Caller caller = co_await login.Find(call);
    co_return caller;
  }
  static kube::HttpCall WithToken(const std::string& token) {
    return {.method = "GET", .headers = {{kTokenHeader, token}}};
  }

  boost::asio::io_context io_{1};
  kube::FakeClock clock_;
  Api api_;
};

TEST_F(LoginTest, TheUserOfAToken) {
  Login login(api_, clock_, "");
  Caller caller = Find(login, WithToken("good-one"));
  EXPECT_EQ(caller.verdict.status, 200);
  EXPECT_EQ(caller.verdict.user, "good-one");
  EXPECT_EQ(caller.authorization, "Bearer good-one");
  EXPECT_EQ(api_.calls_[0].target, "/apis/authentication.k8s.io/v1/selfsubjectreviews");
  EXPECT_EQ(api_.calls_[0].authorization, "Bearer good-one");
  // From the cache.
  EXPECT_EQ(Find(login, WithToken("good-one")).verdict.user, "good-one");
  EXPECT_EQ(api_.calls_.size(), 1u);
  // A proxy may also set the usual header.
  caller = Find(login, {.method = "GET", .authorization = "Bearer good-two"});
  EXPECT_EQ(caller.authorization, "Bearer good-two");
}

TEST_F(LoginTest, WithoutAValidTokenNobodyIsSomebody) {
  Login login(api_, clock_, "");
  for (const char* token : {"", "bad", "good\r\nX: y", "good one"})
    EXPECT_EQ(Find(login, WithToken(token)).verdict.status, 401) << token;
  EXPECT_EQ(Find(login, {.method = "GET"}).verdict.status, 401);
  api_.name_ = "system:anonymous";
  EXPECT_EQ(Find(login, WithToken("good-but-anonymous")).verdict.status, 401);
  // The client's own credentials are never asked for.
  for (const ApiRequest& call : api_.calls_) EXPECT_NE(call.authorization, "");
}

TEST_F(LoginTest, AnApiServerThatDoesNotAnswerIsNoRefusal) {
  Login login(api_, clock_, "");
  api_.error_ = Error::Unavailable("away");
  EXPECT_EQ(Find(login, WithToken("good")).verdict.status, 503);
  api_.error_ = Error::PermissionDenied("forbidden");
  EXPECT_EQ(Find(login, WithToken("good-other")).verdict.status, 403);
}

TEST_F(LoginTest, WithASecretTheCredentialsAreTheClients) {
  const std::string secret = *kube::NewSecretToken();
  Login login(api_, clock_, secret);
  Caller caller = Find(login, WithToken(secret));
  EXPECT_EQ(caller.verdict.status, 200);
  EXPECT_EQ(caller.verdict.user, "admin");
  EXPECT_EQ(caller.authorization, "");
  EXPECT_EQ(Find(login, WithToken("good-one")).verdict.status, 401);
  EXPECT_EQ(Find(login, {.method = "GET"}).verdict.status, 401);
  EXPECT_EQ(api_.calls_.size(), 1u);
}

TEST(OwnerOfTest, ServiceAccountsOfANamespaceAreOneOwner) {
  EXPECT_EQ(OwnerOf("system:serviceaccount:shop:a"), OwnerOf("system:serviceaccount:shop:b"));
  EXPECT_NE(OwnerOf("system:serviceaccount:shop:a"), OwnerOf("system:serviceaccount:bank:a"));
  EXPECT_EQ(OwnerOf("jane"), "jane");
  EXPECT_EQ(OwnerOf("system:serviceaccount:"), "system:serviceaccount:");
}

}  // namespace
}  // namespace console
