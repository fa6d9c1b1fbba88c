// SPDX-License-Identifier: Apache-2.0
// The evaluator as a process that fails: expressions that no limit of cel-go stops, crashes, and
// programs that do not answer as an evaluator does.
#include "fleet/cel/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "fleet/cel/evaluator_process.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"

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
  Evaluator Make(const std::string& program, std::chrono::milliseconds patience) {
    return Evaluator(clock_, {.program = program, .patience = patience});
  }
  Verdict Match(Evaluator& evaluator, const std::string& text,
                std::string_view cluster = kCluster) {
    Selector selector{text};
    return evaluator.Match({&selector, 1}, cluster, scores_).at(0);
  }

  kube::FakeClock clock_;
  NoScores scores_;
};

TEST_F(EvaluatorTest, AnExpressionThatNothingStopsIsKilled) {
  Evaluator evaluator = Make(kProgram, std::chrono::seconds(3));
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
  Evaluator evaluator = Make(kProgram, std::chrono::seconds(1));
  std::string nested = std::string(240, '[') + std::string(240, ']');
  EXPECT_THAT(evaluator.Compile(nested + " == " + nested),
              FailsWith(Code::kDeadlineExceeded, HasSubstr("did not answer in time")));
  EXPECT_THAT(evaluator.Compile("true"), kube::IsOk());
}

TEST_F(EvaluatorTest, AnExpressionThatNeedsMuchMemoryEndsTheEvaluatorOnly) {
  Evaluator evaluator = Make(kProgram, std::chrono::minutes(1));
  Verdict verdict = Match(evaluator, Huge());
  EXPECT_EQ(verdict.outcome, Outcome::kFatal);
  EXPECT_THAT(verdict.why, HasSubstr("ended with exit code 2"));
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
  EXPECT_EQ(evaluator.starts(), 3) << "tried twice: it could have ended before the request";
}

TEST_F(EvaluatorTest, CpuTimeIsLimited) {
  EvaluatorOptions options{.program = kProgram, .patience = std::chrono::minutes(1)};
  options.limits.expression_cost = options.limits.selector_cost = 1'000'000'000;
  Evaluator evaluator(clock_, options);
  Verdict verdict = Match(evaluator, Slow());
  EXPECT_EQ(verdict.outcome, Outcome::kError);
  EXPECT_EQ(verdict.why, "more than 100 ms of CPU time");
  EXPECT_GE(verdict.cost, std::chrono::milliseconds(90));
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
  EXPECT_EQ(evaluator.starts(), 1);
}

TEST_F(EvaluatorTest, AnEvaluatorThatEndedIsReplacedUnnoticed) {
  Evaluator evaluator = Make(kProgram, std::chrono::minutes(1));
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
    Evaluator evaluator = Make(kProgram, std::chrono::minutes(1));
    EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
    EXPECT_THAT(Children(), SizeIs(1));
    EXPECT_EQ(OpenFiles(), files + 1);
    ASSERT_EQ(kill(Children()[0], SIGKILL), 0);
    EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
    EXPECT_EQ(OpenFiles(), files + 1);
  }
  EXPECT_THAT(Children(), IsEmpty());
  EXPECT_EQ(OpenFiles(), files);
}

TEST_F(EvaluatorTest, WithoutEvaluatorNothingIsSaidAboutTheExpression) {
  Evaluator evaluator = Make("/no/evaluator", std::chrono::seconds(1));
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
  Evaluator evaluator = Make(program, std::chrono::minutes(1));
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kUnanswered);
  std::filesystem::create_symlink(std::filesystem::absolute(kProgram), program);
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kUnanswered);
  clock_.Advance(std::chrono::seconds(6));
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
}

TEST_F(EvaluatorTest, ProgramsThatAreNoEvaluator) {
  const std::pair<const char*, const char*> kRows[] = {
      {"/bin/true", "ended with exit code 0"},
      {"/usr/bin/yes", "frame is too long"},
      {"/usr/bin/tac", "did not answer in time"},
  };
  for (auto& [program, why] : kRows) {
    Evaluator evaluator(clock_, {.program = program,
                                 .patience = std::chrono::milliseconds(300),
                                 .start_patience = std::chrono::milliseconds(300)});
    Verdict verdict = Match(evaluator, "true");
    EXPECT_EQ(verdict.outcome, Outcome::kUnanswered);
    EXPECT_THAT(verdict.why, HasSubstr(why));
    EXPECT_THAT(Children(), IsEmpty()) << program;
  }
}

TEST_F(EvaluatorTest, SizesAreLimited) {
  Evaluator evaluator = Make(kProgram, std::chrono::minutes(1));
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
  Evaluator evaluator = Make(kProgram, std::chrono::minutes(1));
  std::vector<Selector> selectors{{"true"}, {Huge()}, {"false"}};
  std::vector<Verdict> verdicts = evaluator.Match(selectors, kCluster, scores_);
  for (const Verdict& verdict : verdicts) EXPECT_EQ(verdict.outcome, Outcome::kFatal);
  EXPECT_EQ(Match(evaluator, "true").outcome, Outcome::kMatch);
}

TEST(EvaluatorProcess, CarriesFrames) {
  auto process = EvaluatorProcess::Start("/bin/cat");
  ASSERT_THAT(process, kube::IsOk());
  auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (size_t size : {0u, 1u, 255u, 256u, 65536u}) {
    std::string frame(size, 'x');
    std::string_view frames[] = {frame, "next"};
    ASSERT_THAT((*process)->Write(frames, deadline), kube::IsOk());
    Result<std::string> echo = (*process)->Read(deadline);
    ASSERT_THAT(echo, kube::IsOk());
    EXPECT_EQ(*echo, frame);
    EXPECT_EQ((*process)->Read(deadline).value(), "next");
  }
  std::string too_long(EvaluatorProcess::kMaxFrameBytes + 1, 'x');
  std::string_view frames[] = {too_long};
  EXPECT_THAT((*process)->Write(frames, deadline), FailsWith(Code::kInvalid));
  EXPECT_THAT((*process)->Read(std::chrono::steady_clock::now()),
              FailsWith(Code::kDeadlineExceeded));
  ASSERT_EQ(kill((*process)->pid(), SIGKILL), 0);
  EXPECT_THAT((*process)->Read(deadline), FailsWith(Code::kUnavailable, HasSubstr("137")));
}

}  // namespace
}  // namespace fleet::cel
