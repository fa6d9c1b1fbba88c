// SPDX-License-Identifier: Apache-2.0
#include "kube/queue/work_queue.h"

#include <gtest/gtest.h>

#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/resource.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const ObjectKey kA{"ns", "a"};
const ObjectKey kB{"ns", "b"};

// Counts the observer's calls.
struct Observed : WorkQueueObserver {
  void OnDepth(size_t depth) override { this->depth = depth; }
  void OnAdded() override { ++added; }
  void OnRetried() override { ++retried; }
  void OnTaken(TimePoint since, TimePoint now) override { waited = now - since; }
  void OnDone(TimePoint since, TimePoint now) override { worked = now - since; }
  size_t depth = 0;
  int added = 0;
  int retried = 0;
  Duration waited{};
  Duration worked{};
};

class WorkQueueTest : public testing::Test {
 protected:
  // The names of all ready keys, taken but not done.
  std::vector<std::string> TakeReady() {
    std::vector<std::string> names;
    Drain(io_);
    while (queue_.size() > 0) {
      Result<ObjectKey> key = kube::Run(io_, queue_.Next());
      names.push_back(key->name);
      Drain(io_);
    }
    return names;
  }
  std::vector<std::string> TakeAndFinish() {
    std::vector<std::string> names = TakeReady();
    for (const std::string& name : names) queue_.Done({"ns", name});
    return names;
  }
  // Advances the clock by `delay`; the key must become ready then, not before.
  void ExpectReadyAfter(Duration delay, const std::string& name) {
    clock_.Advance(delay - 1ms);
    EXPECT_THAT(TakeReady(), IsEmpty());
    clock_.Advance(1ms);
    EXPECT_THAT(TakeAndFinish(), ElementsAre(name));
  }
  // Starts a worker: the first Next() sets the executor of the queue's timer.
  void Start() {
    queue_.Add(kA);
    ASSERT_THAT(TakeAndFinish(), ElementsAre("a"));
  }

  asio::io_context io_;
  FakeClock clock_;
  Observed observed_;
  WorkQueue queue_{clock_, {.base_delay = 10ms, .max_delay = 35ms}, &observed_};
};

TEST_F(WorkQueueTest, HandsOutEachKeyOnceInOrder) {
  queue_.Add(kA);
  queue_.Add(kB);
  queue_.Add(kA);
  EXPECT_EQ(queue_.size(), 2u);
  EXPECT_THAT(TakeReady(), ElementsAre("a", "b"));
}

TEST_F(WorkQueueTest, ADroppedKeyDoesNotComeBack) {
  Start();
  queue_.AddAfter(kA, 1s);
  queue_.AddAfter(kB, 1s);
  queue_.AddRateLimited(kA);
  queue_.Drop(kA);
  EXPECT_EQ(queue_.failures(kA), 0);
  clock_.Advance(1h);
  EXPECT_THAT(TakeAndFinish(), ElementsAre("b"));
  EXPECT_EQ(clock_.sleepers(), 0u);
}

TEST_F(WorkQueueTest, KnowsWhichKeysWorkersHave) {
  queue_.Add(kA);
  EXPECT_FALSE(queue_.working(kA));
  EXPECT_THAT(TakeReady(), ElementsAre("a"));
  EXPECT_TRUE(queue_.working(kA));
  queue_.Done(kA);
  EXPECT_FALSE(queue_.working(kA));
}

TEST_F(WorkQueueTest, KeyAddedDuringWorkIsReadyAgainAfterDone) {
  queue_.Add(kA);
  ASSERT_THAT(TakeReady(), ElementsAre("a"));
  queue_.Add(kA);
  queue_.Add(kA);
  EXPECT_THAT(TakeReady(), IsEmpty()) << "never two workers on one key";
  queue_.Done(kA);
  EXPECT_THAT(TakeAndFinish(), ElementsAre("a"));
  EXPECT_THAT(TakeReady(), IsEmpty());
}

TEST_F(WorkQueueTest, NextWaitsForAKey) {
  std::optional<Result<ObjectKey>> got;
  asio::co_spawn(io_, queue_.Next(),
                 [&](std::exception_ptr, Result<ObjectKey> key) { got = std::move(key); });
  Drain(io_);
  EXPECT_FALSE(got);
  queue_.Add(kB);
  Drain(io_);
  ASSERT_TRUE(got);
  EXPECT_EQ(**got, kB);
}

TEST_F(WorkQueueTest, DelayedKeyIsReadyAfterItsDelay) {
  Start();
  queue_.AddAfter(kB, 10s);
  ExpectReadyAfter(10s, "b");
}

TEST_F(WorkQueueTest, ShortestOfSeveralDelaysCounts) {
  Start();
  queue_.AddAfter(kA, 10s);
  queue_.AddAfter(kB, 5s);
  queue_.AddAfter(kA, 1s);
  queue_.AddAfter(kA, 20s);
  clock_.Advance(1s);
  EXPECT_THAT(TakeAndFinish(), ElementsAre("a"));
  clock_.Advance(4s);
  EXPECT_THAT(TakeAndFinish(), ElementsAre("b"));
  clock_.Advance(1h);
  EXPECT_THAT(TakeReady(), IsEmpty());
}

TEST_F(WorkQueueTest, DelaysFromBeforeTheFirstWorkerAreKept) {
  queue_.AddAfter(kA, 1s);
  clock_.Advance(2s);
  Result<ObjectKey> key = kube::Run(io_, queue_.Next());
  ASSERT_THAT(key, IsOk());
  EXPECT_EQ(*key, kA);
}

TEST_F(WorkQueueTest, FailuresOfOneKeyDoubleItsDelayUpToTheCap) {
  Start();
  for (Duration delay : {10ms, 20ms, 35ms, 35ms}) {
    queue_.AddRateLimited(kA);
    ExpectReadyAfter(delay, "a");
  }
  EXPECT_EQ(queue_.failures(kA), 4);
  queue_.Forget(kA);
  queue_.AddRateLimited(kA);
  clock_.Advance(10ms);
  EXPECT_THAT(TakeReady(), ElementsAre("a"));
}

TEST_F(WorkQueueTest, RetryAfterExtendsTheDelay) {
  Start();
  queue_.AddRateLimited(kA, 7s);
  ExpectReadyAfter(7s, "a");

  queue_.AddRateLimited(kA, 1h);
  clock_.Advance(30s);
  EXPECT_THAT(TakeReady(), ElementsAre("a")) << "Retry-After is bounded";
}

TEST_F(WorkQueueTest, ShutDownDropsEarlierAndLaterKeys) {
  queue_.Add(kA);
  queue_.ShutDown();
  queue_.Add(kB);
  EXPECT_THAT(kube::Run(io_, queue_.Next()), FailsWith(Code::kCancelled));
}

TEST_F(WorkQueueTest, ShutDownWakesWorkers) {
  std::optional<Result<ObjectKey>> got;
  asio::co_spawn(io_, queue_.Next(),
                 [&](std::exception_ptr, Result<ObjectKey> key) { got = std::move(key); });
  Drain(io_);
  queue_.ShutDown();
  Drain(io_);
  ASSERT_TRUE(got);
  EXPECT_THAT(*got, FailsWith(Code::kCancelled));
}

TEST_F(WorkQueueTest, NotifiesItsObserver) {
  queue_.Add(kA);
  queue_.Add(kA);
  EXPECT_EQ(observed_.added, 1);
  EXPECT_EQ(observed_.depth, 1u);
  clock_.Advance(3s);
  TakeReady();
  EXPECT_EQ(observed_.waited, 3s);
  EXPECT_EQ(observed_.depth, 0u);
  clock_.Advance(2s);
  queue_.AddRateLimited(kA);
  queue_.Done(kA);
  EXPECT_EQ(observed_.worked, 2s);
  EXPECT_EQ(observed_.retried, 1);
}

}  // namespace
}  // namespace kube
