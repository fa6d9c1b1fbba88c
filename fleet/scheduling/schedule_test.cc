// SPDX-License-Identifier: Apache-2.0
// What Schedule() says besides decisions: misconfigurations, conditions, reasons, warnings; and
// numbers at their limits.
#include "fleet/scheduling/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "fleet/scheduling/testing/world.h"

namespace fleet {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ScheduleTest, Misconfigured) {
  struct Row {
    std::function<void(World&)> given;
    const char* message;  // "": not misconfigured
  };
  const Row rows[] = {
      {[](World& w) { w.placement.name = std::string(63, 'p'); }, ""},
      {[](World& w) { w.placement.name = std::string(64, 'p'); }, "Placement:the name must have"},
      {[](World& w) { w.N(-1); }, "Placement:numberOfClusters must not be negative"},
      {[](World& w) { w.N(std::numeric_limits<int32_t>::min()); }, "Placement:numberOfClusters"},
      {[](World& w) {
         w.placement.problems = {{"spec.predicates[0].x", "bad"}};
       },
       "Predicate:spec.predicates[0].x: bad"},
      {[](World& w) {
         w.placement.problems = {{"spec.spreadPolicy.x", "bad"}};
       },
       "Spread:"},
      {[](World& w) {
         w.placement.problems = {{"spec.sortBy", "bad"}};
       },
       "Placement:"},
      {[](World& w) { w.placement.spec.predicates = {{.cel = {"1 +"}}}; },
       "Predicate:predicates[0].celSelector: syntax error"},
      {[](World& w) { w.Tolerate({}); }, "TaintToleration:tolerations[0]: without a key"},
      {[](World& w) { w.placement.spec.clusters_per_group = "10"; },
       "DecisionStrategy:clustersPerDecisionGroup"},
      {[](World& w) { w.placement.spec.mode = "Sometimes"; }, "Prioritizer:unknown"},
      {[](World& w) { w.placement.spec.mode = "Additive"; }, ""},
      {[](World& w) { w.BuiltIn("Magic"); }, "Prioritizer:unknown built-in prioritizer \"Magic\""},
      {[](World& w) { w.BuiltIn(""); }, "Prioritizer:unknown built-in"},
      {[](World& w) { w.BuiltIn("Magic", 0); }, ""},
      {[](World& w) { w.BuiltIn("Magic", 1).BuiltIn("Magic", 0); }, ""},
      {[](World& w) { w.BuiltIn(kSpread, 5); }, ""},
      {[](World& w) { w.placement.spec.prioritizers = {{.type = "AddOn"}}; },
       "Prioritizer:a score of type AddOn without addOn"},
      {[](World& w) { w.placement.spec.prioritizers = {{.type = "AddOn", .weight = 0}}; }, ""},
      {[](World& w) { w.placement.spec.prioritizers = {{.type = "Oracle"}}; },
       "Prioritizer:unknown score type"},
  };
  for (const Row& row : rows) {
    for (size_t clusters : {0, 3}) {  // it does not depend on clusters
      World world(clusters);
      row.given(world);
      Scheduled result = world.Run();
      std::string message = result.misconfigured ? result.misconfigured->Message() : "";
      EXPECT_THAT(message, StartsWith(row.message));
      EXPECT_EQ(message.empty(), std::string(row.message).empty()) << message;
      EXPECT_EQ(result.groups.empty(), !message.empty());
    }
  }
}

TEST(ScheduleTest, ALongMessageIsCut) {
  World world(1);
  world.placement.spec.mode = std::string(5000, 'x');
  EXPECT_LE(world.Run().misconfigured->Message().size(), 1100u);
}

TEST(ScheduleTest, TheConditionPlacementSatisfied) {
  struct Row {
    std::function<void(World&)> given;
    std::string_view reason;
    const char* message;
  };
  const Row rows[] = {
      {[](World& w) { w.fleet.bindings.clear(); }, kNoManagedClusterSetBindings, "binds"},
      {[](World& w) { w.fleet.sets.clear(); }, kNoManagedClusterSetBindings, "existing"},
      {[](World& w) { w.placement.ns = "other"; }, kNoManagedClusterSetBindings, ""},
      {[](World& w) {
         w.placement.spec.cluster_sets = {"prod", "dev"};
       },
       kNoIntersection, "prod, dev"},
      {[](World& w) { w.fleet.clusters.clear(); }, kAllManagedClusterSetsEmpty, "global"},
      {[](World& w) {
         for (const char* name : {"c1", "c2", "c3"}) w.At(name).deleting = true;
       },
       kAllManagedClusterSetsEmpty, "global"},
      {[](World& w) {
         w.Label("c1", "a").placement.spec.predicates = {{.labels = Having("a")}};
         w.Taint("c1", {.key = "gpu", .value = "true", .effect = "NoSelect"});
       },
       kNoManagedClusterMatched,
       "No cluster of 3 matches: 2 by Predicate (labelSelector does not match), 1 by "
       "TaintToleration (taint gpu=true:NoSelect)"},
      {[](World& w) { w.N(0); }, kNoManagedClusterMatched, "numberOfClusters is 0"},
      {[](World& w) { w.N(9); }, kNotAllDecisionsScheduled, "6 cluster decisions unscheduled"},
      {[](World& w) { w.N(std::numeric_limits<int32_t>::max()); }, kNotAllDecisionsScheduled,
       "2147483644 cluster decisions unscheduled"},
      {[](World&) {}, kAllDecisionsScheduled, "All cluster decisions scheduled"},
  };
  for (const Row& row : rows) {
    World world(3);
    row.given(world);
    Scheduled result = world.Run();
    EXPECT_EQ(result.satisfied.reason, row.reason);
    EXPECT_THAT(result.satisfied.message, HasSubstr(row.message));
    EXPECT_EQ(result.groups.size(), 1u);
  }
}

TEST(ScheduleTest, WhyPredicatesReject) {
  World world(3);
  world.Label("c1", "a").Claim("c1", "b").Label("c2", "a");
  world.cel.true_for["x"] = {};
  world.cel.fails_for["x"] = {"c1"};
  world.placement.spec.predicates = {{.labels = Having("a"), .claims = Having("b"), .cel = {"x"}}};
  EXPECT_EQ(world.Run().rejections.Describe(),
            "1 by Predicate (celSelector does not match: no such key in x), "
            "1 by Predicate (claimSelector does not match), "
            "1 by Predicate (labelSelector does not match)");
  world.placement.spec.predicates.push_back({.labels = Having("none")});
  world.placement.spec.predicates[0].cel.clear();
  world.placement.spec.predicates[0].claims = Having("none");
  EXPECT_EQ(world.Run().rejections.Describe(),
            "2 by Predicate (no predicate matches: 0 claimSelector, 1 labelSelector), "
            "1 by Predicate (no predicate matches: 0 labelSelector, 1 labelSelector)");
  EXPECT_EQ(world.Run().rejections.Describe(1),
            "2 by Predicate (no predicate matches: 0 claimSelector, 1 labelSelector) "
            "and 1 more reasons");
}

TEST(ScheduleTest, ATaintOfAnySizeIsCutInReasons) {
  World world(1);
  world.Taint("c1", {.key = "k", .value = std::string(1000, 'v'), .effect = "NoSelect"});
  Scheduled result = world.Run();
  EXPECT_EQ(result.rejections.reasons()[0].why.size(), Rejections::kMaxWhy);
}

TEST(ScheduleTest, ClustersOfEachKindOfSet) {
  World world(5);
  using Selects = ManagedClusterSet::Selects;
  world.fleet.sets = {{"prod", {.name = "prod", .selects = Selects::kByLabel}},
                      {"arm", {.name = "arm", .selects = Selects::kBySelector}},
                      {"bad", {.name = "bad", .selects = Selects::kNothing}}};
  world.fleet.sets["arm"].selector = Having("arm");
  world.fleet.bindings["ns"] = {"prod", "arm", "bad", "gone"};
  world.Label("c1", std::string(kClusterSetLabel), "prod").Label("c2", "arm");
  world.Label("c3", std::string(kClusterSetLabel), "prod").Label("c3", "arm");
  world.Label("c4", std::string(kClusterSetLabel), "other");
  EXPECT_EQ(Names(world.Run()), "c1 c2 c3") << "c3 once";
  world.placement.spec.cluster_sets = {"prod"};
  EXPECT_EQ(Names(world.Run()), "c1 c3");
  world.placement.spec.cluster_sets = {"bad", "gone"};
  EXPECT_EQ(world.Run().satisfied.reason, kAllManagedClusterSetsEmpty);
}

TEST(ScheduleTest, NumbersAtTheirLimits) {
  World world(3);
  world.Exact().BuiltIn(kResourceAllocatableCpu);
  world.Cpu({-0x1p63, 0x1p63, 0});
  EXPECT_EQ(Totals(world.Run()), "-100 100 0");
  world.Cpu({0x1p63, 0x1p63, std::nullopt});
  EXPECT_EQ(Totals(world.Run()), "100 100 0");
  world.Cpu({5e-324, 0, 5e-324});
  EXPECT_EQ(Totals(world.Run()), "100 -100 100");

  World many(2);
  many.Exact();
  for (size_t i = 0; i < kMaxPrioritizers; ++i) many.AddOn(i % 2 == 0 ? 10 : 9);
  many.Scores({100, -100});
  EXPECT_EQ(Totals(many.Run()), "95000 -95000");

  World counts(3);
  counts.Exact().BuiltIn(kBalance);
  counts.Others("c1", std::numeric_limits<int64_t>::max()).Others("c2", 1);
  counts.own["c3"] = 7;  // more than it has in all: the counts are between two updates
  EXPECT_EQ(Totals(counts.Run()), "-100 100 100");
}

TEST(ScheduleTest, RequeueAtTheFirstChange) {
  World world(3);
  world.AddOn().Scores({1, 2, 3});
  EXPECT_EQ(world.Run().requeue_at, std::nullopt);
  world.ScoreOf("c2").valid_until = world.now;
  Scheduled valid = world.Run();
  EXPECT_TRUE(valid.warnings.empty()) << "valid up to its time";
  ASSERT_TRUE(valid.requeue_at);
  EXPECT_GT(*valid.requeue_at, world.now);
  world.Taint("c1", {.key = "t", .effect = "NoSelect", .time_added = world.now});
  world.Tolerate({.key = "t", .op = "Exists", .seconds = 60});
  world.ScoreOf("c2").valid_until = world.now + seconds(90);
  EXPECT_EQ(world.Run().requeue_at, world.now + seconds(60));
  world.now += seconds(60);
  EXPECT_GT(*world.Run().requeue_at, world.now + seconds(30)) << "c1 is out, the score is left";
  world.now += seconds(31);
  Scheduled expired = world.Run();
  EXPECT_EQ(expired.requeue_at, std::nullopt);
  EXPECT_EQ(expired.warnings.size(), 1u);
}

TEST(ScheduleTest, WarningsNameFewClusters) {
  World world(20);
  world.Exact().AddOn().Scores(std::vector<std::optional<int32_t>>(20, 5));
  for (auto& [name, cluster] : world.fleet.clusters)
    world.ScoreOf(name).valid_until = world.now - seconds(1);
  Scheduled result = world.Run();
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_THAT(result.warnings[0], AllOf(HasSubstr("20 clusters"), HasSubstr("and 15 more")));
}

TEST(ScheduleTest, WhatTheDebugAnswerNeeds) {
  World world(3);
  world.Label("c1", "a").Label("c2", "a").Taint("c2", {.key = "t", .effect = "NoSelect"});
  world.placement.spec.predicates = {{.labels = Having("a")}};
  world.BuiltIn(kSteady, 3).AddOn(2).Scores({7});
  Scheduled result = world.Run();
  ASSERT_EQ(result.filters.size(), 2u);
  EXPECT_EQ(result.filters[0].name, "Predicate");
  EXPECT_EQ(result.filters[0].clusters.size(), 2u);
  EXPECT_EQ(result.filters[1].name, "Predicate,TaintToleration");
  EXPECT_EQ(result.filters[1].clusters, result.feasible);
  std::string prioritizers;
  for (const PrioritizerResult& p : result.prioritizers)
    prioritizers += p.name + "*" + std::to_string(p.weight) + "=" +
                    std::to_string(p.scores.at(0).value()) + " ";
  EXPECT_EQ(prioritizers, "Balance*1=100 Steady*3=0 AddOn/r/s*2=7 ");
  EXPECT_EQ(Totals(result), "114");
}

}  // namespace
}  // namespace fleet
