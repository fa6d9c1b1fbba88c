// SPDX-License-Identifier: Apache-2.0
#include "kube/base/task_group.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

asio::awaitable<void> SleepFor(Duration duration, int& ended) {
  Result<> slept = co_await RealClock().Sleep(duration);
  IgnoreError(slept, "it ends with the request to stop");
  ++ended;
}

// Retries after its cancellation.
asio::awaitable<void> NeverEnd() {
  co_await IgnoreCancellation();
  while (true) {
    Result<> slept = co_await RealClock().Sleep(1h);
    IgnoreError(slept, "it ends with the request to stop");
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
  Result<> Stop(Duration grace) {
    std::optional<Result<>> result;
    asio::co_spawn(context_, tasks_.Stop(RealClock(), grace),
                   [&](std::exception_ptr, Result<> r) { result = std::move(r); });
    while (!result) context_.run_one();
    return *result;
  }

  asio::io_context context_{1};
  TaskGroup tasks_{context_.get_executor()};
};

TEST_F(TaskGroupTest, StopCancelsSleepingTasksWithinTheGrace) {
  int ended = 0;
  tasks_.Spawn("a", SleepFor(1h, ended));
  tasks_.Spawn("b", SleepFor(1h, ended));
  context_.poll();
  EXPECT_EQ(tasks_.size(), 2u);

  TimePoint before = RealClock().Now();
  EXPECT_TRUE(Stop(1h).has_value());
  EXPECT_LT(RealClock().Now() - before, 1min);
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(tasks_.size(), 0u);
}

TEST_F(TaskGroupTest, CancellationIsNotLostOnATimerThatHasFired) {
  for (int i = 0; i < 20; ++i) tasks_.Spawn("restless", SleepAgainAndAgain());
  for (int i = 0; i < 30; ++i) context_.run_one();
  EXPECT_TRUE(Stop(1min).has_value());
}

asio::awaitable<void> FinishSleep(Duration duration, bool& cancelled) {
  co_await IgnoreCancellation();
  co_await FinishWhenStopped();
  Result<> slept = co_await RealClock().Sleep(duration);
  cancelled = !slept;
}

TEST_F(TaskGroupTest, ATaskThatFinishesItsWorkIsCancelledAfterTheGrace) {
  bool short_cancelled = true;
  bool long_cancelled = false;
  tasks_.Spawn("short", FinishSleep(20ms, short_cancelled));
  tasks_.Spawn("long", FinishSleep(1h, long_cancelled));
  context_.poll();
  Result<> stopped = Stop(1s);
  ASSERT_TRUE(FailedWith(stopped, Code::kDeadlineExceeded));
  EXPECT_EQ(stopped.error().message(), "tasks still running: long");
  EXPECT_FALSE(short_cancelled);
  EXPECT_TRUE(Stop(1min).has_value());
  EXPECT_TRUE(long_cancelled);
}

asio::awaitable<void> SpawnWhenCancelled(TaskGroup& tasks, int& ended) {
  Result<> slept = co_await RealClock().Sleep(1h);
  IgnoreError(slept, "it ends with the request to stop");
  tasks.Spawn("late", SleepFor(1h, ended));
  ++ended;
}

TEST_F(TaskGroupTest, ATaskSpawnedDuringStopIsStopped) {
  int ended = 0;
  tasks_.Spawn("spawner", SpawnWhenCancelled(tasks_, ended));
  context_.poll();
  EXPECT_TRUE(Stop(1min).has_value());
  EXPECT_EQ(ended, 2);
}

TEST_F(TaskGroupTest, StopNamesTasksThatDoNotEnd) {
  tasks_.Spawn("stubborn", NeverEnd());
  context_.poll();
  Result<> stopped = Stop(5ms);
  ASSERT_TRUE(FailedWith(stopped, Code::kDeadlineExceeded));
  EXPECT_NE(stopped.error().message().find("stubborn"), std::string::npos);
}

}  // namespace
}  // namespace kube
