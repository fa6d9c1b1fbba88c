// SPDX-License-Identifier: Apache-2.0
#include "sim/base/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/matchers.h"
#include "sim/base/loop.h"
#include "sim/base/process_clock.h"
#include "sim/base/random.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Async;
using kube::Result;
using testing::ElementsAre;

// No process of these tests calls.
class NoClient final : public ProcessClient {
 public:
  Async<kube::ApiResponse> Call(kube::ApiRequest) override {
    co_return kube::Error::Unavailable("no server");
  }
  Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest) override {
    co_return kube::Error::Unavailable("no server");
  }
  void Cut() override {}
};

std::unique_ptr<ProcessClient> NewNoClient(Life&) { return std::make_unique<NoClient>(); }

class ProcessTest : public testing::Test {
 protected:
  // Notes its name `times` times, with a sleep of `between`.
  Process::Main Noting(std::string name, int times, kube::Duration between) {
    return [this, name, times, between](Life& life) -> Async<> {
      return Note(life, name, times, between);
    };
  }
  Async<> Note(Life& life, std::string name, int times, kube::Duration between) {
    co_await kube::IgnoreCancellation();
    for (int i = 0; i < times; ++i) {
      notes_.push_back(name);
      Result<> slept = co_await life.clock().Sleep(between);
      if (!slept) {
        notes_.push_back(name + " stops");
        co_return slept;
      }
    }
    co_return kube::Ok();
  }

  Loop loop_{Random(1)};
  std::vector<std::string> notes_;
};

std::vector<uint64_t> NumbersOf(uint64_t seed) {
  Random random(seed);
  return {random.Below(1000), random.Below(1000), random.Below(1000)};
}

TEST(RandomTest, ASeedGivesTheSameNumbers) {
  EXPECT_EQ(NumbersOf(3), NumbersOf(3));
  EXPECT_NE(NumbersOf(3), NumbersOf(4));
  // Everywhere, as a plan that is replayed needs.
  EXPECT_THAT(NumbersOf(5489),
              ElementsAre(14514284786278117030u % 1000, 4620546740167642908u % 1000,
                          13109570281517897720u % 1000));
}

TEST(RandomTest, ANumberBetweenIsInBothEnds) {
  Random random(1);
  bool least = false, most = false;
  for (int i = 0; i < 200; ++i) {
    kube::Duration between = random.Between(5ms, 8ms);
    EXPECT_TRUE(5ms <= between && between <= 8ms);
    least |= between == 5ms;
    most |= between == 8ms;
  }
  EXPECT_TRUE(least && most);
}

TEST(RandomTest, AShuffleHasAllOrders) {
  Random random(1);
  std::set<std::vector<int>> orders;
  for (int i = 0; i < 200; ++i) {
    std::vector<int> items = {1, 2, 3};
    random.Shuffle(items);
    EXPECT_THAT(items, testing::UnorderedElementsAre(1, 2, 3));
    orders.insert(items);
  }
  EXPECT_EQ(orders.size(), 6u);
}

std::vector<std::string> OrderOf(uint64_t seed) {
  Loop loop{Random(seed)};
  std::vector<std::string> order;
  std::vector<std::unique_ptr<Loop::Lane>> lanes;
  for (std::string name : {"a", "b", "c"}) {
    lanes.push_back(loop.NewLane());
    for (int i = 0; i < 3; ++i)
      boost::asio::post(lanes.back()->io(),
                        [&order, name, i] { order.push_back(name + std::to_string(i)); });
    lanes.back()->Wake();
  }
  loop.RunUntil(loop.now());
  return order;
}

TEST(LoopTest, TheSeedChoosesTheOrderOfProcesses) {
  EXPECT_EQ(OrderOf(7), OrderOf(7));
  std::set<std::vector<std::string>> orders;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<std::string> order = OrderOf(seed);
    EXPECT_EQ(order.size(), 9u);
    // A process's own handlers keep their order.
    std::erase_if(order, [](const std::string& note) { return note[0] != 'b'; });
    EXPECT_THAT(order, ElementsAre("b0", "b1", "b2"));
    orders.insert(OrderOf(seed));
  }
  EXPECT_GT(orders.size(), 10u);
}

TEST(LoopTest, EventsHappenInOrderAndCanBeCancelled) {
  Loop loop{Random(1)};
  std::vector<int> happened;
  const kube::TimePoint begin = loop.now();
  loop.At(begin + 2s, [&] { happened.push_back(2); });
  Loop::Event cancelled = loop.At(begin + 1s, [&] { happened.push_back(0); });
  loop.At(begin + 1s, [&] {
    happened.push_back(1);
    loop.At(begin, [&] { happened.push_back(11); });
  });
  loop.Cancel(cancelled);
  loop.RunUntil(begin + 1s);
  EXPECT_THAT(happened, ElementsAre(1, 11));
  EXPECT_EQ(loop.now(), begin + 1s);
  loop.RunUntil(begin + 10s);
  EXPECT_THAT(happened, ElementsAre(1, 11, 2));
  EXPECT_EQ(loop.now(), begin + 10s);
}

TEST_F(ProcessTest, EndsWhenItsMainFunctionReturns) {
  Process process(loop_, "p", Noting("p", 3, 10s), NewNoClient);
  process.Start();
  loop_.RunUntil(loop_.now() + 19s);
  EXPECT_THAT(notes_, ElementsAre("p", "p"));
  EXPECT_FALSE(process.outcome());
  loop_.RunUntil(loop_.now() + 11s);
  ASSERT_TRUE(process.outcome());
  EXPECT_THAT(*process.outcome(), kube::IsOk());
  EXPECT_EQ(process.life(), nullptr);
}

TEST_F(ProcessTest, StopIsSeenByTheMainFunction) {
  Process process(loop_, "p", Noting("p", 3, 10s), NewNoClient);
  process.Start();
  loop_.RunUntil(loop_.now() + 1s);
  process.Stop();
  loop_.RunUntil(loop_.now());
  EXPECT_THAT(notes_, ElementsAre("p", "p stops"));
  ASSERT_TRUE(process.outcome());
  EXPECT_THAT(*process.outcome(), kube::FailsWith(kube::Code::kCancelled));
}

TEST_F(ProcessTest, AfterAKillNothingHappensUntilTheNextStart) {
  Process process(loop_, "p", Noting("p", 100, 10s), NewNoClient);
  process.Start();
  loop_.RunUntil(loop_.now() + 1s);
  Life* first = process.life();
  EXPECT_FALSE(first->ended());
  first->OnEnd([this] { notes_.push_back("ended"); });
  process.Kill();
  EXPECT_TRUE(first->ended());
  loop_.RunUntil(loop_.now() + 100s);
  EXPECT_THAT(notes_, ElementsAre("p", "ended"));
  process.Start();
  loop_.RunUntil(loop_.now() + 11s);
  EXPECT_THAT(notes_, ElementsAre("p", "ended", "p", "p"));
}

TEST_F(ProcessTest, MetricsAreReadAfterTheEnd) {
  Process process(loop_, "p", Noting("p", 3, 10s), NewNoClient);
  process.Start();
  process.life()->metrics().AddCounter("pods_total", "Pods").Increment();
  process.Kill();
  process.Start();
  std::vector<double> counted;
  for (Life* life : process.lives())
    counted.push_back(life->metrics().AddCounter("pods_total", "Pods").Value());
  EXPECT_THAT(counted, ElementsAre(1, 0));
}

TEST_F(ProcessTest, APausedProcessGoesOnWithAllThatIsDue) {
  Process process(loop_, "p", Noting("p", 100, 10s), NewNoClient);
  process.Start();
  loop_.RunUntil(loop_.now() + 1s);
  process.Pause();
  loop_.RunUntil(loop_.now() + 100s);
  EXPECT_THAT(notes_, ElementsAre("p"));
  process.Resume();
  loop_.RunUntil(loop_.now());
  EXPECT_THAT(notes_, ElementsAre("p", "p"));
}

TEST_F(ProcessTest, ClocksMayBeWrong) {
  Process process(loop_, "p", Noting("p", 100, 10s), NewNoClient);
  process.Start();
  loop_.RunUntil(loop_.now() + 1s);
  ProcessClock& clock = process.life()->clock();
  const kube::TimePoint begin = clock.Now();
  const kube::WallTime wall = clock.WallNow();
  clock.SetRate(2);
  loop_.RunUntil(loop_.now() + 4s);
  EXPECT_EQ(clock.Now() - begin, 8s);
  EXPECT_EQ(notes_.size(), 1u);
  loop_.RunUntil(loop_.now() + 500ms);
  EXPECT_EQ(notes_.size(), 2u);
  clock.JumpWall(-1h);
  EXPECT_EQ(clock.WallNow() - wall, 9s - 1h);
  // No rounding wakes a sleeper too early, or never.
  clock.SetRate(1.0000001);
  loop_.RunUntil(loop_.now() + 90s);
  EXPECT_EQ(notes_.size(), 11u);
}

}  // namespace
}  // namespace sim
