// SPDX-License-Identifier: Apache-2.0
// Random fleets: scheduling and the model of the specification must agree on everything.
#include "fleet/scheduling/testing/model.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "fleet/scheduling/schedule.h"
#include "fleet/scheduling/testing/random_world.h"
#include "fleet/scheduling/testing/world.h"

namespace fleet {
namespace {

constexpr uint32_t kFirstSeed = 20261123;
constexpr uint32_t kFleets = 10'000;

std::string Join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += " " + name;
  return text;
}

std::string Join(const Clusters& clusters) {
  std::string text;
  for (const ManagedCluster* cluster : clusters) text += " " + cluster->name;
  return text;
}

std::string TimeText(std::optional<kube::WallTime> time) {
  return time ? std::to_string(time->time_since_epoch().count()) : "never";
}

// Both results in the same words.
std::string Describe(const Scheduled& result) {
  if (result.misconfigured) return "misconfigured " + result.misconfigured->plugin;
  std::string text = std::string(result.satisfied.reason) + "\nmatching" +
                     Join(result.filters[0].clusters) + "\nfeasible" + Join(result.feasible);
  std::map<std::string, std::string> scores;
  for (const PrioritizerResult& prioritizer : result.prioritizers) {
    std::map<std::string, int32_t> by_name;
    for (size_t i = 0; i < result.feasible.size(); ++i) {
      if (prioritizer.scores[i]) by_name[result.feasible[i]->name] = *prioritizer.scores[i];
    }
    scores[prioritizer.name].clear();
    for (const auto& [name, score] : by_name)
      scores[prioritizer.name] += " " + name + "=" + std::to_string(score);
  }
  for (const auto& [name, of_clusters] : scores) text += "\n" + name + of_clusters;
  text += "\ntotals";
  for (size_t i = 0; i < result.feasible.size(); ++i)
    text += " " + result.feasible[i]->name + "=" + std::to_string(result.totals[i]);
  text += "\npicks " + Picks(result) + "\nunscheduled " + std::to_string(result.unscheduled);
  for (const DecisionGroup& group : result.groups)
    text += "\ngroup " + group.name + ": " + Names(group);
  return text + "\nwarnings " + std::to_string(result.warnings.size()) + "\nrequeue " +
         TimeText(result.requeue_at);
}

std::string Describe(const ModelResult& result) {
  if (!result.misconfigured.empty()) return "misconfigured " + result.misconfigured;
  std::string text =
      result.reason + "\nmatching" + Join(result.matching) + "\nfeasible" + Join(result.feasible);
  for (const auto& [prioritizer, scores] : result.scores) {
    text += "\n" + prioritizer;
    for (const auto& [name, score] : scores) text += " " + name + "=" + std::to_string(score);
  }
  text += "\ntotals";
  for (const auto& [name, total] : result.totals) text += " " + name + "=" + std::to_string(total);
  std::string picks = Join(result.picks);
  text += "\npicks" + (picks.empty() ? " " : picks) + "\nunscheduled " +
          std::to_string(result.unscheduled);
  for (const auto& [name, clusters] : result.groups) {
    std::string members = Join(clusters);
    text += "\ngroup " + name + ":" + (members.empty() ? " " : members);
  }
  return text + "\nwarnings " + std::to_string(result.warnings) + "\nrequeue " +
         TimeText(result.requeue_at);
}

// Each cluster that a filter dropped has a reason, once.
void CheckRejections(const Scheduled& result) {
  std::map<std::string_view, size_t> by;
  for (const Rejections::Rejected& rejected : result.rejections.clusters())
    ++by[result.rejections.reasons()[rejected.reason].by];
  EXPECT_EQ(by[kTaintToleration], result.filters[0].clusters.size() - result.feasible.size());
  const bool blocked = result.unscheduled > 0;
  EXPECT_EQ(by[kSpread] > 0 && blocked, result.picks.size() < result.feasible.size() && blocked);
}

TEST(ModelTest, RandomFleets) {
  std::map<std::string, int> seen;
  for (uint32_t seed = kFirstSeed; seed < kFirstSeed + kFleets; ++seed) {
    World world = RandomWorld(seed);
    Scheduled result = world.Run();
    ModelResult model = RunModel(world.placement, world.own, world.fleet, world.now, world.cel);
    ASSERT_EQ(Describe(result), Describe(model)) << "seed " << seed;
    if (result.misconfigured) {
      ++seen["misconfigured " + result.misconfigured->plugin];
      continue;
    }
    CheckRejections(result);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
    ++seen[std::string(result.satisfied.reason)];
    seen["warning"] += result.warnings.empty() ? 0 : 1;
    seen["requeue"] += result.requeue_at ? 1 : 0;
    seen["several groups"] += result.groups.size() > 1 ? 1 : 0;
    if (world.placement.spec.spread.empty()) continue;
    seen["spread matters"] += Names(world.Run({.ignore_spread = true})) != Names(result) ? 1 : 0;
  }
  // The fleets are not all of one kind.
  for (const char* kind :
       {"misconfigured Placement", "misconfigured Predicate", "misconfigured TaintToleration",
        "misconfigured Prioritizer", "misconfigured DecisionStrategy",
        "NoManagedClusterSetBindings", "NoIntersection", "AllManagedClusterSetsEmpty",
        "NoManagedClusterMatched", "AllDecisionsScheduled", "NotAllDecisionsScheduled", "warning",
        "requeue", "several groups", "spread matters"}) {
    EXPECT_GE(seen[kind], 50) << kind;
  }
}

}  // namespace
}  // namespace fleet
