// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
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
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// Answers TokenRequests as an API server does.
class TokenServer final : public kube::Client {
 public:
  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    co_await kube::IgnoreCancellation();
    if (request.body.find(PodTokens::kDeniedAudience) != std::string::npos) {
      ++checks_;
      if (denial_) co_return *denial_;
      co_return kube::ApiResponse{.status = 201, .content_type = "", .body = kToken};
    }
    requests_.push_back(request);
    while (stopped_) {
      Result<void> waited = co_await go_.Wait();
      if (!waited) co_return waited.error();
    }
    if (failure_) co_return *failure_;
    co_return kube::ApiResponse{.status = 201, .content_type = "", .body = answer_};
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest) override {
    co_return kube::Error::Internal("not used");
  }

  static constexpr char kToken[] = R"({"kind":"TokenRequest","status":{"token":"t"}})";
  std::string answer_ = kToken;
  std::optional<kube::Error> failure_;
  // Of the token for the audience that must be denied.
  std::optional<kube::Error> denial_ = kube::Error::PermissionDenied(
      "serviceaccounts \"web\" is forbidden: ValidatingAdmissionPolicy "
      "'pod-placement-controller-tokens' with binding 'pod-placement-controller-tokens' denied "
      "request: the ConfigMap service-account-token-audiences does not name this audience");
  int checks_ = 0;
  std::vector<kube::ApiRequest> requests_;
  bool stopped_ = false;
  kube::Notifier go_;
};

class PodTokensTest : public ::testing::Test {
 protected:
  ~PodTokensTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  kube::TimePoint Deadline() const { return clock_.Now() + 60s; }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  TokenServer server_;
  PodTokens tokens_{io_.get_executor(), server_, clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
};

const inspection::PodIdentity kPod{.ns = "shop", .pod = "web-0", .uid = "u-1", .account = "web"};

TEST_F(PodTokensTest, ATokenIsBoundToThePodAndOfOneAudience) {
  Result<std::string> token = kube::Run(io_, tokens_.Token(kPod, "registry", Deadline()));
  ASSERT_THAT(token, IsOk());
  EXPECT_EQ(*token, "t");
  EXPECT_EQ(server_.requests_.back().method, kube::Method::kPost);
  EXPECT_EQ(server_.requests_.back().target, "/api/v1/namespaces/shop/serviceaccounts/web/token");
  Json wanted = {{"audiences", {"registry"}},
                 {"expirationSeconds", 600},
                 {"boundObjectRef",
                  {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", "web-0"}, {"uid", "u-1"}}}};
  EXPECT_EQ((*kube::ParseJson(server_.requests_.back().body))["spec"], wanted);
}

TEST_F(PodTokensTest, AnAnswerWithoutATokenIsAnErrorThatDoesNotQuoteIt) {
  for (const std::string& answer :
       {std::string("secret"), std::string("{}"), std::string(R"({"status":{"token":7}})"),
        R"({"status":{"token":")" + std::string(70'000, 'x') + R"("}})"}) {
    server_.answer_ = answer;
    EXPECT_THAT(
        kube::Run(io_, tokens_.Token(kPod, "a", Deadline())),
        FailsWith(Code::kInvalid, ::testing::StrEq("the TokenRequest has no usable token")));
  }
  server_.failure_ = kube::Error::PermissionDenied("403");
  EXPECT_THAT(kube::Run(io_, tokens_.Token(kPod, "a", Deadline())),
              FailsWith(Code::kPermissionDenied));
}

TEST_F(PodTokensTest, AnAccountHasOnlyTheAnnotationsThatAreAskedFor) {
  kube::FakeApiServer api;
  Json created = api.CreateJson(
      kube::kServiceAccounts,
      {{"apiVersion", "v1"},
       {"kind", "ServiceAccount"},
       {"metadata",
        {{"name", "web"},
         {"namespace", "shop"},
         {"annotations", {{"example.com/role", "reader"}, {"example.com/other", "x"}}}}}});
  PodTokens tokens(io_.get_executor(), api, clock_);
  auto account =
      kube::Run(io_, tokens.Account(kPod, {"example.com/role", "example.com/absent"}, Deadline()));
  ASSERT_THAT(account, IsOk());
  EXPECT_EQ(account->uid, kube::StringAt(created, "metadata.uid"));
  EXPECT_THAT(account->annotations, ElementsAre(Pair("example.com/role", "reader")));
  inspection::PodIdentity other = kPod;
  other.account = "absent";
  EXPECT_THAT(kube::Run(io_, tokens.Account(other, {}, Deadline())), FailsWith(Code::kNotFound));
}

TEST_F(PodTokensTest, AnAccountIsReadWithoutItsSecretsAndWithBoundedAnnotations) {
  server_.answer_ = R"({"metadata":{"uid":"u","annotations":{"a":")" +
                    std::string(PodTokens::kMaxAnnotationBytes - 3, 'x') +
                    R"(","b":"yy","large":")" + std::string(200'000, 'x') + R"("}}})";
  auto account = kube::Run(io_, tokens_.Account(kPod, {"a"}, Deadline()));
  ASSERT_THAT(account, IsOk());
  EXPECT_EQ(server_.requests_.back().accept,
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
  for (const char* key : {"b", "large"}) {
    EXPECT_THAT(kube::Run(io_, tokens_.Account(kPod, {"a", key}, Deadline())),
                FailsWith(Code::kInvalid, HasSubstr("larger than 16 KiB")))
        << key;
  }
  server_.answer_ = "[";
  EXPECT_THAT(kube::Run(io_, tokens_.Account(kPod, {}, Deadline())), FailsWith(Code::kInvalid));
}

TEST_F(PodTokensTest, AccountsAreReadEightAtATime) {
  server_.answer_ = R"({"metadata":{"uid":"u"}})";
  server_.stopped_ = true;
  int ended = 0;
  for (int i = 0; i < 20; ++i) {
    tasks_.Spawn(
        "read",
        [](PodTokens& tokens, kube::TimePoint deadline, int& count) -> kube::asio::awaitable<void> {
          inspection::PodIdentity pod = kPod;
          std::vector<std::string> keys;
          auto account = co_await tokens.Account(std::move(pod), std::move(keys), deadline);
          if (account) ++count;
        }(tokens_, Deadline(), ended));
  }
  kube::Drain(io_);
  EXPECT_EQ(server_.requests_.size(), PodTokens::kMaxReads);
  server_.stopped_ = false;
  server_.go_.NotifyAll();
  EXPECT_TRUE(kube::RunUntil(io_, [&] { return ended == 20; }));
}

TEST_F(PodTokensTest, CallsEndByTheDeadline) {
  ASSERT_THAT(kube::Run(io_, tokens_.Token(kPod, "a", Deadline())), IsOk());
  EXPECT_EQ(server_.requests_.back().timeout, 10s);
  kube::TimePoint soon = clock_.Now() + 3s;
  ASSERT_THAT(kube::Run(io_, tokens_.Token(kPod, "a", soon)), IsOk());
  EXPECT_EQ(server_.requests_.back().timeout, 3s);
  ASSERT_THAT(kube::Run(io_, tokens_.Account(kPod, {}, soon)), IsOk());
  EXPECT_EQ(server_.requests_.back().timeout, 3s);
  size_t before = server_.requests_.size();
  EXPECT_THAT(kube::Run(io_, tokens_.Token(kPod, "a", clock_.Now())),
              FailsWith(Code::kDeadlineExceeded, HasSubstr("no time is left")));
  EXPECT_THAT(kube::Run(io_, tokens_.Account(kPod, {}, clock_.Now())),
              FailsWith(Code::kDeadlineExceeded));
  EXPECT_EQ(server_.requests_.size(), before);
}

// The right alone has no limit: RBAC knows no audiences.
TEST_F(PodTokensTest, WithoutThePolicyNoTokenIsUsed) {
  server_.denial_.reset();
  EXPECT_THAT(kube::Run(io_, tokens_.Token(kPod, "registry", Deadline())),
              FailsWith(Code::kPermissionDenied, HasSubstr("is not in force")));
  EXPECT_TRUE(server_.requests_.empty());
}

TEST_F(PodTokensTest, ThePolicyIsCheckedAgain) {
  for (int i = 0; i < 3; ++i)
    EXPECT_THAT(kube::Run(io_, tokens_.Token(kPod, "r", Deadline())), IsOk());
  EXPECT_EQ(server_.checks_, 1);
  clock_.Advance(PodTokens::kLimitInterval);
  server_.denial_.reset();
  EXPECT_THAT(kube::Run(io_, tokens_.Token(kPod, "r", Deadline())),
              FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(server_.requests_.size(), 3u);
}

// Of another namespace, where the right is missing, a denial says nothing about the policy.
TEST_F(PodTokensTest, AMissingRightIsNotTakenForThePolicy) {
  server_.denial_ = kube::Error::PermissionDenied(
      "serviceaccounts \"web\" is forbidden: User \"controller\" cannot create resource "
      "\"serviceaccounts/token\"");
  EXPECT_THAT(kube::Run(io_, tokens_.Token(kPod, "r", Deadline())),
              FailsWith(Code::kPermissionDenied, HasSubstr("cannot create resource")));
  server_.denial_.reset();
  EXPECT_THAT(kube::Run(io_, tokens_.Token(kPod, "r", Deadline())),
              FailsWith(Code::kPermissionDenied, HasSubstr("is not in force")));
  // The account is gone: that is the error of the token.
  server_.denial_ = kube::Error::NotFound("serviceaccounts \"web\" not found");
  EXPECT_THAT(kube::Run(io_, tokens_.Token(kPod, "r", Deadline())), FailsWith(Code::kNotFound));
  EXPECT_TRUE(server_.requests_.empty());
}

}  // namespace
}  // namespace cluster_controller
