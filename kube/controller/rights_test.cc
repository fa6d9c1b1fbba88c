// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/rights.h"

#include <gtest/gtest.h>

#include "kube/base/task_group.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/fake_reviewer.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

class RightsTest : public testing::Test {
 protected:
  RightsTest() {
    tasks_.Spawn("rights", rights_.Run());
    Drain(io_);
  }
  ~RightsTest() override { EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk()); }

  void OnForbidden() {
    rights_.OnForbidden();
    Drain(io_);
  }
  void Advance(Duration time) {
    clock_.Advance(time);
    Drain(io_);
  }

  FakeClock clock_;
  asio::io_context io_;
  FakeReviewer api_;
  TaskGroup tasks_{io_.get_executor()};
  Rights rights_{api_,
                 clock_,
                 {{.verb = "update", .resource = "pods", .ns = "ns"},
                  {.verb = "watch", .resource = "pods", .ns = "ns"}}};
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
  EXPECT_EQ(api_.namespaces, std::set<std::string>{"ns"});
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
  EXPECT_THAT(rights_.Check(), FailsWith(Code::kPermissionDenied,
                                         testing::HasSubstr("update pods in namespace ns")));
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
}  // namespace kube
