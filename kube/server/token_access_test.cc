// SPDX-License-Identifier: Apache-2.0
#include "kube/server/token_access.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/error.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/server/token_review.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/run.h"
#include "kube/types/unstructured.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

// Accepts tokens that begin with "good" or "weak"; only the user of the former has access.
class ReviewingApi final : public Client {
 public:
  Async<ApiResponse> Call(ApiRequest request) override {
    co_await IgnoreCancellation();
    last_timeout_ = request.timeout;
    Json body = *ParseJson(request.body);
    bool token_review = request.target == "/apis/authentication.k8s.io/v1/tokenreviews";
    ++(token_review ? token_reviews_ : access_reviews_);
    while (held_) {
      Result<> waited = co_await released_.Wait();
      if (!waited) co_return waited.error();
    }
    if (error_) co_return *error_;
    Json status;
    if (token_review) {
      std::string token = StringAt(body, "spec.token");
      status["authenticated"] = token.starts_with("good") || token.starts_with("weak");
      status["user"] = {{"username", token}, {"groups", {"system:authenticated"}}, {"uid", "7"}};
    } else {
      EXPECT_EQ(request.target, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
      access_spec_ = body["spec"];
      status["allowed"] = StringAt(body, "spec.user").starts_with("good");
    }
    if (answer_) status = *answer_;
    co_return ApiResponse{201, "application/json", DumpJson(Json({{"status", status}}))};
  }
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest) override {
    co_return Error::Internal("not used");
  }
  void Release() {
    held_ = false;
    released_.NotifyAll();
  }

  bool held_ = false;
  std::optional<Error> error_;
  std::optional<Json> answer_;
  int token_reviews_ = 0;
  int access_reviews_ = 0;
  Json access_spec_;
  std::chrono::milliseconds last_timeout_{0};

 private:
  Notifier released_;
};

class TokenAccessTest : public testing::Test {
 protected:
  int Check(std::string authorization) {
    Result<TokenAccess::Verdict> verdict = kube::Run(io_, Ask(access_, std::move(authorization)));
    EXPECT_TRUE(verdict) << verdict.error();
    if (!verdict) return 0;
    EXPECT_EQ(verdict->reason.empty(), verdict->status == 200) << verdict->reason;
    reason_ = verdict->reason;
    user_ = verdict->user;
    return verdict->status;
  }
  static Async<TokenAccess::Verdict> Ask(TokenAccess& access, std::string authorization) {
    TokenAccess::Verdict verdict = co_await access.Check(std::move(authorization));
    co_return verdict;
  }
  asio::awaitable<TokenAccess::Verdict> Review(std::string token) {
    AskedAccess asked{.text = "get the non-resource URL /metrics"};
    asked.attributes["nonResourceAttributes"] = {{"path", "/metrics"}, {"verb", "get"}};
    TokenAccess::Verdict verdict =
        co_await ReviewToken(api_, clock_, std::move(token), std::move(asked), 5s);
    co_return verdict;
  }
  // Starts a check; its status is added to `into` when it ends.
  void Start(TaskGroup& tasks, std::string authorization, std::vector<int>& into) {
    tasks.Spawn("check", Collect(access_, std::move(authorization), into));
  }
  static asio::awaitable<void> Collect(TokenAccess& access, std::string authorization,
                                       std::vector<int>& into) {
    TokenAccess::Verdict verdict = co_await access.Check(std::move(authorization));
    into.push_back(verdict.status);
  }

  asio::io_context io_{1};
  FakeClock clock_;
  ReviewingApi api_;
  TokenAccess access_{clock_, [this](std::string token) { return Review(std::move(token)); }};
  std::string reason_, user_;
};

TEST_F(TokenAccessTest, TheApiServerDecides) {
  EXPECT_EQ(Check("Bearer good.token"), 200);
  EXPECT_EQ(user_, "good.token");
  EXPECT_EQ(api_.access_spec_,
            *ParseJson(R"({"user":"good.token","uid":"7","groups":["system:authenticated"],
                "nonResourceAttributes":{"path":"/metrics","verb":"get"}})"));
  EXPECT_EQ(Check("bearer weak"), 403);
  EXPECT_EQ(reason_, "weak may not get the non-resource URL /metrics");
  EXPECT_EQ(Check("Bearer bad"), 401);
}

TEST_F(TokenAccessTest, RefusesWithoutAReviewWhatIsNoBearerToken) {
  for (const char* header : {"", "Bearer", "Bearer ", "Basic Z29vZDp4", "good", "Bearer good bad",
                             "Bearer good\n", "Bearer g\xc3\xb6od", "Bearer \"good\""}) {
    EXPECT_EQ(Check(header), 401) << header;
  }
  EXPECT_EQ(Check("Bearer good" + std::string(8 * 1024, 'x')), 401);
  EXPECT_EQ(api_.token_reviews_, 0);
}

TEST_F(TokenAccessTest, RemembersVerdictsForATime) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Check("Bearer good"), 200);
    EXPECT_EQ(Check("Bearer weak"), 403);
    EXPECT_EQ(Check("Bearer bad"), 401);
  }
  EXPECT_EQ(api_.token_reviews_, 3);
  EXPECT_EQ(api_.access_reviews_, 2);

  clock_.Advance(10s);
  EXPECT_EQ(Check("Bearer good"), 200);
  EXPECT_EQ(Check("Bearer weak"), 403);
  EXPECT_EQ(api_.token_reviews_, 4) << "the refused one again";
  clock_.Advance(50s);
  EXPECT_EQ(Check("Bearer good"), 200);
  EXPECT_EQ(api_.token_reviews_, 5);
}

TEST_F(TokenAccessTest, AccessThatIsWithdrawnEnds) {
  EXPECT_EQ(Check("Bearer good"), 200);
  clock_.Advance(60s);
  api_.answer_ = {{"authenticated", false}};
  EXPECT_EQ(Check("Bearer good"), 401);
  EXPECT_EQ(Check("Bearer good"), 401);
  EXPECT_EQ(api_.token_reviews_, 2);
}

TEST_F(TokenAccessTest, ConcurrentRequestsShareAReview) {
  TaskGroup tasks(io_.get_executor());
  std::vector<int> statuses;
  api_.held_ = true;
  for (int i = 0; i < 20; ++i) Start(tasks, "Bearer good", statuses);
  Drain(io_);
  EXPECT_TRUE(statuses.empty());
  api_.Release();
  Drain(io_);
  EXPECT_EQ(statuses, std::vector<int>(20, 200));
  EXPECT_EQ(api_.token_reviews_, 1);
  EXPECT_EQ(api_.access_reviews_, 1);
}

TEST_F(TokenAccessTest, AnApiServerWithoutAnAnswerMeans503ForAMoment) {
  api_.error_ = Error::Unavailable("503");
  EXPECT_EQ(Check("Bearer good"), 503);
  EXPECT_EQ(Check("Bearer good"), 503);
  EXPECT_EQ(api_.token_reviews_, 1) << "a failure is remembered too";
  EXPECT_LE(api_.last_timeout_, 5s);
  EXPECT_GT(api_.last_timeout_, 0s);
  api_.error_.reset();
  clock_.Advance(1s);
  EXPECT_EQ(Check("Bearer good"), 200);
}

TEST_F(TokenAccessTest, AProgramWithoutTheRightToReviewSays503) {
  api_.error_ = Error::PermissionDenied("tokenreviews is forbidden");
  EXPECT_EQ(Check("Bearer good"), 503);
  EXPECT_NE(reason_.find("PermissionDenied"), std::string::npos) << reason_;
}

TEST_F(TokenAccessTest, UnknownTokensCannotLoadTheApiServer) {
  EXPECT_EQ(Check("Bearer good"), 200);
  for (int i = 0; i < 1000; ++i) Check("Bearer bad" + std::to_string(i));
  EXPECT_EQ(api_.token_reviews_, 10) << "the burst";
  clock_.Advance(3s);
  for (int i = 0; i < 1000; ++i) Check("Bearer new" + std::to_string(i));
  EXPECT_EQ(api_.token_reviews_, 16) << "two a second";
  EXPECT_EQ(Check("Bearer newest"), 503);

  // Unknown tokens do not keep a known token out, even when it has to be reviewed again.
  EXPECT_EQ(Check("Bearer good"), 200);
  clock_.Advance(60s);
  for (int i = 0; i < 1000; ++i) Check("Bearer later" + std::to_string(i));
  EXPECT_EQ(Check("Bearer good"), 200);
}

TEST_F(TokenAccessTest, FewUnknownTokensAreReviewedAtATime) {
  TaskGroup tasks(io_.get_executor());
  EXPECT_EQ(Check("Bearer good"), 200);
  clock_.Advance(60s);
  api_.held_ = true;
  std::vector<int> unknown;
  std::vector<int> known;
  for (int i = 0; i < 6; ++i) Start(tasks, "Bearer good" + std::to_string(i), unknown);
  Start(tasks, "Bearer good", known);
  Drain(io_);
  EXPECT_EQ(unknown, std::vector<int>(2, 503)) << "four wait for the API server";
  EXPECT_EQ(api_.token_reviews_, 1 + 4 + 1);
  api_.Release();
  Drain(io_);
  EXPECT_EQ(unknown.size(), 6u);
  EXPECT_EQ(known, std::vector<int>(1, 200));
}

TEST_F(TokenAccessTest, StrangeAnswersOfTheApiServerGiveNoAccess) {
  int number = 0;
  for (const char* answer :
       {"null", "[]", "1", "{}", R"({"authenticated":"true","user":{"username":"u"}})",
        R"({"authenticated":true})", R"({"authenticated":true,"user":{"username":""}})",
        R"({"authenticated":true,"user":{"username":["u"],"groups":7}})",
        R"({"authenticated":true,"user":{"username":"u"},"allowed":"yes"})"}) {
    api_.answer_ = *ParseJson(answer);
    clock_.Advance(1s);
    EXPECT_NE(Check("Bearer good" + std::to_string(++number)), 200) << answer;
  }
}

TEST_F(TokenAccessTest, RequestsThatWaitEndWhenTheProcessStops) {
  TaskGroup tasks(io_.get_executor());
  std::vector<int> statuses;
  api_.held_ = true;
  for (int i = 0; i < 3; ++i) Start(tasks, "Bearer good", statuses);
  Drain(io_);
  EXPECT_TRUE(kube::Run(io_, tasks.Stop(RealClock(), 10s)).has_value());
  EXPECT_EQ(statuses, std::vector<int>(3, 503));
}

}  // namespace
}  // namespace kube
