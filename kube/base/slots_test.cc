// SPDX-License-Identifier: Apache-2.0
#include "kube/base/slots.h"

#include <gtest/gtest.h>

#include "kube/base/task_group.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

class SlotsTest : public testing::Test {
 protected:
  using Place = std::optional<Result<Slots::Lease>>;

  asio::awaitable<void> Acquire(Place& place, Duration timeout = 1h) {
    co_await IgnoreCancellation();
    Result<Slots::Lease> lease = co_await slots_->Acquire(clock_.Now() + timeout);
    place = std::move(lease);
  }

  asio::io_context io_;
  FakeClock clock_;
  std::shared_ptr<Slots> slots_ = std::make_shared<Slots>(io_.get_executor(), clock_, 1, "a turn");
  TaskGroup tasks_{io_.get_executor()};
  Place first_, second_, third_;
};

TEST_F(SlotsTest, AreGrantedInOrderOfArrival) {
  tasks_.Spawn("first", Acquire(first_));
  tasks_.Spawn("second", Acquire(second_));
  tasks_.Spawn("third", Acquire(third_));
  Drain(io_);
  EXPECT_TRUE(first_ && !second_ && !third_);
  EXPECT_EQ(slots_->busy(), 1u);
  EXPECT_EQ(slots_->waiting(), 2u);
  first_.reset();
  Drain(io_);
  EXPECT_TRUE(second_ && !third_);
  second_.reset();
  Drain(io_);
  ASSERT_TRUE(third_);
  ASSERT_THAT(*third_, IsOk());
  third_.reset();
  EXPECT_EQ(slots_->busy(), 0u);
}

TEST_F(SlotsTest, ASlotIsHeldUntilTheLastCopyOfItsLease) {
  Result<Slots::Lease> lease = kube::Run(io_, slots_->Acquire(clock_.Now() + 1h));
  ASSERT_THAT(lease, IsOk());
  Slots::Lease copy = *lease;
  lease = Slots::Lease();
  EXPECT_EQ(slots_->busy(), 1u);
  copy.reset();
  EXPECT_EQ(slots_->busy(), 0u);
}

TEST_F(SlotsTest, AWaiterAtItsDeadlineLeavesTheQueue) {
  tasks_.Spawn("first", Acquire(first_));
  tasks_.Spawn("second", Acquire(second_, 10s));
  tasks_.Spawn("third", Acquire(third_));
  Drain(io_);
  clock_.Advance(9s);
  Drain(io_);
  EXPECT_FALSE(second_);
  clock_.Advance(1s);
  Drain(io_);
  ASSERT_TRUE(second_);
  EXPECT_THAT(*second_, FailsWith(Code::kDeadlineExceeded, testing::HasSubstr("wait for a turn")));
  EXPECT_EQ(slots_->waiting(), 1u);
  first_.reset();
  Drain(io_);
  ASSERT_TRUE(third_);
  EXPECT_THAT(*third_, IsOk());
}

TEST_F(SlotsTest, ACancelledWaiterLeavesTheQueue) {
  TaskGroup cancelled(io_.get_executor());
  tasks_.Spawn("first", Acquire(first_));
  cancelled.Spawn("second", Acquire(second_));
  Drain(io_);
  tasks_.Spawn("third", Acquire(third_));
  Drain(io_);
  EXPECT_THAT(kube::Run(io_, cancelled.Stop(RealClock(), 1s)), IsOk());
  ASSERT_TRUE(second_);
  EXPECT_THAT(*second_, FailsWith(Code::kCancelled));
  first_.reset();
  Drain(io_);
  ASSERT_TRUE(third_);
  EXPECT_THAT(*third_, IsOk());
}

TEST_F(SlotsTest, ADestroyedWaiterLeavesTheQueue) {
  Slots::Lease lease;
  {
    asio::io_context gone;
    auto slots = std::make_shared<Slots>(gone.get_executor(), RealClock(), 1, "a turn");
    Place never;
    Result<Slots::Lease> held = kube::Run(gone, slots->Acquire(RealClock().Now() + 1h));
    ASSERT_THAT(held, IsOk());
    lease = *held;
    auto wait = [](std::shared_ptr<Slots> slots, Place& place) -> asio::awaitable<void> {
      Result<Slots::Lease> second = co_await slots->Acquire(RealClock().Now() + 1h);
      place = std::move(second);
    };
    asio::co_spawn(gone, wait(slots, never), [](std::exception_ptr) {});
    Drain(gone);
    EXPECT_EQ(slots->waiting(), 1u);
  }
  // The queue is empty and the slots still exist.
  lease.reset();
}

}  // namespace
}  // namespace kube
