// SPDX-License-Identifier: Apache-2.0
// The evaluator as a process that fails: expressions that no limit of cel-go stops, crashes, and
// programs that do not answer as an evaluator does.
#include "fleet/cel/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "fleet/cel/evaluator_process.h"
#include "fleet/cel/testing/blocking_evaluator.h"
#include "kube/base/async.h"
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
using Outcome = Verdict::Outcome;

constexpr char kProgram[] = "fleet/cel/evaluator/evaluator";
constexpr std::string_view kCluster = R"({"metadata": {"name": "c1"}})";

class NoScores final : public ScoreReader {
 public:
  Result<std::vector<Score>> Scores(std::string_view) override { return std::vector<Score>{}; }
};

// The processes that this one has started and not reaped.
std::vector<pid_t> Children() {
  std::vector<pid_t> pids;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(thread.path() / "children");
    for (pid_t pid; children >> pid;) pids.push_back(pid);
  }
  return pids;
}

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

class EvaluatorProcessTest : public testing::Test {
 protected:
  std::unique_ptr<EvaluatorProcess> Start(const std::string& program) {
    return EvaluatorProcess::Start(io_.get_executor(), program).value();
  }

  boost::asio::io_context io_;
  kube::Duration patience_ = std::chrono::minutes(10);
};

TEST_F(EvaluatorProcessTest, CarriesFrames) {
  auto process = Start("/bin/cat");
  for (size_t size : {0u, 1u, 255u, 256u, 65536u}) {
    std::string frame(size, 'x');
    std::string_view frames[] = {frame, "next"};
    ASSERT_THAT(kube::Run(io_, process->Write(frames, patience_)), kube::IsOk());
    Result<std::string> echo = kube::Run(io_, process->Read(patience_));
    ASSERT_THAT(echo, kube::IsOk());
    EXPECT_EQ(*echo, frame);
    EXPECT_EQ(kube::Run(io_, process->Read(patience_)).value(), "next");
  }
  std::string too_long(EvaluatorProcess::kMaxFrameBytes + 1, 'x');
  std::string_view frames[] = {too_long};
  EXPECT_THAT(kube::Run(io_, process->Write(frames, patience_)), FailsWith(Code::kInvalid));
  kube::Duration none{};
  EXPECT_THAT(kube::Run(io_, process->Read(none)), FailsWith(Code::kDeadlineExceeded));
  ASSERT_EQ(kill(process->pid(), SIGKILL), 0);
  EXPECT_THAT(kube::Run(io_, process->Read(patience_)),
              FailsWith(Code::kUnavailable, HasSubstr("137")));
}

// A pass for a large fleet keeps the event loop busy while the evaluator works.
TEST_F(EvaluatorProcessTest, ABusyLoopIsNotTheProcesssDelay) {
  auto process = Start("/bin/cat");
  std::optional<Result<std::string>> read;
  boost::asio::co_spawn(io_, process->Read(patience_),
                        [&](std::exception_ptr, Result<std::string> frame) { read = frame; });
  kube::Drain(io_);  // it waits
  const kube::Duration before = patience_;
  boost::asio::post(io_, [&] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    kill(process->pid(), SIGKILL);
  });
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return read.has_value(); }));
  EXPECT_THAT(*read, FailsWith(Code::kUnavailable));
  EXPECT_LT(before - patience_, std::chrono::seconds(1));
}

}  // namespace
}  // namespace fleet::cel
