// SPDX-License-Identifier: Apache-2.0
#include "inspection/config/namespace_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <vector>

#include "kube/base/task_group.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace inspection {
namespace {

using namespace std::chrono_literals;
using kube::Code;
using kube::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NamespaceTurnsTest : public ::testing::Test {
 protected:
  ~NamespaceTurnsTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  void Take(const std::string& ns) {
    tasks_.Spawn("take", Caller(*this, ns));
    kube::Drain(io_);
  }
  // Ends the first turn of `ns` that has not ended.
  void End(const std::string& ns) {
    for (auto it = held_.begin(); it != held_.end(); ++it) {
      if (it->first != ns) continue;
      held_.erase(it);
      break;
    }
    kube::Drain(io_);
  }
  // The namespaces that have turns, in the order in which they got them.
  std::vector<std::string> Held() const {
    std::vector<std::string> names;
    for (const auto& [ns, turn] : held_) names.push_back(ns);
    return names;
  }

  static kube::asio::awaitable<void> Caller(NamespaceTurnsTest& test, std::string ns) {
    co_await kube::IgnoreCancellation();
    kube::TimePoint deadline = test.clock_.Now() + 10s;
    kube::Result<NamespaceTurns::Turn> turn = co_await test.turns_->Take(ns, deadline);
    if (turn) {
      test.held_.emplace_back(ns, std::move(*turn));
    } else {
      test.failed_.push_back(turn.error().code());
    }
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  std::shared_ptr<NamespaceTurns> turns_ = std::make_shared<NamespaceTurns>(
      clock_, NamespaceTurns::Limits{.at_once = 4, .per_namespace = 2, .about = "wait"});
  std::vector<std::pair<std::string, NamespaceTurns::Turn>> held_;
  std::vector<Code> failed_;
  kube::TaskGroup tasks_{io_.get_executor()};
};

TEST_F(NamespaceTurnsTest, ANamespaceLeavesRoomForOthers) {
  for (int i = 0; i < 5; ++i) Take("greedy");
  EXPECT_THAT(Held(), ElementsAre("greedy", "greedy"));
  Take("a");
  Take("b");
  Take("c");
  EXPECT_THAT(Held(), ElementsAre("greedy", "greedy", "a", "b"));
  End("a");
  EXPECT_THAT(Held(), ElementsAre("greedy", "greedy", "b", "c"));
}

TEST_F(NamespaceTurnsTest, WaitingNamespacesTakeTurns) {
  for (int i = 0; i < 6; ++i) Take("first");
  for (int i = 0; i < 6; ++i) Take("second");
  Take("late");
  EXPECT_THAT(Held(), ElementsAre("first", "first", "second", "second"));
  held_.erase(held_.begin());
  kube::Drain(io_);
  EXPECT_EQ(held_.back().first, "first") << "it waited first";
  End("first");
  EXPECT_EQ(held_.back().first, "late") << "not behind all of the others";
}

TEST_F(NamespaceTurnsTest, AWaitIsBounded) {
  for (const char* ns : {"a", "a", "b", "b"}) Take(ns);
  Take("c");
  clock_.Advance(9s);
  kube::Drain(io_);
  EXPECT_THAT(failed_, IsEmpty());
  clock_.Advance(1s);
  kube::Drain(io_);
  EXPECT_THAT(failed_, ElementsAre(Code::kDeadlineExceeded));
  // It has left the queue.
  End("a");
  EXPECT_THAT(Held(), ElementsAre("a", "b", "b"));
  Take("d");
  EXPECT_THAT(Held(), ElementsAre("a", "b", "b", "d"));
}

TEST_F(NamespaceTurnsTest, ACancelledWaiterLeavesTheQueue) {
  for (const char* ns : {"a", "a", "b", "b"}) Take(ns);
  Take("c");
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  EXPECT_THAT(failed_, ElementsAre(Code::kCancelled));
  held_.clear();
  EXPECT_THAT(Held(), IsEmpty());
}

}  // namespace
}  // namespace inspection
