// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"

namespace cluster_controller {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Json;
using kube::Result;
using ::testing::ElementsAre;
using ::testing::Pair;

// Answers TokenRequests as an API server does.
class TokenServer final : public kube::Client {
 public:
  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    request_ = request;
    if (failure_) co_return *failure_;
    co_return kube::ApiResponse{.status = 201, .content_type = "", .body = answer_};
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest) override {
    co_return kube::Error::Internal("not used");
  }

  std::string answer_;
  std::optional<kube::Error> failure_;
  kube::ApiRequest request_;
};

const inspection::PodIdentity kPod{.ns = "shop", .pod = "web-0", .uid = "u-1", .account = "web"};

TEST(PodTokensTest, ATokenIsBoundToThePodAndOfOneAudience) {
  boost::asio::io_context io;
  TokenServer server;
  server.answer_ = R"({"kind":"TokenRequest","status":{"token":"t"}})";
  PodTokens tokens(server);
  Result<std::string> token = kube::Run(io, tokens.Token(kPod, "registry"));
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(*token, "t");
  EXPECT_EQ(server.request_.method, kube::Method::kPost);
  EXPECT_EQ(server.request_.target, "/api/v1/namespaces/shop/serviceaccounts/web/token");
  Json wanted = {{"audiences", {"registry"}},
                 {"expirationSeconds", 600},
                 {"boundObjectRef",
                  {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "web-0"}, {"uid", "u-1"}}}};
  EXPECT_EQ((*kube::ParseJson(server.request_.body))["spec"], wanted);
}

TEST(PodTokensTest, AnAnswerWithoutATokenIsAnErrorThatDoesNotQuoteIt) {
  boost::asio::io_context io;
  TokenServer server;
  PodTokens tokens(server);
  for (const std::string& answer :
       {std::string("secret"), std::string("{}"), std::string(R"({"status":{"token":7}})"),
        R"({"status":{"token":")" + std::string(70'000, 'x') + R"("}})"}) {
    server.answer_ = answer;
    EXPECT_THAT(
        kube::Run(io, tokens.Token(kPod, "a")),
        FailsWith(Code::kInvalid, ::testing::StrEq("the TokenRequest has no usable token")));
  }
  server.failure_ = kube::Error::PermissionDenied("403");
  EXPECT_THAT(kube::Run(io, tokens.Token(kPod, "a")), FailsWith(Code::kPermissionDenied));
}

TEST(PodTokensTest, AnAccountHasOnlyTheAnnotationsThatAreAskedFor) {
  boost::asio::io_context io;
  kube::FakeApiServer api;
  Json created = api.CreateJson(
      kube::kServiceAccounts,
      {{"apiVersion", "v1"},
       {"kind", "ServiceAccount"},
       {"metadata",
        {{"name", "web"},
         {"namespace", "shop"},
         {"annotations", {{"example.com/role", "reader"}, {"example.com/other", "x"}}}}}});
  PodTokens tokens(api);
  auto account = kube::Run(io, tokens.Account(kPod, {"example.com/role", "example.com/absent"}));
  ASSERT_THAT(account, IsOk());
  EXPECT_EQ(account->uid, kube::StringAt(created, "metadata.uid"));
  EXPECT_THAT(account->annotations, ElementsAre(Pair("example.com/role", "reader")));
  inspection::PodIdentity other = kPod;
  other.account = "absent";
  EXPECT_THAT(kube::Run(io, tokens.Account(other, {})), FailsWith(Code::kNotFound));
}

}  // namespace
}  // namespace cluster_controller
