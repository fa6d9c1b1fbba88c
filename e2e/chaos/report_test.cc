// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/report.h"

#include <gtest/gtest.h>

namespace e2e {
namespace {

using namespace std::chrono_literals;

RunReport TheReport() {
  return {.seed = 7,
          .revision = "abc",
          .length = 180s,
          .kinds = {{.kind = "cut", .what = "a cut", .holds = "all", .times = 2, .length = 9500ms},
                    {.kind = "clock",
                     .what = "another time",
                     .holds = "all",
                     .not_possible = {{"no library", 1}}}},
          .counts = {{"pods", 2}},
          .quiet_after = 2500ms,
          .violations = {"I1 pods a/b"},
          .not_judged = {{"no writer", 3}}};
}

PodWaits TheWaits() {
  PodWaits waits;
  waits.FaultBegins("cut", 10s);
  waits.Saw("1", "a/b", true, 11s);
  waits.FaultEnds("cut", 12s);
  waits.Saw("1", "a/b", false, 12500ms);
  waits.Saw("2", "a/c", true, 30s);
  waits.Saw("2", "a/c", false, 31s);
  return waits;
}

TEST(ReportTest, JsonHasEachKindWithItsWaits) {
  const kube::Json json = ReportToJson(TheReport(), TheWaits(), {{"cut", 10s, 12s, 0}});
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["seconds"], 180.0);
  ASSERT_EQ(json["kinds"].size(), 2U);
  EXPECT_EQ(json["kinds"][0]["kind"], "cut");
  EXPECT_EQ(json["kinds"][0]["times"], 2);
  EXPECT_EQ(json["kinds"][0]["seconds"], 9.5);
  EXPECT_EQ(json["kinds"][0]["waits"]["longest_seconds"], 1.5);
  EXPECT_EQ(json["kinds"][0]["waits"]["longest_of"], "a/b");
  EXPECT_EQ(json["kinds"][1]["not_possible"]["no library"], 1);
  EXPECT_EQ(json["waits"]["pods"], 2);
  EXPECT_EQ(json["waits_without_fault"]["longest_seconds"], 1.0);
  EXPECT_EQ(json["quiet_after_seconds"], 2.5);
  EXPECT_EQ(json["counts"]["pods"], 2);
  EXPECT_EQ(json["violations"][0], "I1 pods a/b");
  EXPECT_EQ(json["not_judged"]["no writer"], 3);
  EXPECT_EQ(json["faults"][0]["begin"], 10.0);
}

TEST(ReportTest, TextNamesWhatIsNotPossibleAndWhatIsWrong) {
  const std::string text = DescribeReport(TheReport(), TheWaits());
  for (const char* part :
       {"cut                                    2 times,      1 pods, longest wait 1.5 s",
        "1 not possible: no library", "VIOLATION: I1 pods a/b", "1 violations, seed 7",
        "without a fault: 1 pods", "pods: 2", "not judged: no writer: 3"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

}  // namespace
}  // namespace e2e
