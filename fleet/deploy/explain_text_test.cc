// SPDX-License-Identifier: Apache-2.0
#include "fleet/deploy/explain_text.h"

#include <gtest/gtest.h>

namespace fleet {
namespace {

kube::Json Answer() {
  return kube::MustParseJson(R"({
    "prioritizeResults": [
      {"name": "Balance", "weight": 1, "scores": {"c1": 100, "c2": -100}},
      {"name": "AddOn/multiarch/arm64.cpu", "weight": 3, "scores": {"c1": 20}}],
    "aggregatedScores": [{"clusterName": "c1", "score": 160}, {"clusterName": "c2", "score": -100}],
    "rejected": [
      {"clusterName": "c3", "by": "Predicate", "why": "no predicate matches"},
      {"clusterName": "c4", "by": "TaintToleration", "why": "taint gpu is not tolerated"}]})");
}

TEST(ExplainTextTest, ALineForEachCluster) {
  EXPECT_EQ(ExplainText(Answer(), {"c1", "c4"}, ""),
            "c1: selected, rank 1 of 2 by score 160 (Balance 100 x 1, AddOn/multiarch/arm64.cpu 20 "
            "x 3)\n"
            "c2: not selected, rank 2 of 2 by score -100 (Balance -100 x 1); 2 others are "
            "selected\n"
            "c3: rejected by Predicate: no predicate matches\n"
            "c4: still selected, and now rejected by TaintToleration: taint gpu is not "
            "tolerated\n");
}

TEST(ExplainTextTest, OneCluster) {
  EXPECT_EQ(ExplainText(Answer(), {"c1"}, "c3"),
            "c3: rejected by Predicate: no predicate matches\n");
  EXPECT_EQ(ExplainText(Answer(), {"c1"}, "c9"), "");
}

TEST(ExplainTextTest, AnAnswerOfAnotherShapeSaysNothing) {
  for (const char* text : {"[]", "{}", R"({"aggregatedScores": 1, "rejected": "x"})"})
    EXPECT_EQ(ExplainText(kube::MustParseJson(text), {}, ""), "");
}

}  // namespace
}  // namespace fleet
