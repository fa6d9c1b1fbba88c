// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/leader_election.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using coordination::Lease;
using testing::HasSubstr;

const ObjectKey kKey{"system", "operator"};

// One candidate: acquires, holds, and records what happened.
struct Candidate {
  Candidate(FakeApiServer& api, Clock& clock, const std::string& identity)
      : elector(
            api, clock,
            {.ns = "system", .name = "operator", .identity = identity, .on_change = [this](bool) {
               ++changes;
             }}) {}

  asio::awaitable<void> Run() {
    Result<> acquired = co_await elector.Acquire();
    if (!acquired) co_return;
    lost = co_await elector.Hold();
  }

  LeaderElector elector;
  std::optional<Result<>> lost;
  int changes = 0;
};

class LeaderElectionTest : public testing::Test {
 protected:
  ~LeaderElectionTest() override { EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk()); }

  void Start(Candidate& candidate) {
    tasks_.Spawn("candidate", candidate.Run());
    Drain(io_);
  }
  // Advances the clock in small steps.
  void Advance(Duration time) {
    for (Duration passed{}; passed < time; passed += 500ms) {
      clock_.Advance(500ms);
      Drain(io_);
    }
  }
  Lease Stored() { return *api_.Get<Lease>(kKey); }

  FakeClock clock_;
  asio::io_context io_;
  FakeApiServer api_{clock_};
  TaskGroup tasks_{io_.get_executor()};
  Candidate a_{api_, clock_, "a"};
  Candidate b_{api_, clock_, "b"};
};

TEST_F(LeaderElectionTest, FirstCandidateCreatesTheLease) {
  Start(a_);
  EXPECT_TRUE(a_.elector.leader());
  EXPECT_EQ(a_.changes, 1);
  Lease lease = Stored();
  EXPECT_EQ(lease.spec().holder_identity(), "a");
  EXPECT_EQ(lease.spec().lease_duration_seconds(), 15);
  EXPECT_EQ(lease.spec().lease_transitions(), 0);
  EXPECT_EQ(lease.spec().acquire_time().seconds(), lease.spec().renew_time().seconds());
}

TEST_F(LeaderElectionTest, TheLeaseHasTheGivenOwner) {
  meta::OwnerReference owner;
  owner.set_uid("of-the-namespace");
  LeaderElector elector(api_, clock_, {.ns = "system", .name = "operator", .owner = owner});
  EXPECT_THAT(kube::Run(io_, elector.Acquire()), IsOk());
  ASSERT_EQ(Stored().metadata().owner_references_size(), 1);
  EXPECT_EQ(Stored().metadata().owner_references(0).uid(), "of-the-namespace");
}

// A container that crashed and was restarted in the same pod.
TEST_F(LeaderElectionTest, ARestartedContainerReacquiresItsLeaseAtOnce) {
  Start(a_);
  ASSERT_TRUE(a_.elector.leader());
  Candidate again(api_, clock_, "a");
  Start(again);
  EXPECT_TRUE(again.elector.leader());
  Advance(1s);
  EXPECT_EQ(Stored().spec().holder_identity(), "a");
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk());
}

TEST(LeaseIdentityTest, IsThePodNameIfSet) {
  setenv("POD_NAME", "web-0", 1);
  EXPECT_EQ(LeaseIdentity(), "web-0");
  unsetenv("POD_NAME");
  EXPECT_THAT(LeaseIdentity(), HasSubstr("_" + std::to_string(getpid())));
}

TEST_F(LeaderElectionTest, OneCandidateLeadsWhileItRenews) {
  Start(a_);
  Start(b_);
  Advance(5min);
  EXPECT_TRUE(a_.elector.leader());
  EXPECT_FALSE(b_.elector.leader());
  EXPECT_EQ(b_.elector.holder(), "a");
  EXPECT_GT(Stored().spec().renew_time().seconds(), Stored().spec().acquire_time().seconds() + 290);
  EXPECT_EQ(api_.CountCalls("POST"), 1);
}

class SlowLeaseTest : public LeaderElectionTest {
 protected:
  SlowLeaseTest() {
    tasks_.Spawn("holder", Run());
    Drain(io_);
  }

  asio::awaitable<void> Run() {
    Result<> acquired = co_await elector_.Acquire();
    if (!acquired) co_return;
    lost_ = co_await elector_.Hold();
  }
  // In `time`.
  int Renewals(Duration time) {
    int before = api_.CountCalls("PUT");
    Advance(time);
    return api_.CountCalls("PUT") - before;
  }

  bool busy_ = false;
  bool able_ = true;
  std::optional<Result<>> lost_;
  LeaderElector elector_{api_,
                         clock_,
                         {.ns = "system",
                          .name = "operator",
                          .identity = "slow",
                          .duration = 60s,
                          .renew_deadline = 50s,
                          .renew_every = 40s,
                          .busy = [this] { return busy_; },
                          .able = [this]() -> Result<void> {
                            return able_ ? Ok() : Result<void>(Error::Unavailable("no watch"));
                          }}};
};

TEST_F(SlowLeaseTest, IsRenewedAtItsOwnRate) {
  ASSERT_TRUE(elector_.leader());
  Start(b_);
  int renewals = Renewals(10min);
  EXPECT_GE(renewals, 14);
  EXPECT_LE(renewals, 15);
  EXPECT_TRUE(elector_.leader());
  EXPECT_FALSE(b_.elector.leader());
}

TEST_F(SlowLeaseTest, IsRenewedEveryRetryWhileBusy) {
  busy_ = true;
  int renewals = Renewals(40s);
  EXPECT_GE(renewals, 19);
  EXPECT_LE(renewals, 20);
  busy_ = false;
  EXPECT_EQ(Renewals(38s), 0);
}

TEST_F(SlowLeaseTest, EndsWithinARetryWhenNotAbleToWork) {
  Advance(5s);
  able_ = false;
  Advance(2s);
  ASSERT_TRUE(lost_);
  EXPECT_THAT(*lost_, FailsWith(Code::kUnavailable, HasSubstr("no watch")));
}

TEST_F(SlowLeaseTest, AFailedRenewalIsRepeatedEveryRetry) {
  api_.FailNext(Error::Unavailable("blip"), "", 4);
  Advance(50s);
  EXPECT_FALSE(lost_);
  EXPECT_TRUE(elector_.leader());
  // One that lasts ends leadership before another candidate starts.
  api_.FailNext(Error::Unavailable("down"), "", 1000);
  Advance(51s);
  ASSERT_TRUE(lost_);
  EXPECT_THAT(*lost_, FailsWith(Code::kDeadlineExceeded, HasSubstr("not renewed")));
}

TEST_F(LeaderElectionTest, NextLeadsAfterTheLeaseExpiredByItsOwnClock) {
  // A holder that has ended, whose clock was a day ahead.
  Lease lease;
  lease.mutable_metadata()->set_namespace_("system");
  lease.mutable_metadata()->set_name("operator");
  lease.mutable_spec()->set_holder_identity("c");
  lease.mutable_spec()->set_lease_duration_seconds(15);
  lease.mutable_spec()->set_lease_transitions(4);
  lease.mutable_spec()->mutable_renew_time()->set_seconds(
      std::chrono::system_clock::to_time_t(clock_.WallNow() + 24h));
  api_.Create(lease);
  Start(b_);
  Advance(14s);
  EXPECT_FALSE(b_.elector.leader()) << "it was observed for less than its duration";
  Advance(6s);
  EXPECT_TRUE(b_.elector.leader());
  EXPECT_EQ(Stored().spec().holder_identity(), "b");
  EXPECT_EQ(Stored().spec().lease_transitions(), 5);
}

TEST_F(LeaderElectionTest, ReleasedLeaseIsAcquiredWithoutWaitingForItsExpiry) {
  Start(a_);
  Start(b_);
  EXPECT_THAT(kube::Run(io_, a_.elector.Release()), IsOk());
  EXPECT_FALSE(a_.elector.leader());
  EXPECT_EQ(Stored().spec().holder_identity(), "");
  Advance(5s);  // one attempt of b
  EXPECT_TRUE(b_.elector.leader());
  EXPECT_EQ(Stored().spec().lease_transitions(), 1);
  ASSERT_TRUE(a_.lost) << "the process that released does not reacquire";
  EXPECT_THAT(*a_.lost, FailsWith(Code::kCancelled));
}

TEST_F(LeaderElectionTest, ReleaseWithoutLeadershipChangesNothing) {
  Start(a_);
  Start(b_);
  EXPECT_THAT(kube::Run(io_, b_.elector.Release()), IsOk());
  EXPECT_EQ(Stored().spec().holder_identity(), "a");
}

TEST_F(LeaderElectionTest, LeaderThatCannotRenewStopsBeforeAnyOtherStarts) {
  Start(a_);
  Start(b_);
  api_.FailNext(Error::Unavailable("a is cut off"), "", 1000);
  Advance(9s);
  EXPECT_FALSE(a_.lost) << "short errors do not end leadership";
  Advance(3s);
  ASSERT_TRUE(a_.lost);
  EXPECT_THAT(*a_.lost, FailsWith(Code::kDeadlineExceeded));
  EXPECT_FALSE(a_.elector.leader());
  EXPECT_FALSE(b_.elector.leader());
  EXPECT_EQ(a_.changes, 2);
}

TEST_F(LeaderElectionTest, ShortErrorsDoNotEndLeadership) {
  Start(a_);
  api_.Stop();
  Advance(6s);
  api_.Start();
  Advance(1min);
  EXPECT_FALSE(a_.lost);
  EXPECT_TRUE(a_.elector.leader());
}

TEST_F(LeaderElectionTest, LeaderNoticesThatTheLeaseWasTaken) {
  Start(a_);
  Lease lease = Stored();
  lease.mutable_spec()->set_holder_identity("usurper");
  api_.Update(lease);
  Advance(3s);
  ASSERT_TRUE(a_.lost);
  EXPECT_THAT(*a_.lost, FailsWith(Code::kConflict, HasSubstr("usurper")));
}

TEST_F(LeaderElectionTest, LeaderSurvivesDeletionOfTheLeaseAndEditsOfItsMetadata) {
  Start(a_);
  Lease lease = Stored();
  (*lease.mutable_metadata()->mutable_labels())["team"] = "x";
  api_.Update(lease);
  Advance(3s);
  EXPECT_TRUE(a_.elector.leader());
  EXPECT_EQ(Stored().metadata().labels().at("team"), "x")
      << "a renewal must not undo what others wrote";
  api_.Delete<Lease>(kKey);
  Advance(3s);
  EXPECT_TRUE(a_.elector.leader());
  EXPECT_EQ(Stored().spec().holder_identity(), "a");
}

// Other clients may write annotations and labels at any rate: the holder stays the holder.
TEST_F(LeaderElectionTest, OtherWritersOfTheLeaseDoNotEndLeadership) {
  Start(a_);
  int races = 0;
  api_.BeforeEach([&](const std::string& call) {
    // Another writer causes a conflict nine times out of ten.
    if (!call.starts_with("PUT") || ++races % 10 == 0) return;
    Lease lease = Stored();
    (*lease.mutable_metadata()->mutable_annotations())["announced"] = std::to_string(races);
    api_.Update(lease);
  });
  for (int i = 0; i < 6'000; ++i) {
    clock_.Advance(20ms);
    Drain(io_);
  }
  EXPECT_FALSE(a_.lost);
  EXPECT_TRUE(a_.elector.leader());
  EXPECT_GT(races, 100);
  EXPECT_EQ(Stored().metadata().annotations().count("announced"), 1u)
      << "nor does a renewal undo what they wrote";
  api_.BeforeEach(nullptr);
}

TEST_F(LeaderElectionTest, PermanentConflictsEndLeadershipOnlyAtTheDeadline) {
  Start(a_);
  int writes = 0;
  api_.BeforeEach([&](const std::string& call) {
    if (!call.starts_with("PUT")) return;
    Lease lease = Stored();
    (*lease.mutable_metadata()->mutable_annotations())["announced"] = std::to_string(++writes);
    api_.Update(lease);
  });
  Advance(9s);
  EXPECT_FALSE(a_.lost);
  Advance(3s);
  ASSERT_TRUE(a_.lost);
  EXPECT_THAT(*a_.lost, FailsWith(Code::kDeadlineExceeded));
  api_.BeforeEach(nullptr);
}

// The duration in a Lease is untrusted: one write cannot block all candidates.
TEST_F(LeaderElectionTest, TheDurationOfALeaseIsBoundedByAMinute) {
  Lease lease;
  lease.mutable_metadata()->set_namespace_("system");
  lease.mutable_metadata()->set_name("operator");
  lease.mutable_spec()->set_holder_identity("c");
  lease.mutable_spec()->set_lease_duration_seconds(std::numeric_limits<int32_t>::max());
  lease.mutable_spec()->set_lease_transitions(std::numeric_limits<int32_t>::max());
  api_.Create(lease);
  Start(a_);
  Advance(55s);
  EXPECT_FALSE(a_.elector.leader());
  Advance(10s);
  EXPECT_TRUE(a_.elector.leader());
  EXPECT_EQ(Stored().spec().lease_duration_seconds(), 15);
  EXPECT_EQ(Stored().spec().lease_transitions(), 0);
}

TEST_F(LeaderElectionTest, DoesNotLeadWhileNotAble) {
  Result<void> able = Error::Unavailable("the caches are not synced yet");
  std::optional<Result<>> lost;
  LeaderElector elector(
      api_, clock_,
      {.ns = "system", .name = "operator", .identity = "c", .able = [&] { return able; }});
  auto lead = [](LeaderElector& elector, std::optional<Result<>>& lost) -> asio::awaitable<void> {
    Result<> acquired = co_await elector.Acquire();
    if (acquired) lost = co_await elector.Hold();
  };
  tasks_.Spawn("candidate", lead(elector, lost));
  Advance(10s);
  EXPECT_FALSE(elector.leader());
  EXPECT_EQ(api_.CountCalls("/leases"), 0);

  able = Ok();
  Advance(500ms);
  EXPECT_TRUE(elector.leader());

  able = Error::PermissionDenied("may not write pods");
  Advance(3s);
  ASSERT_TRUE(lost);
  EXPECT_THAT(*lost, FailsWith(Code::kPermissionDenied));
  EXPECT_THAT(kube::Run(io_, elector.Release()), IsOk());
  EXPECT_EQ(Stored().spec().holder_identity(), "");
}

TEST_F(LeaderElectionTest, StopEndsHoldingAndTheReleaseAfterItWorks) {
  Start(a_);
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk());
  ASSERT_TRUE(a_.lost);
  EXPECT_THAT(*a_.lost, FailsWith(Code::kCancelled));
  EXPECT_THAT(kube::Run(io_, a_.elector.Release()), IsOk());
  EXPECT_EQ(Stored().spec().holder_identity(), "");
}

}  // namespace
}  // namespace kube
