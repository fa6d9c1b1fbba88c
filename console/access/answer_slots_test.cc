// SPDX-License-Identifier: Apache-2.0
#include "console/access/answer_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/slots.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace console {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Result;
using kube::Slots;
using ::testing::HasSubstr;
using namespace std::chrono_literals;
namespace asio = kube::asio;

class AnswerSlotsTest : public ::testing::Test {
 protected:
  ~AnswerSlotsTest() override {
    kube::IgnoreError(kube::Run(io_, tasks_.Stop(clock_, 1s)), "the test ends");
  }

  // Asks for a slot; what comes of it is added to results_.
  void Ask(const std::string& owner) {
    results_.emplace_back();
    tasks_.Spawn("ask", Collect(owner, results_.size() - 1));
  }
  asio::awaitable<void> Collect(std::string owner, size_t at) {
    Result<Slots::Lease> lease = co_await slots_.Acquire(std::move(owner));
    results_[at] = std::move(lease);
  }
  size_t Answered() {
    size_t answered = 0;
    for (const auto& result : results_) answered += result && result->has_value();
    return answered;
  }
  bool Until(size_t answered) {
    return kube::RunUntil(io_, [&] { return Answered() == answered; });
  }

  asio::io_context io_{1};
  kube::FakeClock clock_;
  AnswerSlots slots_{io_.get_executor(),
                     clock_,
                     {.in_all = 3, .of_owner = 2, .waiting_of_owner = 2, .timeout = 15s}};
  std::vector<std::optional<Result<Slots::Lease>>> results_;
  kube::TaskGroup tasks_{io_.get_executor()};
};

TEST_F(AnswerSlotsTest, AnOwnerCannotTakeAll) {
  for (int i = 0; i < 4; ++i) Ask("greedy");
  EXPECT_TRUE(Until(2));
  Ask("other");
  EXPECT_TRUE(Until(3));
  EXPECT_THAT(*results_[4], IsOk());
  Ask("greedy");
  EXPECT_TRUE(kube::RunUntil(io_, [&] { return results_[5].has_value(); }));
  EXPECT_THAT(*results_[5], FailsWith(Code::kThrottled, HasSubstr("greedy has 4 questions")));
  // An answer that ends makes room for the next one of its owner.
  results_[0].reset();
  EXPECT_TRUE(kube::RunUntil(io_, [&] { return results_[2].has_value(); }));
  EXPECT_THAT(*results_[2], IsOk());
}

TEST_F(AnswerSlotsTest, WhoWaitsTooLongIsTold) {
  for (const char* owner : {"a", "b", "c"}) Ask(owner);
  EXPECT_TRUE(Until(3));
  Ask("d");
  EXPECT_TRUE(kube::RunUntil(io_, [&] { return clock_.sleepers() > 0; }));
  clock_.Advance(15s);
  EXPECT_TRUE(kube::RunUntil(io_, [&] { return results_[3].has_value(); }));
  EXPECT_THAT(*results_[3], FailsWith(Code::kUnavailable, HasSubstr("the console answers others")));
}

TEST_F(AnswerSlotsTest, OwnersWithoutQuestionsAreForgotten) {
  for (int i = 0; i < 100; ++i) {
    Ask("user-" + std::to_string(i));
    EXPECT_TRUE(Until(1));
    results_.clear();
  }
  EXPECT_LE(slots_.owners(), 2u);
}

}  // namespace
}  // namespace console
