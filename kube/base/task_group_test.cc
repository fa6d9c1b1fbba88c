// SPDX-License-Identifier: Apache-2.0
#include "kube/base/task_group.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

asio::awaitable<void> SleepFor(Clock& clock, Duration duration, int& ended) {
  Result<> slept = co_await clock.Sleep(duration);
  (void)slept;
  ++ended;
}

// Retries after its cancellation.
asio::awaitable<void> NeverEnd(Clock& clock) {
  co_await IgnoreCancellation();
  while (true) {
    Result<> slept = co_await clock.Sleep(1h);
    (void)slept;
  }
}

// Is always cancelled while its timer has fired but its handler has not run.
asio::awaitable<void> SleepAgainAndAgain() {
  co_await IgnoreCancellation();
  while (true) {
    Result<> slept = co_await RealClock().Sleep(-1ms);
    if (!slept) co_return;
  }
}

class TaskGroupTest : public ::testing::Test {
 protected:
  // Starts Stop(), which stores its result in `stopped_`.
  void StartStop(Duration grace) {
    asio::co_spawn(context_, tasks_.Stop(clock_, grace),
                   [this](std::exception_ptr, Result<> result) { stopped_ = std::move(result); });
  }
  void Advance(Duration step) {
    clock_.Advance(step);
    Drain(context_);
  }

  FakeClock clock_;
  asio::io_context context_{1};
  TaskGroup tasks_{context_.get_executor()};
  std::optional<Result<>> stopped_;
};

TEST_F(TaskGroupTest, StopCancelsSleepingTasksWithinTheGrace) {
  int ended = 0;
  tasks_.Spawn("a", SleepFor(clock_, 1h, ended));
  tasks_.Spawn("b", SleepFor(clock_, 1h, ended));
  Drain(context_);
  EXPECT_EQ(tasks_.size(), 2u);
  EXPECT_EQ(TaskGroup::Running(), 2u);

  // The clock does not advance: neither the sleeps nor the grace end.
  EXPECT_TRUE(kube::Run(context_, tasks_.Stop(clock_, 1h)).has_value());
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(tasks_.size(), 0u);
  EXPECT_EQ(TaskGroup::Running(), 0u);
}

TEST_F(TaskGroupTest, CancellationIsNotLostOnATimerThatHasFired) {
  for (int i = 0; i < 20; ++i) tasks_.Spawn("restless", SleepAgainAndAgain());
  for (int i = 0; i < 30; ++i) context_.run_one();
  EXPECT_TRUE(kube::Run(context_, tasks_.Stop(clock_, 1min)).has_value());
}

asio::awaitable<void> FinishSleep(Clock& clock, Duration duration, bool& cancelled) {
  co_await IgnoreCancellation();
  co_await FinishWhenStopped();
  Result<> slept = co_await clock.Sleep(duration);
  cancelled = !slept;
}

TEST_F(TaskGroupTest, ATaskThatFinishesItsWorkIsCancelledAfterTheGrace) {
  bool short_cancelled = true;
  bool long_cancelled = false;
  tasks_.Spawn("short", FinishSleep(clock_, 2s, short_cancelled));
  tasks_.Spawn("long", FinishSleep(clock_, 1h, long_cancelled));
  Drain(context_);
  StartStop(10s);
  Drain(context_);
  EXPECT_EQ(tasks_.size(), 2u) << "no task is cancelled yet";
  Advance(2s);
  EXPECT_EQ(tasks_.size(), 1u);
  EXPECT_FALSE(short_cancelled);
  Advance(7s);
  EXPECT_FALSE(stopped_.has_value());
  Advance(1s);
  ASSERT_TRUE(stopped_.has_value());
  ASSERT_TRUE(FailedWith(*stopped_, Code::kDeadlineExceeded));
  EXPECT_EQ(stopped_->error().message(), "tasks still running: long");
  EXPECT_TRUE(kube::Run(context_, tasks_.Stop(clock_, 1min)).has_value());
  EXPECT_TRUE(long_cancelled);
}

asio::awaitable<void> TryAgainOnce(Clock& clock, int& cancelled) {
  co_await IgnoreCancellation();
  co_await FinishWhenStopped();
  Result<> first = co_await clock.Sleep(1h);
  Result<> second = co_await clock.Sleep(1h);
  cancelled = !first + !second;
}

TEST_F(TaskGroupTest, ATaskThatGoesOnAfterItsCancellationIsCancelledAgain) {
  int cancelled = 0;
  tasks_.Spawn("again", TryAgainOnce(clock_, cancelled));
  Drain(context_);
  StartStop(10s);
  Drain(context_);
  Advance(10s);
  ASSERT_TRUE(stopped_.has_value());
  ASSERT_TRUE(FailedWith(*stopped_, Code::kDeadlineExceeded));
  EXPECT_TRUE(kube::Run(context_, tasks_.Stop(clock_, 1min)).has_value());
  EXPECT_EQ(cancelled, 2);
}

asio::awaitable<void> StopTwice(TaskGroup& tasks, Clock& clock, std::vector<Result<>>& stops) {
  co_await IgnoreCancellation();
  for (int i = 0; i < 2; ++i) {
    Result<> stopped = co_await tasks.Stop(clock, 10s);
    stops.push_back(stopped);
  }
}

// The second Stop() begins before the operation that the first one cancelled has ended.
TEST_F(TaskGroupTest, AnotherStopTakesBackNoCancellation) {
  int cancelled = 0;
  tasks_.Spawn("again", TryAgainOnce(clock_, cancelled));
  std::vector<Result<>> stops;
  TaskGroup stoppers(context_.get_executor());
  stoppers.Spawn("stop twice", StopTwice(tasks_, clock_, stops));
  Drain(context_);
  Advance(10s);
  ASSERT_EQ(stops.size(), 2u);
  EXPECT_TRUE(FailedWith(stops[0], Code::kDeadlineExceeded));
  EXPECT_TRUE(stops[1]) << stops[1].error();
  EXPECT_EQ(cancelled, 2);
}

asio::awaitable<void> SpawnWhenCancelled(Clock& clock, TaskGroup& tasks, int& ended) {
  Result<> slept = co_await clock.Sleep(1h);
  (void)slept;
  tasks.Spawn("late", SleepFor(clock, 1h, ended));
  ++ended;
}

TEST_F(TaskGroupTest, ATaskSpawnedDuringStopIsStopped) {
  int ended = 0;
  tasks_.Spawn("spawner", SpawnWhenCancelled(clock_, tasks_, ended));
  Drain(context_);
  EXPECT_TRUE(kube::Run(context_, tasks_.Stop(clock_, 1min)).has_value());
  EXPECT_EQ(ended, 2);
}

TEST_F(TaskGroupTest, StopNamesTasksThatDoNotEnd) {
  tasks_.Spawn("stubborn", NeverEnd(clock_));
  Drain(context_);
  StartStop(5ms);
  ASSERT_TRUE(RunUntil(context_, [&] { return clock_.next() == clock_.Now() + 5ms; }));
  clock_.Advance(5ms);
  ASSERT_TRUE(RunUntil(context_, [&] { return stopped_.has_value(); }));
  ASSERT_TRUE(FailedWith(*stopped_, Code::kDeadlineExceeded));
  EXPECT_NE(stopped_->error().message().find("stubborn"), std::string::npos);
}

}  // namespace
}  // namespace kube
