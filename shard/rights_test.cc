// SPDX-License-Identifier: Apache-2.0
#include "shard/rights.h"

#include <gtest/gtest.h>

#include "kube/base/task_group.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/unstructured.h"

namespace shard {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Json;
using kube::Result;
using namespace std::chrono_literals;

// Answers reviews: allows everything except one resource and verb.
class Reviewer final : public kube::Client {
 public:
  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    ++calls;
    if (down) co_return kube::Error::Unavailable("down");
    Json review = *kube::ParseJson(request.body);
    EXPECT_EQ(request.target, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    EXPECT_EQ(kube::StringAt(review, "spec.resourceAttributes.namespace"), "ns");
    std::string asked = kube::StringAt(review, "spec.resourceAttributes.verb") + " " +
                        kube::StringAt(review, "spec.resourceAttributes.resource");
    review["status"]["allowed"] = asked != denied;
    std::string body = kube::DumpJson(review);
    co_return kube::ApiResponse{201, std::string(kube::kJson), std::move(body)};
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest) override {
    co_return kube::Error::Internal("no watch");
  }

  std::string denied;
  bool down = false;
  int calls = 0;
};

class RightsTest : public testing::Test {
 protected:
  RightsTest() {
    tasks_.Spawn("rights", rights_.Run());
    kube::Drain(io_);
  }
  ~RightsTest() override { EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk()); }

  void OnForbidden() {
    rights_.OnForbidden();
    kube::Drain(io_);
  }
  void Advance(kube::Duration time) {
    clock_.Advance(time);
    kube::Drain(io_);
  }

  kube::FakeClock clock_;
  kube::asio::io_context io_;
  Reviewer api_;
  kube::TaskGroup tasks_{io_.get_executor()};
  Rights rights_{api_, clock_, "ns"};
};

TEST_F(RightsTest, WithoutA403NothingIsReviewed) {
  Advance(1h);
  EXPECT_EQ(api_.calls, 0);
  EXPECT_THAT(rights_.Check(), IsOk());
}

TEST_F(RightsTest, ARefusalByAPolicyIsNoMissingPermission) {
  OnForbidden();
  EXPECT_GT(api_.calls, 0);
  EXPECT_THAT(rights_.Check(), IsOk());
  // Further 403s do not cause a call each.
  int calls = api_.calls;
  for (int i = 0; i < 100; ++i) OnForbidden();
  EXPECT_EQ(api_.calls, calls);
  Advance(10s);
  EXPECT_LE(api_.calls, 2 * calls);
}

TEST_F(RightsTest, AMissingPermissionIsNamedUntilItIsGranted) {
  api_.denied = "update pods";
  OnForbidden();
  EXPECT_THAT(rights_.Check(),
              FailsWith(Code::kPermissionDenied, testing::HasSubstr("update pods")));
  Advance(10s);
  EXPECT_THAT(rights_.Check(), FailsWith(Code::kPermissionDenied));
  api_.denied = "";
  Advance(10s);
  EXPECT_THAT(rights_.Check(), IsOk());
}

TEST_F(RightsTest, AnUnavailableApiServerChangesNothing) {
  api_.down = true;
  OnForbidden();
  EXPECT_THAT(rights_.Check(), IsOk());
}

}  // namespace
}  // namespace shard
