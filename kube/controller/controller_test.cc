// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/controller.h"

#include <gtest/gtest.h>

#include <deque>
#include <stdexcept>

#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using Ending = ControllerObserver::Ending;

// Takes `work` per reconcile, then returns the test's `answers` in order; Done after the last.
class ScriptedReconciler final : public Reconciler {
 public:
  explicit ScriptedReconciler(Clock& clock) : clock_(clock) {}

  Async<Outcome> Reconcile(Request request) override {
    seen.push_back(request.key.name);
    logs.push_back(request.log);
    ++running;
    most_running = std::max(most_running, running);
    if (work > 0s) {
      Result<> slept = co_await clock_.Sleep(work);
      EXPECT_THAT(slept, IsOk()) << "a reconcile in flight is not cancelled";
    }
    --running;
    if (throws) throw std::runtime_error("at()");
    if (answers.empty()) co_return Outcome::Done();
    Result<Outcome> answer = answers.front();
    answers.pop_front();
    co_return answer;
  }

  Clock& clock_;
  std::vector<std::string> seen;
  std::vector<std::string> logs;
  std::deque<Result<Outcome>> answers;
  Duration work{};
  bool throws = false;
  int running = 0;
  int most_running = 0;
};

struct Observed : ControllerObserver {
  void OnDepth(size_t) override {}
  void OnAdded() override {}
  void OnRetried() override {}
  void OnTaken(TimePoint, TimePoint) override {}
  void OnDone(TimePoint, TimePoint) override {}
  void OnActiveWorkers(int workers) override { active = workers; }
  void OnReconciled(Ending ending, bool panicked, Duration took) override {
    endings.push_back(ending);
    panics += panicked;
    last_took = took;
  }
  int active = 0;
  int panics = 0;
  Duration last_took{};
  std::vector<Ending> endings;
};

class ControllerTest : public testing::Test {
 protected:
  ControllerTest() {
    tasks_.Spawn("test", controller_.Run(tasks_));
    Drain(io_);
  }
  ~ControllerTest() override {
    clock_.Advance(1h);
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk());
  }

  void Enqueue(const char* name) {
    controller_.Enqueue({"ns", name});
    Drain(io_);
  }
  void Advance(Duration step) {
    clock_.Advance(step);
    Drain(io_);
  }
  // The keys reconciled since the last call.
  std::vector<std::string> Seen() { return std::exchange(reconciler_.seen, {}); }

  FakeClock clock_;
  asio::io_context io_;
  TaskGroup tasks_{io_.get_executor()};
  ScriptedReconciler reconciler_{clock_};
  Observed observed_;
  Controller controller_{
      {.name = "test", .workers = 2, .queue = {.base_delay = 10ms, .max_delay = 1s}},
      reconciler_,
      clock_,
      &observed_};
};

TEST_F(ControllerTest, ReconcilesAnEnqueuedKeyOnce) {
  Enqueue("a");
  Advance(1h);
  EXPECT_THAT(Seen(), ElementsAre("a"));
  EXPECT_THAT(observed_.endings, ElementsAre(Ending::kSuccess));
}

TEST_F(ControllerTest, EachReconcileHasAStartForItsLogLines) {
  Enqueue("a");
  Enqueue("b\nE1122 forged line");
  Enqueue("a");
  ASSERT_EQ(reconciler_.logs.size(), 3u);
  const std::string start = "controller=test object=ns/a reconcile=";
  EXPECT_EQ(reconciler_.logs[0].substr(0, start.size()), start);
  EXPECT_EQ(reconciler_.logs[0].size(), start.size() + 8);
  EXPECT_NE(reconciler_.logs[0], reconciler_.logs[2]) << "another reconcile of the same object";
  EXPECT_EQ(reconciler_.logs[1].find('\n'), std::string::npos);
}

TEST_F(ControllerTest, ReconcilesAgainAfterTheRequestedDelay) {
  reconciler_.answers = {Outcome::After(30s)};
  Enqueue("a");
  EXPECT_THAT(Seen(), ElementsAre("a"));
  Advance(30s - 1ms);
  EXPECT_THAT(Seen(), IsEmpty());
  Advance(1ms);
  EXPECT_THAT(Seen(), ElementsAre("a"));
  EXPECT_THAT(observed_.endings, ElementsAre(Ending::kRequeueAfter, Ending::kSuccess));
}

TEST_F(ControllerTest, RetriesFailuresWithBackoffUntilSuccess) {
  reconciler_.answers = {Error::Unavailable("503"), Error::Unavailable("503"), Outcome::Done(),
                         Error::Unavailable("503")};
  Enqueue("a");
  Advance(10ms);
  Advance(19ms);
  EXPECT_THAT(Seen(), ElementsAre("a", "a"));
  Advance(1ms);
  EXPECT_THAT(Seen(), ElementsAre("a"));
  Enqueue("a");
  Advance(10ms);
  EXPECT_THAT(Seen(), ElementsAre("a", "a")) << "success resets the backoff";
}

TEST_F(ControllerTest, HonoursRetryAfter) {
  reconciler_.answers = {Error::Throttled("429").WithRetryAfter(20s)};
  Enqueue("a");
  Seen();
  Advance(19s);
  EXPECT_THAT(Seen(), IsEmpty());
  Advance(1s);
  EXPECT_THAT(Seen(), ElementsAre("a"));
}

TEST_F(ControllerTest, ConflictsAreRetriedAndNotCountedAsErrors) {
  reconciler_.answers = {Error::Conflict("modified")};
  Enqueue("a");
  Advance(10ms);
  EXPECT_THAT(Seen(), ElementsAre("a", "a"));
  EXPECT_THAT(observed_.endings, ElementsAre(Ending::kRequeue, Ending::kSuccess));
}

TEST_F(ControllerTest, TerminalErrorsAreNotRetriedBeforeAnEvent) {
  reconciler_.answers = {Error::Invalid("never").AsTerminal()};
  Enqueue("a");
  Advance(1h);
  EXPECT_THAT(Seen(), ElementsAre("a"));
  EXPECT_THAT(observed_.endings, ElementsAre(Ending::kTerminalError));
  Enqueue("a");
  EXPECT_THAT(Seen(), ElementsAre("a"));
}

TEST_F(ControllerTest, AnExceptionAffectsOneObjectOnly) {
  reconciler_.throws = true;
  Enqueue("a");
  reconciler_.throws = false;
  EXPECT_THAT(observed_.endings, ElementsAre(Ending::kError));
  EXPECT_EQ(observed_.panics, 1);
  Enqueue("b");
  Advance(10ms);
  EXPECT_THAT(Seen(), ElementsAre("a", "b", "a")) << "the worker continues, and a is retried";
}

TEST_F(ControllerTest, ReconcilesKeysConcurrentlyButNeverOneKeyTwice) {
  reconciler_.work = 1s;
  Enqueue("a");
  Enqueue("a");
  Enqueue("b");
  Enqueue("c");
  EXPECT_THAT(Seen(), ElementsAre("a", "b"));
  EXPECT_EQ(observed_.active, 2);
  Advance(1s);
  EXPECT_THAT(Seen(), ElementsAre("c", "a"));
  Advance(1s);
  EXPECT_EQ(reconciler_.most_running, 2);
  EXPECT_EQ(observed_.active, 0);
  EXPECT_EQ(observed_.last_took, 1s);
}

TEST_F(ControllerTest, StopFinishesReconcilesInFlightAndStartsNone) {
  reconciler_.work = 1s;
  Enqueue("a");
  Enqueue("b");
  Enqueue("waits");
  std::optional<Result<>> stopped;
  asio::co_spawn(io_, tasks_.Stop(clock_, 10s),
                 [&](std::exception_ptr, Result<> result) { stopped = std::move(result); });
  Drain(io_);
  EXPECT_FALSE(stopped) << "two reconciles are in flight";
  Advance(1s);
  ASSERT_TRUE(stopped);
  EXPECT_THAT(*stopped, IsOk());
  EXPECT_THAT(Seen(), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace kube
