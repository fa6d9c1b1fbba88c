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

const ObjectKey kLease{"ours", "operator"};
const ObjectKey kPod{"ns", "web"};

// An API server that can be frozen: calls then wait until it goes on, until their timeout, or until
// they are cancelled.
class FreezableServer final : public Client {
 public:
  FreezableServer(FakeApiServer& api, Clock& clock) : api_(api), clock_(clock) {}

  void Freeze() { frozen_ = true; }
  void Thaw() { frozen_ = false; }
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
    while (frozen_) {
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
  int waiting_ = 0;
};

// What a term's tasks use: calls after its end are seen, by address sanitizer as well.
class Work final : public Term, public Reconciler {
 public:
  struct Counts {
    int begun = 0;
    int ended = 0;
    int under_way = 0;  // reconciles
    int destroyed_under_way = 0;
    bool stubborn = false;  // a reconcile does not even end when it is cancelled
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
    counts_.destroyed_under_way += counts_.under_way;
    ++counts_.ended;
  }

  // Term
  asio::awaitable<void> Run(TaskGroup& tasks) override {
    controller_.Enqueue(kPod);
    tasks.Spawn(controller_.name(), controller_.Run(tasks));
    co_return;
  }

  // Reconciler: reads and writes, as they all do.
  Async<Outcome> Reconcile(Request request) override {
    ++counts_.under_way;
    Result<Pod> pod = co_await Get<Pod>(client_, request.key);
    while (counts_.stubborn) {
      Result<> slept = co_await clock_.Sleep(1s);
      (void)slept;
    }
    Result<> written = Ok();
    if (pod) {
      (*pod->mutable_metadata()->mutable_labels())["worked"] = "yes";
      written = co_await Replace(client_, *pod);
    } else {
      written = pod.error();
    }
    --counts_.under_way;
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
    Leadership::NewTerm new_term = [this](TaskGroup&) {
      return std::make_unique<Work>(server_, clock_, counts_);
    };
    app_.tasks().Spawn("leadership", leadership_.Run(std::move(new_term)));
    Drain(io_);
  }
  // In small steps, as time goes.
  void Advance(Duration time) {
    for (Duration passed{}; passed < time; passed += 100ms) {
      clock_.Advance(100ms);
      Drain(io_);
    }
  }
  // As SIGTERM does it; time goes on meanwhile.
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
  std::string Holder() { return api_.Get<Lease>(kLease)->spec().holder_identity(); }

  FakeClock clock_;
  asio::io_context io_;
  FakeApiServer api_{clock_};
  FreezableServer server_{api_, clock_};
  App app_{io_, clock_, 20s};
  Work::Counts counts_;
  Leadership leadership_{app_, server_, {.ns = "ours", .name = "operator", .identity = "a"}};
};

TEST_F(LeadershipTest, WorksWhileItHoldsTheLease) {
  Start();
  Advance(1min);
  EXPECT_EQ(counts_.begun, 1);
  EXPECT_EQ(api_.Get<Pod>(kPod)->metadata().labels().at("worked"), "yes");
  EXPECT_EQ(Holder(), "a");
  EXPECT_THAT(Stop(), IsOk());
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_EQ(Holder(), "") << "the next leader need not wait";
}

// The calls of a term hang for longer than the Lease can be held without them.
TEST_F(LeadershipTest, NoCallOutlivesALostTerm) {
  Start();
  Advance(5s);
  server_.Freeze();
  Advance(9s);
  EXPECT_EQ(counts_.under_way, 1);
  EXPECT_EQ(counts_.ended, 0);
  Advance(8s);
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_EQ(counts_.under_way, 0);
  EXPECT_EQ(counts_.destroyed_under_way, 0);
  EXPECT_THAT(*counts_.last, FailsWith(Code::kCancelled));
  Advance(31s);
  EXPECT_EQ(counts_.begun, 1);

  // 48 s later it is back, and so are we.
  server_.Thaw();
  Advance(10s);
  EXPECT_EQ(counts_.begun, 2);
  EXPECT_THAT(*counts_.last, IsOk());
}

// A call that ends in time is finished, not cancelled.
TEST_F(LeadershipTest, ShortCallsAreFinishedWhenATermIsLost) {
  Start();
  Advance(5s);
  server_.Freeze();
  Advance(11s);
  ASSERT_EQ(counts_.under_way, 1);
  ASSERT_EQ(counts_.ended, 0);
  server_.Thaw();
  Advance(1s);
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_THAT(*counts_.last, IsOk());
}

TEST_F(LeadershipTest, WhatIsUnderWayIsFinishedWhenTheProcessStops) {
  Start();
  Advance(5s);
  server_.Freeze();
  Advance(2s);
  ASSERT_EQ(counts_.under_way, 1);
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

// A server that stays frozen does not keep the process longer than its grace period.
TEST_F(LeadershipTest, WhatHangsIsCancelledBeforeTheGracePeriodIsOver) {
  Start();
  Advance(5s);
  server_.Freeze();
  Advance(2s);
  ASSERT_EQ(counts_.under_way, 1);
  TimePoint begin = clock_.Now();
  EXPECT_THAT(Stop(), IsOk());
  EXPECT_LT(clock_.Now() - begin, 20s);
  EXPECT_THAT(*counts_.last, FailsWith(Code::kCancelled));
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_EQ(counts_.destroyed_under_way, 0);
}

TEST_F(LeadershipTest, AnotherHolderEndsTheTerm) {
  Start();
  Lease lease = *api_.Get<Lease>(kLease);
  lease.mutable_spec()->set_holder_identity("b");
  api_.Update(lease);
  Advance(3s);
  EXPECT_EQ(counts_.ended, 1);
  EXPECT_EQ(Holder(), "b");
  Advance(30s);
  EXPECT_EQ(counts_.begun, 2) << "b did not renew";
}

// What cannot be ended ends the process, which says why; nothing is destroyed before.
TEST_F(LeadershipTest, ATaskThatDoesNotEndEndsTheProcess) {
  EXPECT_EXIT(
      {
        counts_.stubborn = true;
        Start();
        Lease lease = *api_.Get<Lease>(kLease);
        lease.mutable_spec()->set_holder_identity("b");
        api_.Update(lease);
        Advance(1min);
      },
      testing::ExitedWithCode(1), "tasks still running: work work-worker-0; the process ends");
}

}  // namespace
}  // namespace kube
