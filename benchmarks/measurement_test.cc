// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/measurement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using kube::Json;

TEST(TimesTest, QuantilesAreOfTheSortedTimes) {
  std::vector<kube::Duration> times;
  for (int i = 0; i <= 100; ++i) times.push_back(1ms * i);
  EXPECT_DOUBLE_EQ(Times::Of(times).p50_ms, 50);
  EXPECT_DOUBLE_EQ(Times::Of(times).p99_ms, 99);
  EXPECT_DOUBLE_EQ(Times::Of({}).p99_ms, 0);
}

TEST(CpuPerPodTest, IsTheDifferenceDividedByThePods) {
  Costs before = {{"shard", {.cpu = 1s}}};
  Costs after = {{"shard", {.cpu = 3s}}, {"operator", {.cpu = 100ms}}};
  EXPECT_THAT(CpuPerPod(before, after, 100),
              testing::UnorderedElementsAre(testing::Pair("shard", testing::DoubleEq(20)),
                                            testing::Pair("operator", testing::DoubleEq(1))));
}

TEST(MeasurementTest, WhatWasNotMeasuredIsAbsent) {
  Measurement measurement{.pods = 10, .seconds = 2};
  EXPECT_EQ(measurement.ToJson(), Json({{"pods", 10}, {"seconds", 2.0}}));
}

TEST(ResultsTest, TheFileHasAllMeasurementsSoFar) {
  std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/results.json";
  Results results(path, {{"revision", "abc"}});
  ASSERT_TRUE(results.Add({{"scenario", "burst"}}, {.pods = 10, .pods_per_second = 5}));
  ASSERT_TRUE(results.Add({{"scenario", "rest"}}, {.at_rest = {{"shard", {.cpu_ms = 0.5}}}}));

  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  auto json = kube::ParseJson(text.str());
  ASSERT_TRUE(json);
  EXPECT_EQ((*json)["about"]["revision"], "abc");
  ASSERT_EQ((*json)["measurements"].size(), 2u);
  EXPECT_EQ((*json)["measurements"][0]["scenario"], "burst");
  EXPECT_EQ((*json)["measurements"][0]["pods_per_second"], 5);
  EXPECT_EQ((*json)["measurements"][1]["at_rest"]["shard"]["cpu_ms"], 0.5);
}

TEST(ResultsTest, AFileThatCannotBeWrittenIsAnError) {
  Results results("/nowhere/results.json", Json::object());
  auto added = results.Add({{"scenario", "burst"}}, {});
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code(), kube::Code::kUnavailable);
}

}  // namespace
}  // namespace benchmarks
