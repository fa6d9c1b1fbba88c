// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/matchers.h"

namespace fleet::cel {
namespace {

using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::Result;
using testing::ElementsAre;

TEST(Messages, TextIsQuoted) {
  EXPECT_EQ(CompileRequest("a == \"\n\""), R"({"compile":"a == \"\u000a\""})");
  EXPECT_EQ(CompileRequest("\xff"), "{\"compile\":\"\xef\xbf\xbd\"}");
  Selector selectors[] = {{"a", "\"b\""}, {}, {"c"}};
  EXPECT_EQ(
      EvaluateRequest(selectors, {.expression_cost = 1, .selector_cost = 2, .cpu_milliseconds = 3}),
      R"({"evaluate":{"selectors":[["a","\"b\""],[],["c"]],)"
      R"("expressionCost":1,"selectorCost":2,"milliseconds":3}})");
  EXPECT_EQ(EvaluateRequest({}, {}),
            R"({"evaluate":{"selectors":[],)"
            R"("expressionCost":1000000,"selectorCost":10000000,"milliseconds":100}})");
}

TEST(Messages, ScoresOrWhyThereAreNone) {
  EXPECT_EQ(ScoresReply(std::vector<Score>{}), R"({"scores":[]})");
  EXPECT_EQ(ScoresReply(std::vector<Score>{{"\"", -5}, {"b", 7}}),
            R"({"scores":[{"name":"\"","value":-5},{"name":"b","value":7}]})");
  EXPECT_EQ(ScoresReply(Error::NotFound("none")), R"({"error":"none"})");
}

TEST(Messages, AnswersToCompile) {
  Result<Compiled> reads = ParseCompiled(R"({"scores": ["a", "b"], "anyScores": true})");
  ASSERT_THAT(reads, kube::IsOk());
  EXPECT_THAT(reads->expression.scores, ElementsAre("a", "b"));
  EXPECT_TRUE(reads->expression.any_scores);

  Result<Compiled> nothing = ParseCompiled("{}");
  ASSERT_THAT(nothing, kube::IsOk());
  EXPECT_EQ(nothing->error, "");
  EXPECT_THAT(nothing->expression.scores, ElementsAre());
  EXPECT_FALSE(nothing->expression.any_scores);
}

TEST(Messages, AnswersToEvaluate) {
  Result<EvaluateReply> reply = ParseEvaluateReply(
      R"({"verdicts": [{"match": true, "microseconds": 70}, {}, {"error": "e"}]})");
  ASSERT_THAT(reply, kube::IsOk());
  const auto& verdicts = std::get<std::vector<Evaluated>>(*reply);
  ASSERT_EQ(verdicts.size(), 3u);
  EXPECT_TRUE(verdicts[0].match);
  EXPECT_EQ(verdicts[0].cpu, std::chrono::microseconds(70));
  EXPECT_EQ(verdicts[1].cpu, std::chrono::microseconds(0));
  EXPECT_FALSE(verdicts[1].match);
  EXPECT_EQ(verdicts[2].error, "e");

  reply = ParseEvaluateReply(R"({"askScores": ""})");
  ASSERT_THAT(reply, kube::IsOk());
  EXPECT_EQ(std::get<ScoresQuestion>(*reply).name, "");
}

TEST(Messages, AnErrorIsOneShortLine) {
  std::string text(kMaxErrorBytes - 1, 'a');
  Result<Compiled> compiled = ParseCompiled(R"({"error": "x\ny\u0000)" + text + "\u20ac\"}");
  ASSERT_THAT(compiled, kube::IsOk());
  EXPECT_EQ(compiled->error.substr(0, 5), "x y a");
  EXPECT_EQ(compiled->error.size(), kMaxErrorBytes);
  compiled = ParseCompiled("{\"error\": \"" + text + "\u20ac\"}");
  ASSERT_THAT(compiled, kube::IsOk());
  EXPECT_EQ(compiled->error, text);
}

TEST(Messages, WhatTheEvaluatorNeverSaysIsRefused) {
  for (const char* frame : {"", "[]", "{", "null", "\xff", R"({"error": ""})", R"({"error": {}})",
                            R"({"scores": "a"})", R"({"scores": [1]})", R"({"anyScores": "x"})"}) {
    EXPECT_THAT(ParseCompiled(frame), FailsWith(Code::kInvalid)) << frame;
  }
  for (const char* frame :
       {"", "[]", "{", "null", "{}", R"({"verdicts": {}})", R"({"verdicts": [1]})",
        R"({"verdicts": [{"match": 1}]})", R"({"verdicts": [{"error": ""}]})",
        R"({"verdicts": [{"error": "e", "match": true}]})", R"({"askScores": 1})",
        R"({"verdicts": [{"microseconds": -1}]})", R"({"verdicts": [{"microseconds": 1e30}]})"}) {
    EXPECT_THAT(ParseEvaluateReply(frame), FailsWith(Code::kInvalid)) << frame;
  }
}

}  // namespace
}  // namespace fleet::cel
