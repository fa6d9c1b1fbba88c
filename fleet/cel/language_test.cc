// SPDX-License-Identifier: Apache-2.0
// What expressions mean, as a table: each library of the language, and what has no result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "fleet/cel/evaluator.h"
#include "fleet/cel/testing/blocking_evaluator.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"

namespace fleet::cel {
namespace {

using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::Result;
using testing::HasSubstr;
using Outcome = Verdict::Outcome;

constexpr char kProgram[] = "fleet/cel/evaluator/evaluator";

constexpr char kCluster[] = R"({
  "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
  "metadata": {
    "name": "c1", "generation": 3,
    "labels": {"env": "prod", "v": "1.28.3", "zone": "a"},
    "annotations": {"info": "{\"cpus\": 8, \"tags\": [\"x\", \"y\"]}", "bad": "{",
                    "url": "https://example.com:8443/path?q=1"}
  },
  "spec": {"hubAcceptsClient": true, "leaseDurationSeconds": 60,
           "taints": [{"key": "gpu", "value": "true", "effect": "NoSelect"}]},
  "status": {
    "allocatable": {"cpu": "3500m", "memory": "16Gi"},
    "capacity": {"cpu": "4", "memory": "16Gi"},
    "version": {"kubernetes": "v1.28.3"},
    "clusterClaims": [{"name": "platform", "value": "aws"}, {"name": "ip", "value": "10.1.2.3"}],
    "load": 0.5
  }
})";

class TwoScores final : public ScoreReader {
 public:
  Result<std::vector<Score>> Scores(std::string_view name) override {
    ++reads;
    auto found = scores_.find(std::string(name));
    if (found == scores_.end()) return Error::NotFound("no AddOnPlacementScore");
    return found->second;
  }
  int reads = 0;

 private:
  std::map<std::string, std::vector<Score>> scores_{
      {"usage", {{"cpu", 70}, {"memory", -20}}}, {"empty", {}}, {"\u00e9", {{"\"", 1}}}};
};

struct Row {
  const char* expression;  // "$" stands for "managedCluster"
  Outcome outcome;
  const char* why = "";  // a part of the error
};

std::string Text(const char* words) {
  std::string text = words;
  for (size_t at; (at = text.find('$')) != std::string::npos;) {
    text.replace(at, 1, "managedCluster");
  }
  return text;
}

class Language : public testing::Test {
 protected:
  // The verdict of one selector.
  Verdict Match(BlockingEvaluator& evaluator, Selector selector,
                std::string_view cluster = kCluster) {
    return evaluator.Match({&selector, 1}, cluster, scores_).at(0);
  }
  Verdict Match(const std::string& text) { return Match(evaluator_, {text}); }

  void Check(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      SCOPED_TRACE(row.expression);
      std::string text = Text(row.expression);
      EXPECT_THAT(evaluator_.Compile(text), kube::IsOk());
      Verdict verdict = Match(text);
      EXPECT_EQ(verdict.outcome, row.outcome) << verdict.why;
      EXPECT_THAT(verdict.why, HasSubstr(row.why));
      EXPECT_EQ(verdict.why.empty(), row.outcome != Outcome::kError);
    }
    EXPECT_EQ(evaluator_.starts(), 1);
  }

  kube::FakeClock clock_;
  TwoScores scores_;
  BlockingEvaluator evaluator_{clock_, {.program = kProgram, .patience = std::chrono::minutes(1)}};
};

constexpr Outcome kYes = Outcome::kMatch;
constexpr Outcome kNo = Outcome::kNoMatch;
constexpr Outcome kError = Outcome::kError;

TEST_F(Language, ReadsTheManagedCluster) {
  Check({
      {"true", kYes},
      {"false", kNo},
      {R"($.metadata.name == "c1")", kYes},
      {R"($.metadata.labels["env"] == "dev")", kNo},
      {R"($.metadata.labels["v"].matches("^1"))", kYes},
      {R"("zone" in $.metadata.labels && $.metadata.labels.zone in ["a", "b"])", kYes},
      {R"(has($.metadata.labels.none))", kNo},
      {R"($.spec.hubAcceptsClient)", kYes},
      {R"($.spec.leaseDurationSeconds + 1 == 61)", kYes},
      {R"($.metadata.generation * 2 == 6)", kYes},
      {R"($.status.load < 1.0)", kYes},
      {R"($.spec.taints.exists(t, t.key == "gpu" && t.effect == "NoSelect"))", kYes},
      {R"($.status.clusterClaims.filter(c, c.name == "platform").all(c, c.value == "aws"))", kYes},
      {R"($.status.clusterClaims.exists_one(c, c.name.startsWith("p")))", kYes},
      {R"($.status.clusterClaims.map(c, c.name).size() == 2)", kYes},
      {R"(int("12") + size("abc") == 15 ? true : false)", kYes},
      {R"(timestamp("2026-01-01T00:00:00Z") < timestamp("2026-01-02T00:00:00Z"))", kYes},
      {R"(duration("90s") == duration("1m30s"))", kYes},
  });
}

TEST_F(Language, HasStrings) {
  Check({
      {R"($.metadata.name.upperAscii() == "C1")", kYes},
      {R"($.metadata.labels.v.split(".")[1] == "28")", kYes},
      {R"("a-b".replace("-", "_") == "a_b" && " x ".trim() == "x")", kYes},
      {R"(["a", "b"].join("+") == "a+b")", kYes},
      {R"("%s has %d".format(["c1", 3]) == "c1 has 3")", kYes},
      {R"("abc".substring(1, 9) == "b")", kError, "index out of range"},
  });
}

TEST_F(Language, HasOptionals) {
  Check({
      {R"($.metadata.?labels.?none.orValue("x") == "x")", kYes},
      {R"($.?metadata.?labels["env"].hasValue())", kYes},
      {R"(optional.none().or(optional.of(1)).value() == 1)", kYes},
      {R"($.?none.?deeper.hasValue())", kNo},
      {R"($.?none.value())", kError, "optional.none() dereference"},
  });
}

TEST_F(Language, HasKubernetesLists) {
  Check({
      {"[1, 2, 3].isSorted() && [1, 2, 3].sum() == 6", kYes},
      {"[3, 1].min() == 1 && [3, 1].max() == 3", kYes},
      {R"($.spec.taints.map(t, t.key).indexOf("none") == -1)", kYes},
      {"[[1].filter(x, x > 1).min()].size() == 1", kError, "min called on empty list"},
  });
}

TEST_F(Language, HasRegex) {
  Check({
      {R"($.metadata.labels.v.find("[0-9]+") == "1")", kYes},
      {R"($.metadata.labels.v.findAll("[0-9]+").size() == 3)", kYes},
      {R"($.metadata.name.matches("^d"))", kNo},
      {R"("x".find("(" + $.metadata.name) == "")", kError, "Illegal regex"},
  });
}

TEST_F(Language, HasUrls) {
  Check({
      {R"(url($.metadata.annotations.url).getHostname() == "example.com")", kYes},
      {R"(url($.metadata.annotations.url).getPort() == "8443")", kYes},
      {R"(isURL("no url"))", kNo},
      {R"(url($.metadata.name).getHost() == "")", kError, "URL parse error"},
  });
}

TEST_F(Language, HasQuantities) {
  Check({
      {R"(quantity($.status.allocatable.cpu).isGreaterThan(quantity("3")))", kYes},
      {R"(quantity($.status.capacity.memory).compareTo(quantity("16384Mi")) == 0)", kYes},
      {R"(quantity("1Gi").sub(quantity("1Mi")).isLessThan(quantity("1Gi")))", kYes},
      {R"(isQuantity("1Zz"))", kNo},
      {R"(quantity($.metadata.name).asInteger() == 1)", kError, "quantities must match"},
  });
}

TEST_F(Language, HasIpsAndCidrs) {
  Check({
      {R"(ip($.status.clusterClaims[1].value).family() == 4)", kYes},
      {R"(isIP("10.0.0.256"))", kNo},
      {R"(ip("::1").isLoopback())", kYes},
      {R"(cidr("10.0.0.0/8").containsIP($.status.clusterClaims[1].value))", kYes},
      {R"(cidr("10.0.0.0/8").containsCIDR(cidr("11.0.0.0/16")))", kNo},
      {R"(ip($.metadata.name).family() == 4)", kError, "IP Address"},
      {R"(cidr($.metadata.name).prefixLength() == 8)", kError, "network address parse error"},
  });
}

TEST_F(Language, HasFormats) {
  Check({
      {R"(!format.dns1123Label().validate($.metadata.name).hasValue())", kYes},
      {R"(format.dns1123Label().validate("Not a label").hasValue())", kYes},
      {R"(format.named("uuid").value().validate("x").hasValue())", kYes},
      {R"(format.named("none").hasValue())", kNo},
  });
}

TEST_F(Language, HasSemver) {
  Check({
      {R"(semver($.metadata.labels.v).isGreaterThan(semver("1.27.0")))", kYes},
      {R"(semver("v1.2", true).minor() == 2)", kYes},
      {R"(isSemver("1.2"))", kNo},
      {R"(semver($.status.version.kubernetes).major() == 1)", kError, "major number"},
  });
}

TEST_F(Language, HasScores) {
  Check({
      {R"($.scores("usage").exists(s, s.name == "cpu" && s.value == 70))", kYes},
      {R"($.scores("usage").filter(s, s.name == "memory").all(s, s.value < -20))", kNo},
      {R"($.scores("empty").size() == 0)", kYes},
      {R"($.scores("us" + "age").size() == 2)", kYes},
      {"$.scores(\"\u00e9\")[0].name == '\"'", kYes},
      {R"($.scores("none").size() == 0)", kError, "no AddOnPlacementScore"},
      {R"(["usage", "none"].exists(name, $.scores(name).size() == 2))", kYes},
  });
}

TEST_F(Language, HasParseJson) {
  Check({
      {R"($.metadata.annotations.info.parseJSON().cpus == 8)", kYes},
      {R"("y" in $.metadata.annotations.info.parseJSON().tags)", kYes},
      {R"("1".parseJSON() + 0.5 == 1.5)", kYes},
      {R"($.metadata.annotations.bad.parseJSON().x == 1)", kError, "parseJSON"},
  });
}

TEST_F(Language, AnErrorIsNoMatch) {
  Check({
      {R"($.metadata.labels["none"] == "x")", kError, "no such key: none"},
      {R"($.metadata.labels["none"] == "x" || true)", kYes},
      {"1 / ($.metadata.generation - 3) == 1", kError, "division by zero"},
      {"[1][$.metadata.generation] == 1", kError, "index out of bounds"},
      {R"($.metadata.name < 3)", kError, "no such overload"},
      {"$.metadata.name", kError, "the result is string, not bool"},
      {"$.spec.taints", kError, "not bool"},
      {"$.metadata.generation + 9223372036854775807 > 0", kError, "overflow"},
  });
}

TEST_F(Language, CostIsLimited) {
  std::string list = "[0";
  for (int i = 1; i < 64; ++i) list += ",0";
  list += "]";
  std::string cubic =
      list + ".all(a," + list + ".all(b," + list + ".all(c, a + b + c + 0 + 0 + 0 == 0)))";
  EvaluatorOptions options{.program = kProgram, .patience = std::chrono::minutes(1)};
  options.limits.cpu_milliseconds = 60'000;
  BlockingEvaluator patient(clock_, options);
  Verdict verdict = Match(patient, {cubic});
  EXPECT_EQ(verdict.outcome, kError);
  EXPECT_THAT(verdict.why, HasSubstr("cost limit exceeded"));

  // Many that are cheap alone.
  std::string square = list + ".all(a," + list + ".all(b, a + b == 0))";
  EXPECT_EQ(Match(patient, Selector(10, square)).outcome, kYes);
  options.limits.selector_cost = 1'000'000;
  BlockingEvaluator frugal(clock_, options);
  verdict = Match(frugal, Selector(100, square));
  EXPECT_EQ(verdict.outcome, kError);
  EXPECT_THAT(verdict.why, HasSubstr("cost more than 1000000"));
}

TEST_F(Language, AllExpressionsMustMatch) {
  Selector selector{"true", "managedCluster.spec.hubAcceptsClient"};
  EXPECT_EQ(Match(evaluator_, selector).outcome, kYes);
  selector.push_back("false");
  selector.push_back("managedCluster.none");
  EXPECT_EQ(Match(evaluator_, selector).outcome, kNo);
  EXPECT_EQ(Match(evaluator_, {}).outcome, kYes);
}

TEST_F(Language, SelectorsAreIndependent) {
  std::vector<Selector> selectors{
      {"true"}, {"managedCluster.none"}, {"1 +"}, {"true", "false"}, {"true"}};
  // More than one request carries.
  while (selectors.size() < 250) selectors.push_back({selectors.size() % 3 ? "true" : "false"});
  std::vector<Verdict> verdicts = evaluator_.Match(selectors, kCluster, scores_);
  ASSERT_EQ(verdicts.size(), selectors.size());
  const Outcome kWanted[] = {kYes, kError, kError, kNo, kYes};
  for (size_t i = 0; i < selectors.size(); ++i) {
    Outcome wanted = i < 5 ? kWanted[i] : i % 3 ? kYes : kNo;
    EXPECT_EQ(verdicts[i].outcome, wanted) << i;
  }
  EXPECT_TRUE(evaluator_.Match({}, kCluster, scores_).empty());
}

TEST_F(Language, ScoresAreReadOnceForAName) {
  std::string text = R"([1, 2, 3].all(i, managedCluster.scores("usage").size() == 2))";
  EXPECT_EQ(Match(text).outcome, kYes);
  EXPECT_EQ(scores_.reads, 1);
  // The next cluster has other scores.
  EXPECT_EQ(Match(text).outcome, kYes);
  EXPECT_EQ(scores_.reads, 2);
  // Each other name is a question; they are limited.
  std::string names;
  for (int i = 0; i < 200; ++i) names += (i == 0 ? "'" : ",'") + std::to_string(i) + "'";
  text = "[" + names + "].exists(name, managedCluster.scores(name).size() == 9)";
  Verdict verdict = Match(text);
  EXPECT_EQ(verdict.outcome, kError);
  EXPECT_LT(scores_.reads, 110);
}

TEST_F(Language, WhatDoesNotCompileIsRefused) {
  const std::pair<const char*, const char*> kRows[] = {
      {"", "Syntax error: mismatched input '<EOF>'"},
      {"$.metadata.name ==", "Syntax error"},
      {"true &&\n  (false", "2:9: Syntax error"},
      {"cluster.metadata.name == ''", "1:1: undeclared reference to 'cluster'"},
      {"$.metadata.name.firstLetter() == 'c'", "undeclared reference to 'firstLetter'"},
      {"authorizer.path('/').check('get').allowed()", "undeclared reference to 'authorizer'"},
      {"'a' + 1 == 'b'", "no matching overload"},
      {"'a'.matches(1)", "no matching overload"},
      {"$.scores(1).size() == 1", "no matching overload"},
      {"1", "the result must be bool, not int"},
      {"'true'", "the result must be bool, not string"},
      {"[true]", "the result must be bool, not list(bool)"},
      {"optional.of(true)", "the result must be bool"},
  };
  for (auto& [words, why] : kRows) {
    SCOPED_TRACE(words);
    std::string text = Text(words);
    EXPECT_THAT(evaluator_.Compile(text), FailsWith(Code::kInvalid, HasSubstr(why)));
    Verdict verdict = Match(text);
    EXPECT_EQ(verdict.outcome, kError);
    EXPECT_THAT(verdict.why, HasSubstr(why));
  }
  EXPECT_EQ(evaluator_.starts(), 1);
}

TEST_F(Language, NestingIsLimited) {
  auto repeat = [](int times, std::string text) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
  };
  for (const std::string& text : {
           repeat(2000, "(") + "true" + repeat(2000, ")"),
           repeat(2000, "["),
           "1" + repeat(5000, "+1") + " > 0",
           repeat(1500, "true?") + "true" + repeat(1500, ":false"),
           repeat(600, "[1].exists(x,") + "true" + repeat(600, ")"),
           std::string("\"") + repeat(3000, "\xff\xfe") + "\"",
           std::string("true\0false", 10),
       }) {
    Result<Expression> compiled = evaluator_.Compile(text);
    EXPECT_THAT(compiled, FailsWith(Code::kInvalid)) << text.substr(0, 40);
    ASSERT_FALSE(compiled);
    EXPECT_LE(compiled.error().message().size(), kMaxErrorBytes);
  }
  EXPECT_EQ(evaluator_.starts(), 1);
}

TEST_F(Language, SaysWhichScoresAreRead) {
  struct Reads {
    const char* expression;
    std::vector<std::string> scores;
    bool any = false;
  };
  for (const Reads& row : std::vector<Reads>{
           {"true", {}},
           {R"($.scores("b").size() == 0 && $.scores("a") == [] && $.scores("b") == [])",
            {"a", "b"}},
           {R"([1].all(x, $.scores("deep").exists(s, s.value == x)))", {"deep"}},
           {R"($.scores("a" + "b") == [])", {}, true},
           {R"($.scores($.metadata.name) == $.scores("c"))", {"c"}, true},
           {R"x("scores('a')" == "scores")x", {}},
       }) {
    SCOPED_TRACE(row.expression);
    Result<Expression> compiled = evaluator_.Compile(Text(row.expression));
    ASSERT_THAT(compiled, kube::IsOk());
    EXPECT_EQ(compiled->scores, row.scores);
    EXPECT_EQ(compiled->any_scores, row.any);
  }
}

TEST_F(Language, TheClusterMustBeAJsonObject) {
  for (const char* cluster : {"", "[]", "{", "null", R"({"a": 1} {"evaluate": {}})", "\xff"}) {
    SCOPED_TRACE(cluster);
    EXPECT_EQ(Match(evaluator_, {"true"}, cluster).outcome, kError);
  }
  EXPECT_EQ(evaluator_.starts(), 1);
}

}  // namespace
}  // namespace fleet::cel
