// SPDX-License-Identifier: Apache-2.0
// The worked examples of the specification, by their numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "fleet/scheduling/schedule.h"
#include "fleet/scheduling/testing/world.h"

namespace fleet {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

struct Example {
  int number;
  std::function<void(World&)> given;
  const char* decisions;    // groups are separated by " | "
  const char* totals = "";  // of the feasible clusters; "": not compared
  int64_t unscheduled = 0;
  std::string_view reason = kAllDecisionsScheduled;
  size_t clusters = 3;
};

// A predicate of labels, claims and CEL.
ClusterSelector Predicate(kube::meta::LabelSelector labels, kube::meta::LabelSelector claims = {},
                          std::vector<std::string> cel = {}) {
  return {.labels = std::move(labels), .claims = std::move(claims), .cel = std::move(cel)};
}

const Taint kGpu = {.key = "gpu", .value = "true", .effect = "NoSelect"};

const Example kExamples[] = {
    {1, [](World&) {}, "c1 c2 c3", "100 100 100"},
    {2, [](World& w) { w.N(2); }, "c1 c2"},
    {3, [](World& w) { w.N(5); }, "c1 c2 c3", "", 2, kNotAllDecisionsScheduled},
    {4, [](World& w) { w.N(0); }, "", "", 0, kNoManagedClusterMatched},
    {5, [](World& w) { w.N(2).Own("c2").Own("c3"); }, "c2 c3", "100 200 200"},
    {6, [](World& w) { w.N(1).Others("c1"); }, "c2", "-100 100 100"},
    {7, [](World& w) { w.N(2).Others("c1", 2).Others("c2"); }, "c2 c3", "-100 0 100"},
    {8, [](World& w) { w.Others("c1", 3).Others("c2"); }, "c1 c2 c3", "-100 32 100"},
    {9, [](World& w) { w.Others("c1", 5).Others("c2", 2); }, "c1 c2 c3", "-100 18 100"},
    {10, [](World& w) { w.N(1).Own("c1").Others("c1"); }, "c2", "0 100 100"},
    {11, [](World& w) { w.N(1).Own("c3").Others("c1").Others("c2", 2).Others("c3"); }, "c3",
     "0 -100 100"},
    {12,
     [](World& w) {
       w.N(2).Exact().BuiltIn(kResourceAllocatableCpu).Cpu({10, 7, 9});
     },
     "c1 c3", "100 -100 33", 0},
    {13,
     [](World& w) {
       w.N(2).Exact().BuiltIn(kResourceAllocatableCpu).BuiltIn(kResourceAllocatableMemory);
       w.Cpu({10, 7, 9}).Memory({50, 90, 80});
     },
     "c1 c3", "0 0 83", 0},
    {14,
     [](World& w) {
       w.N(2).Exact().BuiltIn(kResourceAllocatableCpu).Cpu({10, 2, std::nullopt});
     },
     "c1 c3", "100 -100 0"},
    {15,
     [](World& w) {
       w.Exact().BuiltIn(kResourceAllocatableCpu).Cpu({0, 10, 6});
     },
     "c1 c2 c3", "-100 100 19"},
    {16,
     [](World& w) {
       w.N(1).Exact().BuiltIn(kResourceAllocatableCpu, -1).Cpu({10, 7, 9});
     },
     "c2", "-100 100 -33"},
    {17,
     [](World& w) {
       w.N(2).BuiltIn(kBalance, 3).BuiltIn(kResourceAllocatableMemory).AddOn();
       w.Memory({100, 50, 0}).Scores({30, 40, 50});
     },
     "c1 c2", "430 340 250"},
    {18,
     [](World& w) {
       w.N(1).Exact().AddOn().Scores({std::nullopt, -5, std::nullopt});
     },
     "c1", "0 -5 0"},
    {19,
     [](World& w) {
       w.N(1).Exact().AddOn().Scores({30, 40, 100});
       w.ScoreOf("c3").valid_until = w.now - seconds(1);
     },
     "c2", "30 40 0"},
    {20, [](World& w) { w.N(1).BuiltIn(kBalance, 0).BuiltIn(kSteady, 0).Others("c1"); }, "c1",
     "0 0 0"},
    {21,
     [](World& w) {
       w.Label("c1", "a").Claim("c2", "p", "aws");
       w.placement.spec.predicates = {Predicate(Having("a")), Predicate({}, Having("p", {"aws"}))};
     },
     "c1 c2"},
    {22,
     [](World& w) {
       w.Label("c1", "a").Label("c2", "a").Claim("c2", "p", "aws").Claim("c3", "p", "aws");
       w.placement.spec.predicates = {Predicate(Having("a"), Having("p", {"aws"}))};
     },
     "c2"},
    {23,
     [](World& w) {
       const std::string cel = R"(managedCluster.metadata.labels["v"].matches("^1"))";
       w.cel.true_for[cel] = {"c1"};
       w.cel.fails_for[cel] = {"c2", "c3"};  // they have no label v
       w.placement.spec.predicates = {Predicate({}, {}, {cel})};
     },
     "c1"},
    {25, [](World& w) { w.Taint("c1", kGpu); }, "c2 c3"},
    {25, [](World& w) { w.Taint("c1", kGpu).Tolerate({.key = "gpu", .value = "true"}); },
     "c1 c2 c3"},
    {26,
     [](World& w) {
       const Taint taint = {.key = "t", .effect = "NoSelectIfNew"};
       w.Own("c1").Taint("c1", taint).Taint("c2", taint);
     },
     "c1 c3"},
    {28,
     [](World& w) {
       w.Taint("c1", kGpu).Taint("c1", {.key = "other", .effect = "NoSelect"});
       w.Tolerate({.key = "gpu", .op = "Exists"});
     },
     "c2 c3"},
    {29, [](World& w) { w.At("c2").deleting = true; }, "c1 c3"},
    {30, [](World& w) { w.placement.spec.cluster_sets = {"prod"}; }, "", "", 0, kNoIntersection},
    {33, [](World& w) { w.placement.spec.clusters_per_group = "25%"; },
     "c1 c10 c2 | c3 c4 c5 | c6 c7 c8 | c9", "", 0, kAllDecisionsScheduled, 10},
    {34,
     [](World& w) {
       w.N(4).Label("c1", "zone", "a").Label("c2", "zone", "a").Label("c3", "zone", "a");
       w.Label("c4", "zone", "b");
       w.placement.spec.spread = {{.key = "zone", .do_not_schedule = true}};
     },
     "c1 c2 c4", "", 1, kNotAllDecisionsScheduled, 4},
};

TEST(ExamplesTest, Decisions) {
  for (const Example& example : kExamples) {
    World world(example.clusters);
    example.given(world);
    Scheduled result = world.Run();
    ASSERT_FALSE(result.misconfigured) << example.number << result.misconfigured->Message();
    EXPECT_EQ(Names(result), example.decisions) << example.number;
    if (*example.totals != '\0') {
      EXPECT_EQ(Totals(result), example.totals) << example.number;
    }
    EXPECT_EQ(result.unscheduled, example.unscheduled) << example.number;
    EXPECT_EQ(result.satisfied.reason, example.reason) << example.number;
    EXPECT_EQ(result.satisfied.status, example.reason == kAllDecisionsScheduled) << example.number;
  }
}

TEST(ExamplesTest, Example4AnEmptyDecision) {
  World world(3);
  world.N(0);
  std::vector<DecisionPage> pages = PagesOf(world.placement, world.Run().groups);
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(pages[0].name, "p-decision-1");
  EXPECT_EQ(pages[0].group_name, "");
  EXPECT_TRUE(pages[0].decisions.empty());
}

TEST(ExamplesTest, Example19WarnsOfExpiredScores) {
  World world(3);
  world.N(1).Exact().AddOn().Scores({30, 40, 100});
  world.ScoreOf("c3").valid_until = world.now - seconds(1);
  ASSERT_EQ(world.Run().warnings.size(), 1u);
  EXPECT_THAT(world.Run().warnings[0], HasSubstr("AddOn/r/s: the scores of 1 clusters"));
  EXPECT_THAT(world.Run().warnings[0], HasSubstr("c3"));
}

// The hub keeps the decisions of a misconfigured Placement.
TEST(ExamplesTest, Example24ASyntaxErrorIsMisconfigured) {
  World world(3);
  world.Own("c1");
  world.placement.spec.predicates = {Predicate({}, {}, {"1 +"})};
  Scheduled result = world.Run();
  ASSERT_TRUE(result.misconfigured);
  EXPECT_THAT(result.misconfigured->Message(),
              HasSubstr("Predicate:predicates[0].celSelector: syntax error"));
  EXPECT_TRUE(result.groups.empty());
}

TEST(ExamplesTest, Example27ATolerationEnds) {
  World world(3);
  const kube::WallTime added = world.now;
  world.Taint("c1", {.key = "t", .effect = "NoSelect", .time_added = added});
  world.Tolerate({.key = "t", .op = "Exists", .seconds = 300});
  world.now = added + seconds(299);
  Scheduled before = world.Run();
  EXPECT_EQ(Names(before), "c1 c2 c3");
  EXPECT_EQ(before.requeue_at, added + seconds(300));
  world.now = *before.requeue_at;
  Scheduled after = world.Run();
  EXPECT_EQ(Names(after), "c2 c3");
  EXPECT_EQ(after.requeue_at, std::nullopt);
}

TEST(ExamplesTest, Example31ASecondPage) {
  World world(0);
  for (int i = 1; i <= 101; ++i) world.Add("cluster" + std::to_string(i));
  std::vector<DecisionPage> pages = PagesOf(world.placement, world.Run().groups);
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages[0].decisions.size(), 100u);
  EXPECT_EQ(pages[1].name, "p-decision-2");
  EXPECT_EQ(pages[1].decisions, std::vector<Decision>{{"cluster99"}});
}

TEST(ExamplesTest, Example32NamedGroups) {
  World world(310);
  for (int i = 1; i <= 20; ++i)
    world.Label("c" + std::to_string(i), "canary", i <= 10 ? "west" : "east");
  world.placement.spec.clusters_per_group = 150;
  world.placement.spec.groups = {
      {.name = "west", .selector = Predicate(Having("canary", {"west"}))},
      {.name = "east", .selector = Predicate(Having("canary", {"east"}))},
  };
  Scheduled result = world.Run();
  std::vector<size_t> sizes;
  for (const DecisionGroup& group : result.groups) sizes.push_back(group.clusters.size());
  EXPECT_EQ(sizes, (std::vector<size_t>{10, 10, 150, 140}));
  std::string pages;
  for (const DecisionPage& page : PagesOf(world.placement, result.groups)) {
    pages += page.name.substr(page.name.rfind('-') + 1) + ":" + std::to_string(page.group_index) +
             page.group_name + " ";
  }
  EXPECT_EQ(pages, "1:0west 2:1east 3:2 4:2 5:3 6:3 ");
}

TEST(ExamplesTest, Example34TheOrderOfPicks) {
  World world(4);
  kExamples[std::size(kExamples) - 1].given(world);
  Scheduled result = world.Run();
  EXPECT_EQ(Picks(result), "c1 c4 c2");
  ASSERT_EQ(result.rejections.clusters().size(), 1u);
  EXPECT_EQ(result.rejections.clusters()[0].cluster->name, "c3");
  EXPECT_EQ(result.rejections.Describe(), "1 by Spread (one more would exceed maxSkew 1 of zone)");
  EXPECT_EQ(Names(world.Run({.ignore_spread = true})), "c1 c2 c3 c4");
}

}  // namespace
}  // namespace fleet
