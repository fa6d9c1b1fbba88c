// SPDX-License-Identifier: Apache-2.0
#include "console/access/read_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace console {
namespace {

using kube::ApiRequest;
using kube::Async;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// Answers each call with a body of 1 KiB.
class Api final : public kube::Client {
 public:
  Async<kube::ApiResponse> Call(ApiRequest request) override {
    co_await kube::IgnoreCancellation();
    calls_.push_back(std::move(request));
    co_return kube::ApiResponse{200, "application/json", std::string(1024, ' ')};
  }
  Async<std::unique_ptr<kube::WatchStream>> Watch(ApiRequest) override {
    co_await kube::IgnoreCancellation();
    co_return kube::Error::Internal("not used");
  }

  std::vector<ApiRequest> calls_;
};

class ReadClientTest : public ::testing::Test {
 protected:
  kube::Result<kube::ApiResponse> Call(ApiRequest request) {
    return kube::Run(io_, client_.Call(std::move(request)));
  }

  boost::asio::io_context io_{1};
  kube::FakeClock clock_;
  Api api_;
  ReadClient client_{api_,
                     clock_,
                     "Bearer of-user",
                     {.of_pods = 3 * 1024, .of_others = 2 * 1024, .deadline = clock_.Now() + 10s}};
};

TEST_F(ReadClientTest, ReadsInTheNameOfTheUser) {
  EXPECT_THAT(Call({.target = "/api/v1/pods", .timeout = 30s}), IsOk());
  ASSERT_EQ(api_.calls_.size(), 1u);
  EXPECT_EQ(api_.calls_[0].authorization, "Bearer of-user");
  EXPECT_EQ(api_.calls_[0].timeout, 10s);
}

TEST_F(ReadClientTest, NeverWrites) {
  for (kube::Method method :
       {kube::Method::kPost, kube::Method::kPut, kube::Method::kPatch, kube::Method::kDelete})
    EXPECT_THAT(Call({.method = method, .target = "/api/v1/pods"}),
                FailsWith(Code::kPermissionDenied));
  EXPECT_THAT(kube::Run(io_, client_.Watch({.target = "/api/v1/pods?watch=1"})),
              FailsWith(Code::kPermissionDenied));
  EXPECT_TRUE(api_.calls_.empty());
}

TEST_F(ReadClientTest, AnAnswerHasABudgetOfBytes) {
  EXPECT_THAT(Call({.target = "/a"}), IsOk());
  EXPECT_THAT(Call({.target = "/b"}), IsOk());
  EXPECT_THAT(Call({.target = "/c"}), FailsWith(Code::kInvalid, HasSubstr("choose a namespace")));
  for (int page = 0; page < 3; ++page)
    EXPECT_THAT(Call({.target = "/api/v1/namespaces/shop/pods?limit=1"}), IsOk());
  EXPECT_THAT(Call({.target = "/api/v1/pods"}), FailsWith(Code::kInvalid));
  EXPECT_EQ(api_.calls_.size(), 5u);
  // What no tenant writes.
  for (int page = 0; page < 9; ++page) EXPECT_THAT(Call({.target = "/api/v1/nodes"}), IsOk());
}

TEST_F(ReadClientTest, AnAnswerHasATime) {
  clock_.Advance(4s);
  EXPECT_THAT(Call({.target = "/a", .timeout = 30s}), IsOk());
  EXPECT_EQ(api_.calls_[0].timeout, 6s);
  clock_.Advance(6s);
  EXPECT_THAT(Call({.target = "/a"}), FailsWith(Code::kDeadlineExceeded));
}

}  // namespace
}  // namespace console
