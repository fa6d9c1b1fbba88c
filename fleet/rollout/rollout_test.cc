// SPDX-License-Identifier: Apache-2.0
// What comes before and after a plan, and whole rollouts through the objects that are stored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fleet/rollout/decisions.h"
#include "fleet/rollout/status.h"
#include "fleet/rollout/work_writes.h"

namespace fleet {
namespace {

using kube::Json;
using kube::WallTime;
using std::chrono::minutes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const WallTime kStart = WallTime(std::chrono::hours(500'000));

Json FleetJson() {
  return Json::parse(R"({
      "metadata": {"name": "web", "namespace": "team", "generation": 1},
      "spec": {"placements": [{"name": "p", "rolloutStrategy": {"type": "Progressive",
                   "progressive": {"maxConcurrency": 2, "progressDeadline": "10m"}}}],
               "clusterPodPlacementConfig": {"spec": {"logVerbosity": "Normal"}}}})");
}

// A hub: one FleetPodPlacement, its decisions, and the work objects as JSON, as they are stored.
class Hub {
 public:
  Json fleet = FleetJson();
  std::vector<std::string> chosen;  // nothing yet: the Placement has no decisions
  std::map<std::string, Json> works;
  WallTime now = kStart;

  // One pass of a controller. Returns: the writes, as "+c1" (created), "c1" (patched), "-c1".
  std::vector<std::string> Pass() {
    FleetPodPlacement parsed = *FleetPodPlacement::FromJson(fleet);
    std::map<std::string, StoredWork> read;
    std::map<std::string, ClusterWork> states;
    for (const auto& [cluster, json] : works) {
      read[cluster] = StoredWorkOf(*PodPlacementWork::FromJson(json));
      states[cluster] = read[cluster].state;
    }
    std::vector<PlacementRollout> placements;
    PlacementDecision page{.group_index = "0", .has_status = true};
    for (const std::string& cluster : chosen) page.decisions.push_back({.cluster = cluster});
    std::vector<const PlacementDecision*> pages;
    if (!chosen.empty()) pages.push_back(&page);
    for (const PlacementRef& ref : parsed.spec.placements)
      placements.push_back(RolloutOf(ref, pages));
    if (parsed.deleting) placements.clear();
    RolloutPlan plan = PlanRollout(placements, states, HashOf(parsed.spec), now);
    std::vector<std::string> done;
    for (const WorkWrite& write : WorkWrites(parsed, plan, read, now)) done.push_back(Do(write));
    FleetPodPlacementStatus status = StatusOf(parsed, &plan, now);
    status_changed = status != parsed.status;
    fleet["status"] = StatusToJson(status);
    return done;
  }
  // The agent of a cluster answers.
  void Answer(const std::string& cluster, const std::string& phase) {
    Json& work = works.at(cluster);
    PodPlacementWorkStatus status{.hash = work["spec"]["hash"], .phase = phase};
    api::SetCondition(status.conditions,
                      {.type = std::string(kSucceededCondition),
                       .status = phase == "Succeeded" ? "True" : "False",
                       .reason = phase,
                       .message = phase + " in " + cluster},
                      now);
    work["status"] = StatusToJson(status);
    work["metadata"]["finalizers"] = {std::string(kWorkFinalizer)};
  }
  // The agent has cleaned up.
  void Clean(const std::string& cluster) { works.erase(cluster); }

  // "RolledOut: False Progressing 0 of 3 clusters succeeded, ..."
  std::string Condition(const std::string& type) const {
    for (const Json& condition : fleet["status"]["conditions"]) {
      if (condition["type"] != type) continue;
      return condition["status"].get<std::string>() + " " + condition["reason"].get<std::string>() +
             ": " + condition["message"].get<std::string>();
    }
    return "";
  }
  bool status_changed = false;

 private:
  std::string Do(const WorkWrite& write) {
    EXPECT_EQ(write.name, "team.web");
    switch (write.kind) {
      case WorkWrite::Kind::kCreate:
        EXPECT_FALSE(works.contains(write.cluster));
        works[write.cluster] = write.body;
        works[write.cluster]["metadata"]["resourceVersion"] = "1";
        return "+" + write.cluster;
      case WorkWrite::Kind::kPatch: {
        Json& work = works.at(write.cluster);
        EXPECT_EQ(write.body["metadata"]["resourceVersion"], work["metadata"]["resourceVersion"]);
        work.merge_patch(write.body);
        work["metadata"]["resourceVersion"] = write.resource_version + "1";
        return write.cluster;
      }
      case WorkWrite::Kind::kDelete:
        EXPECT_EQ(write.resource_version, works.at(write.cluster)["metadata"]["resourceVersion"]);
        works.at(write.cluster)["metadata"]["deletionTimestamp"] = kube::FormatTime(now);
        return "-" + write.cluster;
    }
    return "";
  }
};

TEST(RolloutStoryTest, FromTheFirstDecisionToTheDeletion) {
  Hub hub;
  EXPECT_THAT(hub.Pass(), IsEmpty());
  EXPECT_EQ(hub.Condition("Accepted"), "True Valid: The spec is valid");
  EXPECT_EQ(
      hub.Condition("RolledOut"),
      "False NoPlacementDecisions: 0 of 0 clusters succeeded; without decisions: Placement p");

  hub.chosen = {"c1", "c2", "c3"};
  EXPECT_THAT(hub.Pass(), ElementsAre("+c1", "+c2"));
  EXPECT_EQ(hub.Condition("RolledOut"),
            "False Progressing: 0 of 3 clusters succeeded, 2 progressing, 1 waiting");
  EXPECT_EQ(hub.works.at("c1")["metadata"]["labels"]["fleet.multiarch.openshift.io/name"], "web");
  EXPECT_EQ(hub.works.at("c1")["spec"]["objects"][0]["kind"], "ClusterPodPlacementConfig");
  EXPECT_THAT(hub.Pass(), IsEmpty());
  EXPECT_FALSE(hub.status_changed);

  hub.Answer("c1", "Succeeded");
  EXPECT_THAT(hub.Pass(), ElementsAre("+c3"));
  hub.Answer("c2", "Succeeded");
  hub.Answer("c3", "Succeeded");
  EXPECT_THAT(hub.Pass(), IsEmpty());
  EXPECT_EQ(hub.Condition("RolledOut"), "True Succeeded: 3 of 3 clusters succeeded");

  // Nothing changes, however long.
  hub.now += std::chrono::hours(100);
  EXPECT_THAT(hub.Pass(), IsEmpty());
  EXPECT_FALSE(hub.status_changed);

  // Another template, and one of two clusters fails.
  hub.fleet["spec"]["clusterPodPlacementConfig"]["spec"]["logVerbosity"] = "Debug";
  hub.fleet["metadata"]["generation"] = 2;
  EXPECT_THAT(hub.Pass(), ElementsAre("c1", "c2"));
  hub.Answer("c1", "Failed");
  hub.Answer("c2", "Succeeded");
  EXPECT_THAT(hub.Pass(), IsEmpty());
  EXPECT_EQ(hub.Condition("RolledOut"),
            "False Stopped: 1 of 3 clusters succeeded, 1 failed, 1 waiting; "
            "Placement p: 1 cluster failed or timed out, and at most 0 may");
  EXPECT_EQ(
      hub.fleet["status"]["failures"],
      Json::parse(R"([{"clusterName": "c1", "reason": "Failed", "message": "Failed in c1"}])"));
  EXPECT_EQ(hub.fleet["status"]["observedGeneration"], 2);

  // A template that mends it goes to the failed cluster first.
  hub.fleet["spec"]["clusterPodPlacementConfig"]["spec"]["logVerbosity"] = "Trace";
  EXPECT_THAT(hub.Pass(), ElementsAre("c1", "c2"));
  hub.Answer("c1", "Succeeded");
  hub.Answer("c2", "Succeeded");
  EXPECT_THAT(hub.Pass(), ElementsAre("c3"));
  hub.Answer("c3", "Succeeded");
  hub.Pass();
  EXPECT_EQ(hub.Condition("RolledOut"), "True Succeeded: 3 of 3 clusters succeeded");

  // A cluster leaves, and comes back before it is clean.
  hub.chosen = {"c1", "c2"};
  EXPECT_THAT(hub.Pass(), ElementsAre("-c3"));
  EXPECT_THAT(hub.Pass(), IsEmpty());
  EXPECT_EQ(hub.Condition("RolledOut"), "False Progressing: 2 of 2 clusters succeeded, 1 removing");
  hub.chosen = {"c1", "c2", "c3"};
  EXPECT_THAT(hub.Pass(), IsEmpty());
  hub.Clean("c3");
  EXPECT_THAT(hub.Pass(), ElementsAre("+c3"));

  // The decisions are lost: nothing happens.
  hub.chosen = {};
  EXPECT_THAT(hub.Pass(), IsEmpty());

  hub.fleet["metadata"]["deletionTimestamp"] = kube::FormatTime(hub.now);
  EXPECT_THAT(hub.Pass(), ElementsAre("-c1", "-c2", "-c3"));
  EXPECT_THAT(hub.Pass(), IsEmpty());
  for (const char* cluster : {"c1", "c2", "c3"}) hub.Clean(cluster);
  EXPECT_THAT(hub.Pass(), IsEmpty());
  EXPECT_THAT(hub.works, IsEmpty());
}

TEST(RolloutStoryTest, TheDeletionPolicyReachesAClusterBeforeItsRemoval) {
  Hub hub;
  hub.chosen = {"c1", "c2"};
  hub.Pass();
  hub.fleet["spec"]["deletionPolicy"] = "Orphan";
  hub.chosen = {"c1"};
  EXPECT_THAT(hub.Pass(), ElementsAre("c1", "c2"));
  EXPECT_EQ(hub.works.at("c2")["spec"]["deletionPolicy"], "Orphan");
  EXPECT_THAT(hub.Pass(), ElementsAre("-c2"));
  // It is still read while the agent cleans up.
  hub.fleet["spec"]["deletionPolicy"] = "Delete";
  EXPECT_THAT(hub.Pass(), ElementsAre("c1", "c2"));
  EXPECT_THAT(hub.Pass(), IsEmpty());
}

TEST(RolloutStoryTest, WhatSomebodyChangedInAWorkIsCorrectedWithoutAnotherRollout) {
  Hub hub;
  hub.chosen = {"c1"};
  hub.Pass();
  Json written = hub.works.at("c1")["spec"];
  hub.now += minutes(5);
  hub.works.at("c1")["spec"]["objects"][0]["spec"]["logVerbosity"] = "TraceAll";
  EXPECT_THAT(hub.Pass(), ElementsAre("c1"));
  EXPECT_EQ(hub.works.at("c1")["spec"], written);
}

TEST(RolloutStoryTest, ALateClusterIsReported) {
  Hub hub;
  hub.chosen = {"c1"};
  hub.Pass();
  hub.now += minutes(10);
  hub.Pass();
  EXPECT_EQ(hub.Condition("RolledOut"), "False Failed: 0 of 1 cluster succeeded, 1 timed out");
  EXPECT_EQ(hub.fleet["status"]["failures"][0]["reason"], "TimedOut");
  EXPECT_NE(hub.fleet["status"]["failures"][0]["message"], "");
}

TEST(StatusTest, AWrongSpecChangesOnlyTheConditionAccepted) {
  Json json = FleetJson();
  json["spec"]["adopt"] = "yes";
  json["status"] = {{"total", 3}, {"succeeded", 3}, {"hash", "h"}};
  FleetPodPlacement fleet = *FleetPodPlacement::FromJson(json);
  FleetPodPlacementStatus status = StatusOf(fleet, nullptr, kStart);
  EXPECT_EQ(status.hash, "h");
  EXPECT_EQ(status.clusters, fleet.status.clusters);
  ASSERT_THAT(status.conditions, SizeIs(1));
  EXPECT_EQ(status.conditions[0].type, kAccepted);
  EXPECT_EQ(status.conditions[0].status, "False");
  EXPECT_EQ(status.conditions[0].message, "spec.adopt: must be true or false");
}

PlacementDecision Page(std::optional<std::string> index, const std::string& name,
                       std::vector<std::string> clusters, bool has_status = true) {
  PlacementDecision page{
      .group_index = std::move(index), .group_name = name, .has_status = has_status};
  for (std::string& cluster : clusters) page.decisions.push_back({.cluster = std::move(cluster)});
  return page;
}

TEST(DecisionsTest, PagesOfAnIndexAreOneGroup) {
  std::vector<PlacementDecision> pages = {Page("10", "", {"z"}),      Page("2", "canary", {"b"}),
                                          Page("2", "canary", {"a"}), Page({}, "", {"x"}),
                                          Page("-1", "", {"y"}),      Page("3", "", {"w"}, false)};
  std::vector<const PlacementDecision*> pointers;
  for (const PlacementDecision& page : pages) pointers.push_back(&page);
  PlacementRollout rollout = RolloutOf({.name = "p"}, pointers);
  EXPECT_TRUE(rollout.decided);
  ASSERT_THAT(rollout.groups, SizeIs(3));
  EXPECT_THAT(rollout.groups[0].clusters, ElementsAre("x", "y"));
  EXPECT_EQ(rollout.groups[1].name, "canary");
  EXPECT_EQ(rollout.groups[1].index, 2);
  EXPECT_THAT(rollout.groups[1].clusters, ElementsAre("b", "a"));
  EXPECT_EQ(rollout.groups[2].index, 10);
}

TEST(DecisionsTest, WithoutAStatusNothingIsDecided) {
  PlacementDecision page = Page("0", "", {}, false);
  const PlacementDecision* pointer = &page;
  EXPECT_FALSE(RolloutOf({.name = "p"}, {&pointer, 1}).decided);
  EXPECT_FALSE(RolloutOf({.name = "p"}, {}).decided);
  page.has_status = true;
  EXPECT_TRUE(RolloutOf({.name = "p"}, {&pointer, 1}).decided);
}

}  // namespace
}  // namespace fleet
