// SPDX-License-Identifier: Apache-2.0
#include "kube/base/shared_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <vector>

#include "kube/base/task_group.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

class SharedCallTest : public testing::Test {
 protected:
  ~SharedCallTest() override { EXPECT_THAT(kube::Run(io_, tasks_.Stop(RealClock(), 5s)), IsOk()); }

  // Returns the number of calls so far, after a second.
  Async<int> Count() {
    int count = ++calls_;
    Result<> slept = co_await clock_.Sleep(1s);
    if (!slept) co_return slept.error();
    if (fails_) co_return Error::Unavailable("503");
    co_return count;
  }
  asio::awaitable<void> AskAndNote() {
    Result<int> answer = co_await call_.Call();
    answers_.push_back(answer ? *answer : -1);
  }
  void Ask(int times = 1) {
    for (int i = 0; i < times; ++i) tasks_.Spawn("ask", AskAndNote());
    Drain(io_);
  }
  void Second() {
    clock_.Advance(1s);
    Drain(io_);
  }

  asio::io_context io_;
  FakeClock clock_;
  TaskGroup tasks_{io_.get_executor()};
  int calls_ = 0;
  bool fails_ = false;
  std::vector<int> answers_;
  SharedCall<int> call_{[this] { return Count(); }};
};

TEST_F(SharedCallTest, CallersDuringACallShareTheNextOne) {
  Ask();
  Ask(100);
  EXPECT_EQ(calls_, 1);
  Second();
  EXPECT_THAT(answers_, ElementsAre(1));
  EXPECT_EQ(calls_, 2);
  Second();
  EXPECT_EQ(calls_, 2);
  ASSERT_THAT(answers_, SizeIs(101));
  answers_.erase(answers_.begin());
  EXPECT_THAT(answers_, Each(2));
  EXPECT_TRUE(call_.idle());
}

TEST_F(SharedCallTest, AnErrorReachesAllCallersOfItsCallOnly) {
  fails_ = true;
  Ask();
  Ask(2);
  Second();
  fails_ = false;
  Second();
  EXPECT_THAT(answers_, ElementsAre(-1, 2, 2));
}

TEST_F(SharedCallTest, ACancelledCallerDoesNotBlockOthers) {
  Ask();
  Ask(3);
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(RealClock(), 5s)), IsOk());
  EXPECT_THAT(answers_, ElementsAre(-1, -1, -1, -1));
  EXPECT_TRUE(call_.idle());
}

}  // namespace
}  // namespace kube
