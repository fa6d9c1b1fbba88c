// SPDX-License-Identifier: Apache-2.0
// The evaluator as a process that fails: expressions that no limit of cel-go stops, crashes,
// programs that do not answer as an evaluator does, and an event loop that is busy.
#include "fleet/cel/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <thread>

#include "fleet/cel/testing/blocking_evaluator.h"
#include "fleet/cel/testing/child_processes.h"
#include "kube/base/clock.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace fleet::cel {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::Result;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using Outcome = Verdict::Outcome;

constexpr char kProgram[] = "fleet/cel/evaluator/evaluator";
constexpr std::string_view kCluster = R"({"metadata": {"name": "c1"}})";

class NoScores final : public ScoreReader {
 public:
  Result<std::vector<Score>> Scores(std::string_view) override { return std::vector<Score>{}; }
};

// Handing the scores over is the work of this process.
class BusyScores final : public ScoreReader {
 public:
  explicit BusyScores(std::function<void()> work) : work_(std::move(work)) {}
  Result<std::vector<Score>> Scores(std::string_view) override {
    work_();
    return std::vector<Score>{};
  }

 private:
  std::function<void()> work_;
};

size_t OpenFiles() {
  auto files = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

// Equal lists with 2^30 elements, that share their parts: comparing them takes minutes.
std::string Endless() {
  std::string list = "[1]";
  for (int i = 0; i < 30; ++i) list += ".map(x, [x, x])";
  return list + " == " + list;
}

// A text of 100 GB.
std::string Huge() {
  std::string text = "\"" + std::string(4000, 'a') + "\"";
  return text + ".replace(\"a\", " + text + ").replace(\"a\", " + text + ").size() > 0";
}

std::string Slow() {
  std::string list = "[0";
  for (int i = 1; i < 200; ++i) list += ",0";
  list += "]";
  return list + ".all(a," + list + ".all(b," + list + ".all(c, a == b && b == c)))";
}

class EvaluatorTest : public testing::Test {
 protected:
  BlockingEvaluator Make(const std::string& program, std::chrono::milliseconds patience) {
    return BlockingEvaluator(
        clock_,
        {.program = program, .patience = patience, .start_patience = std::chrono::minutes(1)});
  }
  Verdict Match(BlockingEvaluator& evaluator, const std::string& text,
                std::string_view cluster = kCluster) {
    Selector selector{text};
    return evaluator.Match({&selector, 1}, cluster, scores_).at(0);
  }

  kube::FakeClock clock_;
  NoScores scores_;
};

TEST_F(EvaluatorTest, AnExpressionThatNothingStopsIsKilled) {
  BlockingEvaluator evaluator = Make(kProgram, std::chrono::seconds(3));
  EXPECT_THAT(evaluator.Compile(Endless()), kube::IsOk());
  EXPECT_EQ(evaluator.starts(), 1);
  Verdict verdict = Match(evaluator, Endless());
  EXPECT_EQ(verdict.outcome, Outcome::kFatal);
  EXPECT_THAT(verdict.why, HasSubstr("did not answer in time"));
  EXPECT_GE(verdict.cost, std::chrono::seconds(3));
  EXPECT_THAT(Children(), IsEmpty());

  // Others are evaluated.
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
  EXPECT_EQ(evaluator.starts(), 2);
  EXPECT_THAT(Children(), SizeIs(1));
}

// 240 nested lists keep the type checker busy for seconds.
TEST_F(EvaluatorTest, ATextThatIsNotCompiledInTimeIsTheTextsFault) {
  BlockingEvaluator evaluator = Make(kProgram, std::chrono::seconds(1));
  std::string nested = std::string(240, '[') + std::string(240, ']');
  EXPECT_THAT(evaluator.Compile(nested + " == " + nested),
              FailsWith(Code::kDeadlineExceeded, HasSubstr("did not answer in time")));
  EXPECT_THAT(evaluator.Compile("true"), kube::IsOk());
}

TEST_F(EvaluatorTest, AnExpressionThatNeedsMuchMemoryEndsTheEvaluatorOnly) {
  BlockingEvaluator evaluator = Make(kProgram, std::chrono::minutes(1));
  Verdict verdict = Match(evaluator, Huge());
  EXPECT_EQ(verdict.outcome, Outcome::kFatal);
  EXPECT_THAT(verdict.why, HasSubstr("ended with exit code 2"));
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
  EXPECT_EQ(evaluator.starts(), 3) << "tried twice: it could have ended before the request";
}

TEST_F(EvaluatorTest, CpuTimeIsLimited) {
  EvaluatorOptions options{.program = kProgram, .patience = std::chrono::minutes(1)};
  options.limits.expression_cost = options.limits.selector_cost = 1'000'000'000;
  BlockingEvaluator evaluator(clock_, options);
  Verdict verdict = Match(evaluator, Slow());
  EXPECT_EQ(verdict.outcome, Outcome::kError);
  EXPECT_EQ(verdict.why, "more than 100 ms of CPU time");
  EXPECT_GE(verdict.cost, std::chrono::milliseconds(90));
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
  EXPECT_EQ(evaluator.starts(), 1);
}

TEST_F(EvaluatorTest, AnEvaluatorThatEndedIsReplacedUnnoticed) {
  BlockingEvaluator evaluator = Make(kProgram, std::chrono::minutes(1));
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
    EXPECT_EQ(evaluator.starts(), round);
    ASSERT_THAT(Children(), SizeIs(1));
    ASSERT_EQ(kill(Children()[0], SIGKILL), 0);
  }
}

TEST_F(EvaluatorTest, LeavesNoProcessAndNoFile) {
  size_t files = OpenFiles();
  {
    BlockingEvaluator evaluator = Make(kProgram, std::chrono::minutes(1));
    EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
    EXPECT_THAT(Children(), SizeIs(1));
    size_t running = OpenFiles();
    ASSERT_EQ(kill(Children()[0], SIGKILL), 0);
    EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
    EXPECT_EQ(OpenFiles(), running);
  }
  EXPECT_THAT(Children(), IsEmpty());
  EXPECT_EQ(OpenFiles(), files);
}

TEST_F(EvaluatorTest, WithoutEvaluatorNothingIsSaidAboutTheExpression) {
  BlockingEvaluator evaluator = Make("/no/evaluator", std::chrono::seconds(1));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(evaluator.Compile("true"), FailsWith(Code::kNotFound, HasSubstr("/no/evaluator")));
    Verdict verdict = Match(evaluator, "true");
    EXPECT_EQ(verdict.outcome, Outcome::kUnanswered);
    EXPECT_THAT(verdict.why, HasSubstr("/no/evaluator"));
  }
  EXPECT_EQ(evaluator.starts(), 0);
}

TEST_F(EvaluatorTest, IsStartedAgainAfterAPause) {
  std::string program = testing::TempDir() + "/evaluator";
  std::filesystem::remove(program);
  BlockingEvaluator evaluator = Make(program, std::chrono::minutes(1));
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kUnanswered);
  std::filesystem::create_symlink(std::filesystem::absolute(kProgram), program);
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kUnanswered);
  clock_.Advance(std::chrono::seconds(6));
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
}

TEST_F(EvaluatorTest, ProgramsThatAreNoEvaluator) {
  struct Row {
    const char* program;
    const char* why;
    // Only the program that never answers is waited for in vain.
    std::chrono::milliseconds patience = std::chrono::minutes(1);
  };
  const Row kRows[] = {
      {"/bin/true", "ended with exit code 0"},
      {"/usr/bin/yes", "frame is too long"},
      {"/usr/bin/tac", "did not answer in time", std::chrono::milliseconds(300)},
  };
  for (auto& [program, why, patience] : kRows) {
    BlockingEvaluator evaluator(
        clock_, {.program = program, .patience = patience, .start_patience = patience});
    Verdict verdict = Match(evaluator, "true");
    EXPECT_EQ(verdict.outcome, Outcome::kUnanswered);
    EXPECT_THAT(verdict.why, HasSubstr(why));
    EXPECT_THAT(Children(), IsEmpty()) << program;
    EXPECT_THAT(evaluator.Compile("true"), FailsWith(Code::kUnavailable, HasSubstr(why)))
        << "it is not the expression's fault";
  }
}

TEST_F(EvaluatorTest, SizesAreLimited) {
  BlockingEvaluator evaluator = Make(kProgram, std::chrono::minutes(1));
  std::string text = "true //" + std::string(Evaluator::kMaxExpressionBytes - 7, 'x');
  EXPECT_THAT(evaluator.Compile(text), kube::IsOk());
  EXPECT_EQ(Match(evaluator, text).outcome, Outcome::kMatch);
  text += "x";
  EXPECT_THAT(evaluator.Compile(text), FailsWith(Code::kInvalid, HasSubstr("16384 bytes")));
  EXPECT_EQ(Match(evaluator, text).outcome, Outcome::kError);

  std::string cluster = R"({"a": ")" + std::string(Evaluator::kMaxClusterBytes - 9, 'x') + "\"}";
  EXPECT_EQ(Match(evaluator, "managedCluster.a.size() > 1000", cluster).outcome, Outcome::kMatch);
  EXPECT_EQ(Match(evaluator, "true", cluster + " ").outcome, Outcome::kError);

  // Characters that JSON needs six bytes for.
  std::string strange = "true //" + std::string(Evaluator::kMaxExpressionBytes - 7, '\x01');
  Selector selector(Evaluator::kMaxSelectorBytes / Evaluator::kMaxExpressionBytes - 1, strange);
  std::vector<Selector> selectors(5, selector);  // in several requests
  for (const Verdict& verdict : evaluator.Match(selectors, kCluster, scores_)) {
    EXPECT_NE(verdict.outcome, Outcome::kUnanswered) << verdict.why;
  }
  selector.insert(selector.end(), 2, strange);
  EXPECT_EQ(evaluator.Match({&selector, 1}, kCluster, scores_)[0].why,
            "the expressions are too long");
  EXPECT_EQ(evaluator.starts(), 1);
}

TEST_F(EvaluatorTest, OneOfARequestEndsTheEvaluatorForAll) {
  BlockingEvaluator evaluator = Make(kProgram, std::chrono::minutes(1));
  std::vector<Selector> selectors{{"true"}, {Huge()}, {"false"}};
  std::vector<Verdict> verdicts = evaluator.Match(selectors, kCluster, scores_);
  for (const Verdict& verdict : verdicts) EXPECT_EQ(verdict.outcome, Outcome::kFatal);
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
}

// A cancelled caller leaves: the endless evaluation ends at once, and the next one is answered.
TEST_F(EvaluatorTest, ACancelledCallEndsTheEvaluator) {
  boost::asio::io_context io;
  Evaluator evaluator(io.get_executor(), clock_,
                      {.program = kProgram, .patience = std::chrono::minutes(10)});
  Selector endless{Endless()};
  boost::asio::cancellation_signal stop;
  std::optional<Result<Evaluation>> stopped;
  boost::asio::co_spawn(
      io, evaluator.Match({&endless, 1}, kCluster, scores_),
      boost::asio::bind_cancellation_slot(
          stop.slot(), [&](std::exception_ptr failure, Result<Evaluation> evaluation) {
            EXPECT_EQ(failure, nullptr);
            stopped = std::move(evaluation);
          }));
  ASSERT_TRUE(kube::RunUntil(io, [&] { return evaluator.starts() == 1; }));
  // It waits for its turn.
  Selector yes{"true"};
  std::optional<Result<Evaluation>> next;
  boost::asio::co_spawn(
      io, evaluator.Match({&yes, 1}, kCluster, scores_),
      [&](std::exception_ptr, Result<Evaluation> evaluation) { next = std::move(evaluation); });
  kube::Drain(io);
  EXPECT_FALSE(stopped || next);
  stop.emit(boost::asio::cancellation_type::terminal);
  ASSERT_TRUE(kube::RunUntil(io, [&] { return stopped && next; }));
  EXPECT_THAT(*stopped, FailsWith(Code::kCancelled));
  ASSERT_THAT(*next, kube::IsOk());
  EXPECT_EQ((*next)->verdicts.at(0).outcome, Outcome::kMatch);
  EXPECT_EQ(evaluator.starts(), 2);
}

TEST_F(EvaluatorTest, AnEvaluatorThatDoesNotEndHasNoSuccessorYet) {
  BlockingEvaluator evaluator = Make(kProgram, std::chrono::milliseconds(300));
  ASSERT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
  const std::vector<pid_t> children = Children();
  ASSERT_THAT(children, SizeIs(1));
  Tracer tracer(children[0]);
  if (!tracer.traces()) GTEST_SKIP() << "no process may be traced here";

  EXPECT_EQ(Match(evaluator, Endless()).outcome, Outcome::kFatal);
  for (int attempt = 0; attempt < 3; ++attempt) {
    Verdict verdict = Match(evaluator, "true");
    EXPECT_EQ(verdict.outcome, Outcome::kUnanswered);
    EXPECT_THAT(verdict.why, HasSubstr("has not ended yet"));
  }
  EXPECT_THAT(Children(), UnorderedElementsAre(children[0], tracer.pid()));
  EXPECT_EQ(evaluator.starts(), 1);

  tracer.End();
  clock_.Advance(std::chrono::seconds(6));
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
  EXPECT_EQ(evaluator.starts(), 2);
  EXPECT_THAT(Children(), SizeIs(1));
}

// The evaluator needs milliseconds. Not a bound of real time: only its CPU time counts.
TEST_F(EvaluatorTest, NobodyPaysForABusyLoop) {
  constexpr std::chrono::seconds kBusy{1};
  boost::asio::io_context io;
  Evaluator evaluator(io.get_executor(), kube::RealClock(),
                      {.program = kProgram, .patience = std::chrono::minutes(1)});
  auto busy = [&] { std::this_thread::sleep_for(kBusy); };
  ASSERT_THAT(kube::Run(io, evaluator.Compile("true")), kube::IsOk());  // starts it
  boost::asio::post(io, [&] { boost::asio::post(io, busy); });          // once it has the text
  Result<Compilation> compilation = kube::Run(io, evaluator.Compile("1 < 2"));
  ASSERT_THAT(compilation, kube::IsOk());
  EXPECT_GT(compilation->used, kube::Duration::zero());
  EXPECT_LT(compilation->used, kBusy);

  BusyScores scores(busy);
  Selector selector{R"(managedCluster.scores("usage").size() == 0)"};
  Result<Evaluation> evaluation = kube::Run(io, evaluator.Match({&selector, 1}, kCluster, scores));
  ASSERT_THAT(evaluation, kube::IsOk());
  EXPECT_EQ(evaluation->verdicts.at(0).outcome, Outcome::kMatch);
  EXPECT_LT(evaluation->used, kBusy);
}

TEST_F(EvaluatorTest, ABusyProcessHoldsTheTurnForSomeTimeOnly) {
  BlockingEvaluator evaluator = Make(kProgram, std::chrono::minutes(1));
  int asked = 0;
  BusyScores scores([&] {
    ++asked;
    clock_.Advance(std::chrono::seconds(10));
  });
  std::string names = "[\"n0\"";
  for (int i = 1; i < 90; ++i) names += ",\"n" + std::to_string(i) + "\"";
  Selector selector{names + "].all(n, managedCluster.scores(n).size() == 0)"};
  Verdict verdict = evaluator.Match({&selector, 1}, kCluster, scores).at(0);
  EXPECT_EQ(verdict.outcome, Outcome::kUnanswered) << "it is not the selector's fault";
  EXPECT_THAT(verdict.why, HasSubstr("too busy"));
  EXPECT_LT(asked, 30);
  EXPECT_THAT(Children(), IsEmpty());

  EXPECT_EQ(evaluator.Match({&selector, 1}, kCluster, scores_).at(0).outcome, Outcome::kMatch);
}

}  // namespace
}  // namespace fleet::cel
