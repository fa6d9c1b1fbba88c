// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/cached_selectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <utility>

#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace fleet::cel {
namespace {

using kube::Code;
using kube::Duration;
using kube::FailsWith;
using kube::Result;
using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::Optional;
using namespace std::chrono_literals;

constexpr char kProgram[] = "fleet/cel/evaluator/evaluator";

// Equal lists with 2^30 elements, that share their parts: comparing them takes minutes.
std::string Endless() {
  std::string list = "[1]";
  for (int i = 0; i < 30; ++i) list += ".map(x, [x, x])";
  return list + " == " + list;
}

class Clusters final : public ClusterTexts {
 public:
  std::optional<std::string> Json(const std::string& cluster) override {
    ++reads;
    if (auto then = std::exchange(on_read, {})) then();
    auto found = texts.find(cluster);
    if (found == texts.end()) return std::nullopt;
    return found->second;
  }
  ScoreTable Scores(const std::string& cluster) override {
    return {{"usage", {{"cpu", cpu[cluster]}}}};
  }

  std::map<std::string, std::string> texts{{"c1", R"({"a": 1})"}, {"c2", R"({"a": 2})"}};
  std::map<std::string, int64_t> cpu{{"c1", 10}, {"c2", 20}};
  int reads = 0;
  // Called once, in the next Json(). The evaluator may answer at once, so this is the only moment
  // of which a test can say that a namespace is being answered.
  std::function<void()> on_read;
};

class CachedSelectorsTest : public testing::Test {
 protected:
  struct Seen {
    CelSelectors::Verdict verdict;
    std::string refusal;
    Duration wait{};
  };
  // Passes that ask one question, until it is answered, refused, or has to wait.
  Seen Ask(CachedSelectors& selectors, const std::string& ns, const Selector& selector,
           const std::string& cluster) {
    for (int passes = 0; passes < 5; ++passes) {
      selectors.Begin(ns);
      Seen seen{selectors.Matches(selector, cluster), selectors.TakeRefusal()};
      Questions questions = selectors.TakeQuestions();
      if (!seen.refusal.empty() || questions.empty()) return seen;
      Result<Duration> wait = kube::Run(io_, selectors.Answer(std::move(questions)));
      if (!wait) return {{false, wait.error().message()}, ""};
      if (*wait > Duration::zero()) return {{}, "", *wait};
    }
    ADD_FAILURE() << "never answered";
    return {};
  }
  bool Matches(const Selector& selector, const std::string& cluster) {
    Seen seen = Ask(selectors_, "ns", selector, cluster);
    EXPECT_EQ(seen.verdict.error + seen.refusal, "");
    return seen.verdict.matches;
  }
  std::optional<std::string> Check(CachedSelectors& selectors, const std::string& text) {
    for (int passes = 0; passes < 2; ++passes) {
      selectors.Begin("ns");
      std::optional<std::string> problem = selectors.Check(text);
      Questions questions = selectors.TakeQuestions();
      if (questions.empty()) return problem;
      EXPECT_EQ(problem, std::nullopt);
      Result<Duration> wait = kube::Run(io_, selectors.Answer(std::move(questions)));
      if (!wait) return "no answer: " + wait.error().message();
    }
    return "never answered";
  }

  const Selector kOne{"managedCluster.a == 1"};
  const Selector kTwo{"managedCluster.a == 2", "true"};
  const Selector kCpu{R"(managedCluster.scores("usage").exists(s, s.value > 15))"};

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  Clusters clusters_;
  Evaluator evaluator_{
      io_.get_executor(), kube::RealClock(), {.program = kProgram, .patience = 1min}};
  CachedSelectors selectors_{evaluator_, clusters_, clock_};
};

TEST_F(CachedSelectorsTest, EvaluatesAChangedClusterOnceForAllSelectors) {
  for (const Selector& selector : {kOne, kTwo, kCpu}) Matches(selector, "c1");
  EXPECT_EQ(clusters_.reads, 3) << "the others were not known before";
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_FALSE(Matches(kOne, "c2"));
    EXPECT_TRUE(Matches(kTwo, "c2"));
    EXPECT_TRUE(Matches(kCpu, "c2"));
    EXPECT_TRUE(Matches(kOne, "c1"));
    EXPECT_FALSE(Matches(kTwo, "c1"));
    EXPECT_FALSE(Matches(kCpu, "c1"));
  }
  EXPECT_EQ(clusters_.reads, 4);

  clusters_.texts["c2"] = R"({"a": 1})";
  EXPECT_FALSE(Matches(kOne, "c2"));
  selectors_.ClusterChanged("c2");
  EXPECT_TRUE(Matches(kOne, "c2"));
  EXPECT_FALSE(Matches(kTwo, "c2"));
  EXPECT_EQ(clusters_.reads, 5);
}

TEST_F(CachedSelectorsTest, EvaluatesChangedScoresOnlyWhereTheyAreRead) {
  const Selector computed{R"(managedCluster.scores("us" + "age")[0].value > 15)"};
  for (const Selector& selector : {kOne, kCpu, computed}) Matches(selector, "c1");
  int reads = clusters_.reads;
  clusters_.cpu["c1"] = 16;
  selectors_.ScoresChanged("c1", "other");
  EXPECT_FALSE(Matches(kCpu, "c1"));
  // Any score may be the computed one.
  EXPECT_TRUE(Matches(computed, "c1"));
  EXPECT_EQ(clusters_.reads, reads + 1);
  selectors_.ScoresChanged("c1", "usage");
  EXPECT_TRUE(Matches(kOne, "c1"));
  EXPECT_EQ(clusters_.reads, reads + 1);
  EXPECT_TRUE(Matches(kCpu, "c1"));
  EXPECT_EQ(clusters_.reads, reads + 2);
  selectors_.ScoresChanged("c3", "usage");
}

TEST_F(CachedSelectorsTest, AVerdictOfAClusterThatChangedMeanwhileIsNotUsed) {
  Matches(kOne, "c2");
  selectors_.Begin("ns");
  selectors_.Matches(kOne, "c1");
  Questions questions = selectors_.TakeQuestions();
  ASSERT_EQ(questions.clusters.size(), 1u);
  bool done = false;
  boost::asio::co_spawn(io_, selectors_.Answer(std::move(questions)),
                        [&](std::exception_ptr, const Result<Duration>&) { done = true; });
  io_.run_one();
  EXPECT_FALSE(done);
  clusters_.texts["c1"] = R"({"a": 7})";
  selectors_.ClusterChanged("c1");
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return done; }));
  EXPECT_FALSE(Matches(kOne, "c1"));
}

// The second caller is a worker that would wait, for verdicts that the first one is finding out.
TEST_F(CachedSelectorsTest, ANamespaceIsAnsweredForOneCallerAtATime) {
  Matches(kOne, "c2");
  std::vector<Duration> waits;
  clusters_.on_read = [&] { waits.push_back(Ask(selectors_, "ns", kOne, "c1").wait); };
  EXPECT_TRUE(Matches(kOne, "c1"));
  EXPECT_THAT(waits, ElementsAre(Answering::kRetry));
  EXPECT_EQ(clusters_.reads, 2);
}

// Callers of many namespaces leave room for other work.
TEST_F(CachedSelectorsTest, AFewNamespacesAreAnsweredAtATime) {
  CachedSelectors selectors(evaluator_, clusters_, clock_, /*max_answered=*/2);
  auto ask = [&](const std::string& ns) { return Ask(selectors, ns, {"true"}, "c1"); };
  std::vector<Duration> waits;
  clusters_.on_read = [&] {
    clusters_.on_read = [&] {
      for (const char* ns : {"c", "d"}) waits.push_back(ask(ns).wait);
      EXPECT_TRUE(selectors.Busy("a")) << "it is being answered";
      EXPECT_TRUE(selectors.Busy("c")) << "it was told to wait";
      EXPECT_FALSE(selectors.Busy("e"));
    };
    EXPECT_TRUE(ask("b").verdict.matches);
  };
  EXPECT_TRUE(ask("a").verdict.matches);
  EXPECT_THAT(waits, ElementsAre(Answering::kRetry, Answering::kRetry));
  EXPECT_FALSE(selectors.Busy("a"));
  clock_.Advance(Answering::kRetry);
  EXPECT_FALSE(selectors.Busy("c"));
  EXPECT_TRUE(ask("c").verdict.matches);
}

TEST_F(CachedSelectorsTest, ALongAnswerIsInterruptedForAnotherNamespace) {
  CachedSelectors selectors(evaluator_, clusters_, clock_, /*max_answered=*/1);
  EXPECT_TRUE(Ask(selectors, "a", {"true"}, "c1").verdict.matches);
  clusters_.texts["c3"] = clusters_.texts["c1"];
  const int reads = clusters_.reads;
  std::vector<Duration> waits;
  clusters_.on_read = [&] {
    waits.push_back(Ask(selectors, "b", {"true"}, "c1").wait);
    clock_.Advance(Answering::kMaxTurn);
  };
  selectors.Begin("a");
  for (const char* cluster : {"c2", "c3"}) selectors.Matches({"true"}, cluster);
  Result<Duration> interrupted = kube::Run(io_, selectors.Answer(selectors.TakeQuestions()));
  EXPECT_THAT(waits, ElementsAre(Answering::kRetry));
  EXPECT_EQ(*interrupted, Answering::kRetry);
  EXPECT_EQ(clusters_.reads, reads + 1) << "c3 comes later";
  EXPECT_TRUE(Ask(selectors, "b", {"true"}, "c1").verdict.matches);
}

TEST_F(CachedSelectorsTest, ErrorsAreKept) {
  const Selector selector{"managedCluster.none == managedCluster.a"};
  for (int pass = 0; pass < 2; ++pass) {
    CelSelectors::Verdict verdict = Ask(selectors_, "ns", selector, "c1").verdict;
    EXPECT_FALSE(verdict.matches);
    EXPECT_EQ(verdict.error, "no such key: none");
  }
  EXPECT_EQ(clusters_.reads, 1);
  // More different errors than a byte has values.
  const Selector own{R"({"k": 1}[managedCluster.name] == 1)"};
  for (int i = 0; i < 300; ++i) {
    std::string name = "n" + std::to_string(i);
    clusters_.texts[name] = R"({"name": ")" + name + "\"}";
    CelSelectors::Verdict verdict = Ask(selectors_, "ns", own, name).verdict;
    EXPECT_FALSE(verdict.matches);
    EXPECT_EQ(verdict.error, i < 252 ? "no such key: " + name : "the evaluation failed");
  }
}

TEST_F(CachedSelectorsTest, UnusedSelectorsAreForgotten) {
  for (const Selector& selector : {kOne, kTwo, kCpu}) {
    for (const char* cluster : {"c1", "c2"}) Matches(selector, cluster);
  }
  int reads = clusters_.reads;
  UsedSelector used[] = {{"ns", kCpu}, {"ns", kOne}, {"ns", {"false"}}, {"other", kTwo}};
  selectors_.Retain(used);
  EXPECT_TRUE(Matches(kOne, "c1"));
  EXPECT_FALSE(Matches(kOne, "c2"));
  EXPECT_FALSE(Matches(kCpu, "c1"));
  EXPECT_TRUE(Matches(kCpu, "c2"));
  EXPECT_EQ(clusters_.reads, reads);
  EXPECT_TRUE(Matches(kTwo, "c2"));
  EXPECT_EQ(clusters_.reads, reads + 1);
}

TEST_F(CachedSelectorsTest, TheSelectorsOfANamespaceAreBounded) {
  for (size_t i = 0; i < CachedSelectors::kMaxOfNamespace.selectors; ++i)
    Matches({"managedCluster.a == " + std::to_string(i)}, "c1");
  EXPECT_THAT(Ask(selectors_, "ns", {"false"}, "c1").refusal, HasSubstr("more than 200"));
  EXPECT_TRUE(Matches(kOne, "c1"));
  EXPECT_EQ(Ask(selectors_, "other", {"true"}, "c1").verdict.matches, true);
  selectors_.Retain({});
  EXPECT_FALSE(Matches({"false"}, "c1"));

  // 70 texts of 16 KB.
  std::string refusal;
  for (int i = 0; i < 70 && refusal.empty(); ++i) {
    std::string text = "true // " + std::to_string(i);
    text.resize(Evaluator::kMaxExpressionBytes, 'x');
    refusal = Ask(selectors_, "long", {text}, "c1").refusal;
  }
  EXPECT_THAT(refusal, HasSubstr("too long"));
}

TEST_F(CachedSelectorsTest, AFewNamespacesLeaveRoomForOthers) {
  EXPECT_TRUE(Matches({"true"}, "c1"));
  EXPECT_FALSE(Matches({"false"}, "c1"));
  // Different selectors of two known texts; nothing is evaluated.
  auto add = [&](const std::string& ns, int number) {
    Selector selector;
    for (int bit = 0; bit < 8; ++bit)
      selector.push_back((number >> bit) % 2 != 0 ? "true" : "false");
    selectors_.Begin(ns);
    selectors_.Matches(selector, "c1");
    return selectors_.TakeRefusal();
  };
  for (int ns = 0; ns < 10; ++ns) {
    for (int i = 0; i < 200; ++i) add("ns" + std::to_string(ns), i);
  }
  EXPECT_THAT(add("ns9", 255), HasSubstr("beyond the first 10 of each"));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(add("late", i), "");
  EXPECT_NE(add("late", 10), "");
  EXPECT_EQ(add("ns0", 199), "") << "what was accepted stays";
}

TEST_F(CachedSelectorsTest, ARefusalNamesTheLimitOfTheHub) {
  for (const char* text : {"true", "false"}) Matches({text}, "c1");
  auto add = [&](const std::string& ns, int number) {
    Selector selector;
    for (int bit = 0; bit < 4; ++bit)
      selector.push_back((number >> bit) % 2 != 0 ? "true" : "false");
    selectors_.Begin(ns);
    selectors_.Matches(selector, "c1");
    return selectors_.TakeRefusal();
  };
  std::string refusal;
  size_t accepted = 2;
  for (int ns = 0; refusal.empty() && ns < 300; ++ns) {
    for (int i = 0; refusal.empty() && i < 10; ++i) {
      refusal = add("ns" + std::to_string(ns), i);
      if (refusal.empty()) ++accepted;
    }
  }
  EXPECT_EQ(accepted, CachedSelectors::kMax.selectors);
  EXPECT_THAT(refusal, HasSubstr("all namespaces of the hub have more than 2000"));
  // Of a tenant without any selector.
  EXPECT_THAT(add("new", 0), HasSubstr("all namespaces of the hub have more than 2000"));
}

TEST_F(CachedSelectorsTest, ErrorsOfANamespaceAreBounded) {
  const Selector own{R"({"k": 1}[managedCluster.name] == 1)"};
  std::string error;
  for (int i = 0; i < 100; ++i) {
    std::string name = "n" + std::to_string(i);
    clusters_.texts[name] = R"({"name": ")" + std::string(900, 'x') + name + "\"}";
    error = Ask(selectors_, "ns", own, name).verdict.error;
  }
  EXPECT_EQ(error, "the evaluation failed");
  clusters_.texts["n0"] = R"({"name": "short"})";
  selectors_.ClusterChanged("n0");
  EXPECT_THAT(Ask(selectors_, "other", own, "n0").verdict.error, HasSubstr("short"));
  // Their room is free again when the selector is not used any more.
  selectors_.Retain({});
  EXPECT_THAT(Ask(selectors_, "ns", own, "n0").verdict.error, HasSubstr("short"));
}

TEST_F(CachedSelectorsTest, ANamespacePaysForItsKills) {
  Evaluator impatient(io_.get_executor(), kube::RealClock(), {.program = kProgram, .patience = 1s});
  CachedSelectors selectors(impatient, clusters_, clock_);
  const Selector sometimes{"managedCluster.a == 1 || " + Endless()};
  EXPECT_TRUE(Ask(selectors, "bad", sometimes, "c1").verdict.matches);
  EXPECT_TRUE(Ask(selectors, "bad", {"true"}, "c1").verdict.matches);
  const int starts = impatient.starts();
  Seen seen = Ask(selectors, "bad", {"true"}, "c2");
  EXPECT_GT(seen.wait, 4s) << "ten times what the request of both has used";
  EXPECT_EQ(impatient.starts(), starts) << "it waits before each is evaluated alone";
}

TEST_F(CachedSelectorsTest, ASelectorThatTookTooLongIsRefusedForSomeTime) {
  Evaluator impatient(io_.get_executor(), kube::RealClock(), {.program = kProgram, .patience = 3s});
  CachedSelectors selectors(impatient, clusters_, clock_);
  const Selector endless{Endless()};
  Seen seen = Ask(selectors, "bad", endless, "c1");
  EXPECT_THAT(seen.refusal, HasSubstr("did not answer in time"));
  // Another cluster costs nothing.
  int reads = clusters_.reads;
  seen = Ask(selectors, "bad", endless, "c2");
  EXPECT_THAT(seen.refusal, HasSubstr("did not answer in time"));
  EXPECT_EQ(clusters_.reads, reads);

  // Its namespace has used up its budget, others have not.
  seen = Ask(selectors, "bad", {"true"}, "c1");
  EXPECT_GT(seen.wait, 5s);
  EXPECT_TRUE(Ask(selectors, "good", {"true"}, "c1").verdict.matches);
  clock_.Advance(seen.wait);
  EXPECT_TRUE(Ask(selectors, "bad", {"true"}, "c1").verdict.matches);

  clock_.Advance(CachedSelectors::kRefusal);
  reads = clusters_.reads;
  seen = Ask(selectors, "bad", endless, "c1");
  EXPECT_THAT(seen.refusal, HasSubstr("did not answer in time"));
  EXPECT_GT(clusters_.reads, reads);
}

TEST_F(CachedSelectorsTest, ASelectorOfAnotherNamespaceThatFailsForOneClusterDoesNoHarm) {
  Evaluator impatient(io_.get_executor(), kube::RealClock(), {.program = kProgram, .patience = 3s});
  CachedSelectors selectors(impatient, clusters_, clock_);
  const Selector sometimes{"managedCluster.a == 1 || " + Endless()};
  EXPECT_TRUE(Ask(selectors, "bad", sometimes, "c1").verdict.matches);
  EXPECT_TRUE(Ask(selectors, "good", {"true"}, "c1").verdict.matches);
  const int starts = impatient.starts();
  Seen seen = Ask(selectors, "good", {"true"}, "c2");
  EXPECT_TRUE(seen.verdict.matches);
  EXPECT_EQ(seen.refusal, "");
  EXPECT_EQ(impatient.starts(), starts) << "it was in no request of another namespace";
  EXPECT_THAT(Ask(selectors, "bad", sometimes, "c2").refusal, HasSubstr("in time"));
}

TEST_F(CachedSelectorsTest, ChecksExpressions) {
  EXPECT_THAT(Check(selectors_, "true"), Eq(std::nullopt));
  EXPECT_THAT(Check(selectors_, "unknown()"), Optional(HasSubstr("unknown")));
}

TEST_F(CachedSelectorsTest, WithoutAnEvaluatorThereIsNoAnswer) {
  Evaluator none(io_.get_executor(), kube::RealClock(), {.program = "/no/evaluator"});
  CachedSelectors selectors(none, clusters_, clock_);
  EXPECT_THAT(Check(selectors, "true"), Optional(HasSubstr("/no/evaluator")));
  EXPECT_THAT(Ask(selectors, "ns", kOne, "c1").verdict.error, HasSubstr("/no/evaluator"));
}

// A deleted cluster is asked about again: the next pass knows that it is gone.
TEST_F(CachedSelectorsTest, AClusterThatIsGoneHasNoVerdict) {
  Matches(kOne, "c1");
  selectors_.Begin("ns");
  EXPECT_FALSE(selectors_.Matches(kOne, "c9").matches);
  Questions questions = selectors_.TakeQuestions();
  EXPECT_THAT(kube::Run(io_, selectors_.Answer(std::move(questions))), kube::IsOk());
  selectors_.Begin("ns");
  EXPECT_FALSE(selectors_.Matches(kOne, "c9").matches);
  EXPECT_FALSE(selectors_.TakeQuestions().empty());
}

}  // namespace
}  // namespace fleet::cel
