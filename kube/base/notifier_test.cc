// SPDX-License-Identifier: Apache-2.0
#include "kube/base/notifier.h"

#include <gtest/gtest.h>

#include "kube/base/alarm.h"
#include "kube/base/backoff.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

class NotifierTest : public testing::Test {
 protected:
  asio::awaitable<void> Wait(std::optional<Result<>>& result) {
    Result<> waited = co_await notifier_.Wait();
    result = std::move(waited);
  }

  // Stores the results in a_ and b_. With `forget` the task ignores the first stop request.
  asio::awaitable<void> WaitTwice(bool forget) {
    co_await IgnoreCancellation();
    Result<> first = co_await notifier_.Wait();
    a_ = std::move(first);
    if (forget) co_await ForgetCancellation();
    Result<> second = co_await notifier_.Wait();
    b_ = std::move(second);
  }

  asio::io_context io_;
  FakeClock clock_;
  TaskGroup tasks_{io_.get_executor()};
  Notifier notifier_;
  std::optional<Result<>> a_;
  std::optional<Result<>> b_;
};

TEST_F(NotifierTest, WakesOneOrAll) {
  tasks_.Spawn("a", Wait(a_));
  tasks_.Spawn("b", Wait(b_));
  Drain(io_);
  EXPECT_FALSE(a_);
  notifier_.NotifyOne();
  Drain(io_);
  EXPECT_TRUE(a_ && *a_);
  EXPECT_FALSE(b_);
  notifier_.NotifyAll();
  Drain(io_);
  EXPECT_TRUE(b_ && *b_);
}

TEST_F(NotifierTest, ANotificationWithoutWaiterIsLost) {
  notifier_.NotifyOne();
  tasks_.Spawn("a", Wait(a_));
  Drain(io_);
  EXPECT_FALSE(a_);
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk());
  ASSERT_TRUE(a_);
  EXPECT_THAT(*a_, FailsWith(Code::kCancelled));
}

TEST_F(NotifierTest, AStoppingTaskDoesNotWaitAgain) {
  // The stop request arrives between the two waits.
  tasks_.Spawn("twice", WaitTwice(/*forget=*/false));
  Drain(io_);
  notifier_.NotifyOne();
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk());
  ASSERT_TRUE(a_ && b_);
  EXPECT_THAT(*b_, FailsWith(Code::kCancelled));
}

TEST_F(NotifierTest, TaskGroupStopEndsAfterItsGrace) {
  tasks_.Spawn("stubborn", WaitTwice(/*forget=*/true));
  Drain(io_);
  std::optional<Result<>> stopped;
  asio::co_spawn(io_, tasks_.Stop(clock_, 10s),
                 [&](std::exception_ptr, Result<> result) { stopped = std::move(result); });
  Drain(io_);
  EXPECT_TRUE(a_);
  clock_.Advance(9s);
  Drain(io_);
  EXPECT_FALSE(stopped);
  clock_.Advance(1s);
  Drain(io_);
  ASSERT_TRUE(stopped);
  EXPECT_THAT(*stopped, FailsWith(Code::kDeadlineExceeded, testing::HasSubstr("stubborn")));
  Drain(io_);
  EXPECT_TRUE(b_) << "cancelled after the grace period";
}

TEST_F(NotifierTest, TaskGroupStopsATaskThatHasNotStarted) {
  tasks_.Spawn("a", Wait(a_));
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk());
  EXPECT_EQ(tasks_.size(), 0u);
}

TEST_F(NotifierTest, FakeClockWakesSleepersInTheOrderOfTheirTimes) {
  std::vector<std::string> woken;
  auto sleep = [](FakeClock* clock, Duration delay, std::string name,
                  std::vector<std::string>* woken) -> asio::awaitable<void> {
    Result<> slept = co_await clock->Sleep(delay);
    woken->push_back(name + (slept ? "" : " cancelled"));
  };
  tasks_.Spawn("late", sleep(&clock_, 3s, "late", &woken));
  tasks_.Spawn("early", sleep(&clock_, 1s, "early", &woken));
  tasks_.Spawn("never", sleep(&clock_, 1h, "never", &woken));
  Drain(io_);
  EXPECT_EQ(clock_.sleepers(), 3u);
  EXPECT_EQ(clock_.next(), clock_.Now() + 1s);
  WallTime before = clock_.WallNow();
  clock_.Advance(3s);
  EXPECT_EQ(clock_.WallNow() - before, 3s);
  Drain(io_);
  EXPECT_THAT(woken, testing::ElementsAre("early", "late"));
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk());
  EXPECT_EQ(woken.back(), "never cancelled");
  Drain(io_);  // Stop() has cancelled its own alarm
  EXPECT_EQ(clock_.sleepers(), 0u);
}

TEST_F(NotifierTest, AlarmCallsOnceAtTheLastTimeSet) {
  int calls = 0;
  Alarm alarm(clock_, [&] { ++calls; });
  alarm.Set(io_.get_executor(), clock_.Now() + 1s);
  alarm.Set(io_.get_executor(), clock_.Now() + 5s);
  Drain(io_);
  clock_.Advance(4s);
  Drain(io_);
  EXPECT_EQ(calls, 0);
  clock_.Advance(1s);
  Drain(io_);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(alarm.set_to());
  clock_.Advance(1h);
  Drain(io_);
  EXPECT_EQ(calls, 1);
}

TEST_F(NotifierTest, ADestroyedOrCancelledAlarmDoesNotCall) {
  int calls = 0;
  Alarm cancelled(clock_, [&] { ++calls; });
  cancelled.Set(io_.get_executor(), clock_.Now() + 1s);
  {
    Alarm destroyed(clock_, [&] { ++calls; });
    destroyed.Set(io_.get_executor(), clock_.Now() + 1s);
    Drain(io_);
    clock_.Advance(1s);  // due, but the handler has not run
  }
  cancelled.Cancel();
  Drain(io_);
  EXPECT_EQ(calls, 0);
}

TEST(BackoffTest, DoublesUpToItsCapWithJitterBelow) {
  Backoff backoff({.base = 100ms, .cap = 1s, .jitter = 0.5});
  for (Duration most : {100ms, 200ms, 400ms, 800ms, 1000ms, 1000ms}) {
    Duration delay = backoff.Next();
    EXPECT_LE(delay, most);
    EXPECT_GE(delay, most / 2);
  }
  EXPECT_EQ(backoff.failures(), 6);
  backoff.Reset();
  EXPECT_LE(backoff.Next(), 100ms);
}

}  // namespace
}  // namespace kube
