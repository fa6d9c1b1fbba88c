// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/cached_selectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_clock.h"

namespace fleet::cel {
namespace {

using kube::Error;
using kube::Result;
using testing::Eq;
using testing::HasSubstr;
using testing::Optional;

constexpr char kProgram[] = "fleet/cel/evaluator/evaluator";

class Clusters final : public ClusterTexts {
 public:
  std::optional<std::string> Json(const std::string& cluster) override {
    ++reads;
    auto found = texts.find(cluster);
    if (found == texts.end()) return std::nullopt;
    return found->second;
  }
  Result<std::vector<Score>> Scores(const std::string& cluster, std::string_view name) override {
    if (name != "usage") return Error::NotFound("no AddOnPlacementScore");
    return std::vector<Score>{{"cpu", cpu[cluster]}};
  }

  std::map<std::string, std::string> texts{{"c1", R"({"a": 1})"}, {"c2", R"({"a": 2})"}};
  std::map<std::string, int64_t> cpu{{"c1", 10}, {"c2", 20}};
  int reads = 0;
};

class CachedSelectorsTest : public testing::Test {
 protected:
  bool Matches(const Selector& selector, const std::string& cluster) {
    CelSelectors::Verdict verdict = selectors_.Matches(selector, cluster);
    EXPECT_EQ(verdict.error, "");
    return verdict.matches;
  }

  const Selector kOne{"managedCluster.a == 1"};
  const Selector kTwo{"managedCluster.a == 2", "true"};
  const Selector kCpu{R"(managedCluster.scores("usage").exists(s, s.value > 15))"};

  kube::FakeClock clock_;
  Clusters clusters_;
  Evaluator evaluator_{clock_, {.program = kProgram, .patience = std::chrono::minutes(1)}};
  CachedSelectors selectors_{evaluator_, clusters_};
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

TEST_F(CachedSelectorsTest, ErrorsAreKept) {
  const Selector selector{"managedCluster.none == managedCluster.a"};
  for (int pass = 0; pass < 2; ++pass) {
    CelSelectors::Verdict verdict = selectors_.Matches(selector, "c1");
    EXPECT_FALSE(verdict.matches);
    EXPECT_EQ(verdict.error, "no such key: none");
  }
  EXPECT_EQ(clusters_.reads, 1);
  // More different errors than a byte has values.
  const Selector own{R"({"k": 1}[managedCluster.name] == 1)"};
  for (int i = 0; i < 300; ++i) {
    std::string name = "n" + std::to_string(i);
    clusters_.texts[name] = R"({"name": ")" + name + "\"}";
    CelSelectors::Verdict verdict = selectors_.Matches(own, name);
    EXPECT_FALSE(verdict.matches);
    EXPECT_EQ(verdict.error, i < 252 ? "no such key: " + name : "the evaluation failed");
  }
  EXPECT_FALSE(selectors_.TakeUnanswered());
}

TEST_F(CachedSelectorsTest, UnusedSelectorsAreForgotten) {
  for (const Selector& selector : {kOne, kTwo, kCpu}) {
    for (const char* cluster : {"c1", "c2"}) Matches(selector, cluster);
  }
  int reads = clusters_.reads;
  Selector used[] = {kCpu, kOne, {"false"}};
  selectors_.Retain(used);
  EXPECT_TRUE(Matches(kOne, "c1"));
  EXPECT_FALSE(Matches(kOne, "c2"));
  EXPECT_FALSE(Matches(kCpu, "c1"));
  EXPECT_TRUE(Matches(kCpu, "c2"));
  EXPECT_EQ(clusters_.reads, reads);
  EXPECT_TRUE(Matches(kTwo, "c2"));
  EXPECT_EQ(clusters_.reads, reads + 1);
  // More than are kept.
  for (size_t i = 0; i <= CachedSelectors::kMaxSelectors; ++i) {
    Matches({"managedCluster.a == " + std::to_string(i)}, "c1");
  }
  EXPECT_TRUE(Matches(kOne, "c1"));
}

TEST_F(CachedSelectorsTest, ChecksExpressions) {
  EXPECT_THAT(selectors_.Check("true"), Eq(std::nullopt));
  EXPECT_THAT(selectors_.Check("unknown()"), Optional(HasSubstr("unknown")));
  EXPECT_FALSE(selectors_.TakeUnanswered());
}

TEST_F(CachedSelectorsTest, SaysThatThereWasNoAnswer) {
  Evaluator none(clock_, {.program = "/no/evaluator"});
  CachedSelectors selectors(none, clusters_);
  EXPECT_FALSE(selectors.TakeUnanswered());
  EXPECT_THAT(selectors.Check("unknown()"), Eq(std::nullopt));
  EXPECT_TRUE(selectors.TakeUnanswered());
  EXPECT_FALSE(selectors.TakeUnanswered());
  CelSelectors::Verdict verdict = selectors.Matches(kOne, "c1");
  EXPECT_FALSE(verdict.matches);
  EXPECT_THAT(verdict.error, HasSubstr("/no/evaluator"));
  EXPECT_TRUE(selectors.TakeUnanswered());

  verdict = selectors_.Matches(kOne, "c9");
  EXPECT_FALSE(verdict.matches);
  EXPECT_TRUE(selectors_.TakeUnanswered());
}

}  // namespace
}  // namespace fleet::cel
