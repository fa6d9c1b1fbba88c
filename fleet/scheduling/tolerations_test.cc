// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/tolerations.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

namespace fleet {
namespace {

using kube::WallTime;
using std::chrono::seconds;

const WallTime kNow = WallTime(std::chrono::hours(24 * 365 * 55));
const WallTime kLastYear = WallTime(seconds(9'177'000'000));  // as far as times are read
constexpr int64_t kMaxSeconds = std::numeric_limits<int64_t>::max();
constexpr int64_t kMinSeconds = std::numeric_limits<int64_t>::min();

Taint Added(std::optional<WallTime> time, const char* effect = "NoSelect") {
  return {.key = "k", .value = "v", .effect = effect, .time_added = time};
}

Toleration For(std::optional<int64_t> length) {
  return {.key = "k", .op = "Exists", .seconds = length};
}

TEST(TolerationsTest, OneTaint) {
  struct Row {
    const char* name;
    Taint taint;
    std::vector<Toleration> tolerations;
    bool selected;
    bool passes;
    std::optional<WallTime> until = std::nullopt;
    bool expired = false;
  };
  const Row rows[] = {
      {"no toleration", Added(kNow), {}, false, false},
      {"prefer", Added(kNow, "PreferNoSelect"), {}, false, true},
      {"if new, new", Added(kNow, "NoSelectIfNew"), {}, false, false},
      {"if new, selected", Added(kNow, "NoSelectIfNew"), {}, true, true},
      {"selected helps no other effect", Added(kNow), {}, true, false},
      {"another effect", Added(kNow, "Other"), {}, true, false},
      {"another effect, tolerated", Added(kNow, "Other"), {For({})}, false, true},
      {"equal", Added(kNow), {{.key = "k", .value = "v"}}, false, true},
      {"equal, named", Added(kNow), {{.key = "k", .op = "Equal", .value = "v"}}, false, true},
      {"not equal", Added(kNow), {{.key = "k", .value = "w"}}, false, false},
      {"other key", Added(kNow), {{.key = "l", .op = "Exists"}}, false, false},
      {"every key", Added(kNow), {{.op = "Exists"}}, false, true},
      {"effect", Added(kNow), {{.op = "Exists", .effect = "NoSelect"}}, false, true},
      {"other effect", Added(kNow), {{.op = "Exists", .effect = "NoSelectIfNew"}}, false, false},
      {"unknown operator", Added(kNow), {{.key = "k", .op = "Like", .value = "v"}}, false, false},
      {"for a time", Added(kNow), {For(300)}, false, true, kNow + seconds(300)},
      {"time is over", Added(kNow - seconds(300)), {For(300)}, false, false, {}, true},
      {"one second left", Added(kNow - seconds(299)), {For(300)}, false, true, kNow + seconds(1)},
      {"the longest counts", Added(kNow), {For(5), For(9), For(7)}, false, true, kNow + seconds(9)},
      {"one is for ever", Added(kNow), {For(5), For({})}, false, true},
      {"one is over", Added(kNow), {For(0), For({})}, false, true},
      {"no time", Added({}), {For(300)}, false, false, {}, true},
      {"no time, for ever", Added({}), {For({})}, false, true},
      {"zero", Added(kNow), {For(0)}, false, false, {}, true},
      {"negative, taint of the future",
       Added(kNow + seconds(60)),
       {For(-30)},
       false,
       true,
       kNow + seconds(30)},
      {"the most seconds", Added(kNow), {For(kMaxSeconds)}, false, true},
      {"the least seconds", Added(kNow), {For(kMinSeconds)}, false, false, {}, true},
      {"the last year", Added(kLastYear), {For(kMaxSeconds)}, false, true},
      {"the last year, negative", Added(kLastYear), {For(kMinSeconds)}, false, false, {}, true},
      {"1970", Added(WallTime()), {For(-9'000'000'000)}, false, false, {}, true},
      {"beyond the clock", Added(kNow), {For(9'223'372'036)}, false, true},
  };
  for (const Row& row : rows) {
    Tolerated tolerated = Tolerate({row.taint}, row.tolerations, row.selected, kNow);
    EXPECT_EQ(tolerated.rejected == nullptr, row.passes) << row.name;
    EXPECT_EQ(tolerated.until, row.until) << row.name;
    EXPECT_EQ(tolerated.expired, row.expired) << row.name;
  }
}

TEST(TolerationsTest, EveryTaintMustBeTolerated) {
  const std::vector<Taint> taints = {
      {.key = "a", .effect = "NoSelect", .time_added = kNow},
      {.key = "b", .effect = "NoSelect", .time_added = kNow},
  };
  Toleration a{.key = "a", .op = "Exists", .seconds = 20};
  Toleration b{.key = "b", .op = "Exists", .seconds = 10};
  EXPECT_EQ(Tolerate(taints, {a}, false, kNow).rejected, &taints[1]);
  EXPECT_EQ(Tolerate(taints, {b}, false, kNow).rejected, &taints[0]);
  Tolerated both = Tolerate(taints, {a, b}, false, kNow);
  EXPECT_EQ(both.rejected, nullptr);
  EXPECT_EQ(both.until, kNow + seconds(10)) << "the first that ends";
}

TEST(TolerationsTest, WhatIsMisconfigured) {
  EXPECT_EQ(CheckTolerations({}), std::nullopt);
  EXPECT_EQ(CheckTolerations({{.op = "Exists"}, {.key = "a"}}), std::nullopt);
  EXPECT_EQ(CheckTolerations({{.key = "a", .op = "Like", .value = "v"}}), std::nullopt);
  EXPECT_NE(CheckTolerations({{.key = "a"}, {}}), std::nullopt);
  EXPECT_NE(CheckTolerations({{.op = "Like"}}), std::nullopt);
  EXPECT_NE(CheckTolerations({{.key = "a", .op = "Exists", .value = "v"}}), std::nullopt);
}

}  // namespace
}  // namespace fleet
