// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/leadership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "kube/client/typed.h"
#include "kube/controller/controller.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using coordination::Lease;
using core::Pod;
using testing::HasSubstr;

const ObjectKey kLease{"system", "operator"};
const ObjectKey kPod{"ns", "web"};

// An API server that can be frozen: calls then wait until Thaw(), their timeout or their
// cancellation.
class FreezableServer final : public Client {
 public:
  FreezableServer(FakeApiServer& api, Clock& clock) : api_(api), clock_(clock) {}

  void Freeze() { frozen_ = true; }
  void FreezeWrites() { writes_frozen_ = true; }
  void Thaw() { frozen_ = writes_frozen_ = false; }
  int waiting() const { return waiting_; }

  // Client
  Async<ApiResponse> Call(ApiRequest request) override {
    co_await IgnoreCancellation();
    struct Waiting {
      explicit Waiting(int& count) : count(++count) {}
      ~Waiting() { --count; }
      int& count;
    };
    TimePoint deadline = clock_.Now() + request.timeout;
    bool writes = request.method != Method::kGet;
    while (frozen_ || (writes && writes_frozen_)) {
      Waiting waiting(waiting_);
      Result<> slept = co_await clock_.Sleep(100ms);
      if (!slept) co_return slept.error();
      if (clock_.Now() >= deadline) co_return Error::DeadlineExceeded(request.target);
    }
    Result<ApiResponse> response = co_await api_.Call(std::move(request));
    co_return response;
  }
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest request) override {
    return api_.Watch(std::move(request));
  }

 private:
  FakeApiServer& api_;
  Clock& clock_;
  bool frozen_ = false;
  bool writes_frozen_ = false;
  int waiting_ = 0;
};

// The work of a term. Detects calls after the end of the term, with address sanitizer too.
class Work final : public Term, public Reconciler {
 public:
  struct Counts {
    int begun = 0;
    int ended = 0;
    int in_flight = 0;  // reconciles
    int destroyed_in_flight = 0;
    bool stubborn = false;  // a reconcile does not end even when cancelled
    std::optional<Result<>> last;
  };

  Work(Client& client, Clock& clock, Counts& counts)
      : client_(client),
        clock_(clock),
        counts_(counts),
        controller_({.name = "work"}, *this, clock) {
    ++counts_.begun;
  }
  ~Work() override {
    counts_.destroyed_in_flight += counts_.in_flight;
    ++counts_.ended;
  }

  // Term
  asio::awaitable<void> Run(TaskGroup& tasks) override {
    controller_.Enqueue(kPod);
    tasks.Spawn(controller_.name(), controller_.Run(tasks));
    co_return;
  }

  // Reconciler: a read and a write.
  Async<Outcome> Reconcile(Request request) override {
    ++counts_.in_flight;
    Result<Pod> pod = co_await Get<Pod>(client_, request.key);
    while (counts_.stubborn) {
      Result<> slept = co_await clock_.Sleep(1s);
      if (!slept) co_await ForgetCancellation();
    }
    Result<> written = Ok();
    if (pod) {
      (*pod->mutable_metadata()->mutable_labels())["worked"] = "yes";
      written = co_await Replace(client_, *pod);
    } else {
      written = pod.error();
    }
    --counts_.in_flight;
    counts_.last = written;
    if (!written) co_return written.error();
    co_return Outcome::After(1s);
  }

 private:
  Client& client_;
  Clock& clock_;
  Counts& counts_;
  Controller controller_;
};

class LeadershipTest : public testing::Test {
 protected:
  LeadershipTest() { api_.Create(MakePod("web").Build()); }
  ~LeadershipTest() override {
    server_.Thaw();
    EXPECT_THAT(Stop(), IsOk());
  }

  void Start() {
    Leadership::NewTerm new_term = [this](TaskGroup&, Client& client) {
      return std::make_unique<Work>(client, clock_, counts_);
    };
    app_.tasks().Spawn("leadership", leadership_.Run(std::move(new_term)));
    Drain(io_);
  }
  // Starts a term, then freezes the API server for `frozen` so far.
  void StartAndFreezeServer(Duration frozen) {
    Start();
    Advance(5s);
    server_.Freeze();
    Advance(frozen);
  }
  // Advances the clock in small steps.
  void Advance(Duration time) {
    for (Duration passed{}; passed < time; passed += 100ms) {
      clock_.Advance(100ms);
      Drain(io_);
    }
  }
  // As on SIGTERM; advances the clock until the tasks have ended.
  Result<> Stop() {
    if (!app_.stopping()) app_.BeginStop();
    std::optional<Result<>> ended;
    asio::co_spawn(io_, app_.EndTasks(app_.tasks()),
                   [&](std::exception_ptr, Result<> result) { ended = result; });
    for (int i = 0; i < 300 && !ended; ++i) {
      Drain(io_);
      if (!ended) clock_.Advance(100ms);
    }
    return ended ? *ended : Result<>(Error::DeadlineExceeded("the tasks did not end"));
  }
  void LetAnotherLead() {
    Lease lease = *api_.Get<Lease>(kLease);
    lease.mutable_spec()->set_holder_identity("b");
    api_.Update(lease);
  }
  std::string Holder() { return api_.Get<Lease>(kLease)->spec().holder_identity(); }

  FakeClock clock_;
  asio::io_context io_;
  FakeApiServer api_{clock_};
  FreezableServer server_{api_, clock_};
  App app_{io_, clock_, 20s};
  Work::Counts counts_;
  Leadership leadership_{app_, server_, {.ns = "system", .name = "operator", .identity = "a"}};
};

TEST_F(LeadershipTest, WorksWhileItHoldsTheLease) {
  Start();
  Advance(1min);
  EXPECT_EQ(counts_.begun, 1);
  EXPECT_EQ(api_.Get<Pod>(kPod)->metadata().labels().at("worked"), "yes");
  EXPECT_EQ(Holder(), "a");
  EXPECT_THAT(Stop(), IsOk());
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_EQ(Holder(), "") << "the next leader need not wait for the expiry";
}

// The calls of a term hang for longer than the Lease is held without a renewal.
TEST_F(LeadershipTest, NoCallOutlivesALostTerm) {
  StartAndFreezeServer(/*frozen=*/9s);
  EXPECT_EQ(counts_.in_flight, 1);
  EXPECT_EQ(counts_.ended, 0);
  Advance(8s);
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_EQ(counts_.in_flight, 0);
  EXPECT_EQ(counts_.destroyed_in_flight, 0);
  EXPECT_THAT(*counts_.last, FailsWith(Code::kCancelled));
  Advance(31s);
  EXPECT_EQ(counts_.begun, 1);

  // The server is back after 48 s, and a new term begins.
  server_.Thaw();
  Advance(10s);
  EXPECT_EQ(counts_.begun, 2);
  EXPECT_THAT(*counts_.last, IsOk());
}

// A call that ends within the limit is finished, not cancelled.
TEST_F(LeadershipTest, ShortCallsAreFinishedWhenATermIsLost) {
  Start();
  Advance(5s);
  server_.FreezeWrites();
  Advance(11s);
  ASSERT_EQ(counts_.in_flight, 1) << "it waits for its write";
  ASSERT_EQ(counts_.ended, 0);
  server_.Thaw();
  Advance(1s);
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_THAT(*counts_.last, IsOk());
}

TEST_F(LeadershipTest, NoWriteBeginsWhenATermIsLost) {
  StartAndFreezeServer(/*frozen=*/11s);
  ASSERT_EQ(counts_.in_flight, 1) << "it waits for its read";
  int before = api_.CountCalls("PUT /api/v1/namespaces/ns/pods");
  LetAnotherLead();
  server_.Thaw();
  Advance(1s);
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_EQ(api_.CountCalls("PUT /api/v1/namespaces/ns/pods"), before);
  EXPECT_THAT(*counts_.last, FailsWith(Code::kUnavailable));
}

TEST_F(LeadershipTest, ReconcilesInFlightAreFinishedWhenTheProcessStops) {
  StartAndFreezeServer(/*frozen=*/2s);
  ASSERT_EQ(counts_.in_flight, 1);
  app_.BeginStop();
  std::optional<Result<>> ended;
  asio::co_spawn(io_, app_.EndTasks(app_.tasks()),
                 [&](std::exception_ptr, Result<> result) { ended = result; });
  Advance(3s);
  EXPECT_FALSE(ended);
  server_.Thaw();
  Advance(1s);
  ASSERT_TRUE(ended);
  EXPECT_THAT(*ended, IsOk());
  EXPECT_THAT(*counts_.last, IsOk());
  EXPECT_EQ(Holder(), "");
}

// A server that stays frozen does not delay the stop beyond the grace period.
TEST_F(LeadershipTest, HangingCallsAreCancelledBeforeTheGracePeriodEnds) {
  StartAndFreezeServer(/*frozen=*/2s);
  ASSERT_EQ(counts_.in_flight, 1);
  TimePoint begin = clock_.Now();
  EXPECT_THAT(Stop(), IsOk());
  EXPECT_LT(clock_.Now() - begin, 20s);
  EXPECT_THAT(*counts_.last, FailsWith(Code::kCancelled));
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_EQ(counts_.destroyed_in_flight, 0);
}

// Its work goes on where it was, beside that of the next leader.
TEST_F(LeadershipTest, APausedLeaderWritesNothingAfterThePause) {
  Start();
  Advance(5s);
  server_.Freeze();
  Advance(1500ms);
  ASSERT_EQ(counts_.in_flight, 1) << "it waits for its read";
  int before = api_.CountCalls("PUT /api/v1/namespaces/ns/pods");
  server_.Thaw();
  clock_.Advance(20s);
  LetAnotherLead();
  Drain(io_);
  Advance(5s);
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_EQ(api_.CountCalls("PUT /api/v1/namespaces/ns/pods"), before);
  EXPECT_THAT(*counts_.last, FailsWith(Code::kUnavailable, HasSubstr("lease")));
  EXPECT_EQ(Holder(), "b");
}

TEST_F(LeadershipTest, AnotherHolderEndsTheTerm) {
  Start();
  LetAnotherLead();
  Advance(3s);
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_EQ(Holder(), "b");
  Advance(30s);
  EXPECT_EQ(counts_.begun, 2) << "b did not renew";
}

// A task that cannot be stopped ends the process with a message, before anything is destroyed.
TEST_F(LeadershipTest, ATaskThatDoesNotEndEndsTheProcess) {
  EXPECT_EXIT(
      {
        counts_.stubborn = true;
        Start();
        LetAnotherLead();
        Advance(1min);
      },
      testing::ExitedWithCode(1), "tasks still running: work work-worker-0; the process ends");
}

}  // namespace
}  // namespace kube
