// SPDX-License-Identifier: Apache-2.0
// What comes before and after a plan, and whole rollouts through the objects that are stored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/find_condition.h"
#include "fleet/api/names.h"
#include "fleet/api/placement.h"
#include "fleet/rollout/decisions.h"
#include "fleet/rollout/events.h"
#include "fleet/rollout/status.h"
#include "fleet/rollout/work_kind.h"
#include "fleet/rollout/work_writes.h"
#include "fleet/testing/make_object.h"

namespace fleet {
namespace {

using kube::Json;
using kube::WallTime;
using std::chrono::minutes;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const WallTime kStart = WallTime(std::chrono::hours(500'000));

Json FleetJson() { return MakeFleetPodPlacement("team", "web", "p", kTwoAtATime); }

Placement PlacementP() {
  Placement placement;
  placement.ns = "team";
  placement.name = "p";
  placement.uid = "u";
  return placement;
}

// A PlacementDecision of PlacementP().
PlacementDecision Page(std::optional<std::string> index, const std::string& name,
                       std::vector<std::string> clusters) {
  PlacementDecision page{.ns = "team",
                         .owner_uid = "u",
                         .placement = "p",
                         .group_index = std::move(index),
                         .group_name = name,
                         .has_status = true};
  for (std::string& cluster : clusters) page.decisions.push_back({.cluster = std::move(cluster)});
  return page;
}

const MaySelect kEveryCluster = [](const std::string&) { return true; };

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
    parsed.Pack();
    std::map<std::string, StoredWork> read;
    std::map<std::string, ClusterWork> states;
    for (const auto& [cluster, json] : works) {
      read[cluster] = StoredWorkOf(*PodPlacementWork::FromJson(json));
      states[cluster] = read[cluster].state;
    }
    std::vector<PlacementRollout> placements;
    std::vector<PlacementDecision> pages;
    if (!chosen.empty()) pages.push_back(Page("0", "", chosen));
    const Placement placement = PlacementP();
    for (const PlacementRef& ref : parsed.spec.placements)
      placements.push_back(RolloutOf(ref, &placement, pages, kEveryCluster));
    if (parsed.deleting) placements.clear();
    RolloutPlan plan = PlanRollout(placements, states, parsed.hash, now);
    std::vector<std::string> done;
    for (const WorkWrite& write : WorkWrites(parsed, plan, read, now))
      done.push_back(Do(write, BodyOf(kPodPlacementWorkKind, parsed, write)));
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
  std::string Do(const WorkWrite& write, const Json& body) {
    EXPECT_EQ(write.name, "team.web");
    switch (write.kind) {
      case WorkWrite::Kind::kCreate:
        EXPECT_FALSE(works.contains(write.cluster));
        works[write.cluster] = body;
        works[write.cluster]["metadata"]["resourceVersion"] = "1";
        return "+" + write.cluster;
      case WorkWrite::Kind::kPatch:
      case WorkWrite::Kind::kPatchPolicy: {
        Json& work = works.at(write.cluster);
        EXPECT_EQ(body["metadata"]["resourceVersion"], work["metadata"]["resourceVersion"]);
        work.merge_patch(body);
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

  // Nothing changes with time alone.
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
  EXPECT_EQ(hub.fleet["status"]["failures"],
            kube::MustParseJson(
                R"([{"clusterName": "c1", "reason": "Failed", "message": "Failed in c1"}])"));
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

TEST(StatusTest, DecisionsThatDoNotCountAreNamed) {
  FleetPodPlacement fleet = *FleetPodPlacement::FromJson(FleetJson());
  RolloutPlan plan;
  plan.ignored = 2;
  FleetPodPlacementStatus status = StatusOf(fleet, &plan, kStart);
  EXPECT_THAT(api::FindCondition(status.conditions, kRolledOut)->message,
              HasSubstr("ignored: 2 decisions about clusters"));
}

TEST(StatusTest, TheStateIsThatOfTheCondition) {
  struct Row {
    std::string_view reason;
    const char* state;
  };
  const Row kRows[] = {{kReasonProgressing, "progressing"}, {kReasonSucceeded, "succeeded"},
                       {kReasonFailed, "failed"},           {kReasonStopped, "stopped"},
                       {kReasonNoDecisions, "undecided"},   {"Other", "progressing"}};
  FleetPodPlacement fleet = *FleetPodPlacement::FromJson(FleetJson());
  EXPECT_EQ(RolloutStateOf(fleet), "progressing");
  for (const Row& row : kRows) {
    fleet.status.conditions = {
        {.type = std::string(kRolledOut), .reason = std::string(row.reason)}};
    EXPECT_EQ(RolloutStateOf(fleet), row.state);
    EXPECT_THAT(kRolloutStates, Contains(std::string_view(row.state)));
  }
  fleet.problems.push_back({"spec", "is wrong"});
  EXPECT_EQ(RolloutStateOf(fleet), "invalid");
  fleet.deleting = true;
  EXPECT_EQ(RolloutStateOf(fleet), "deleting");
}

TEST(EventsTest, OneForEachChange) {
  auto status = [](std::string_view type, std::string_view reason, const char* hash) {
    FleetPodPlacementStatus made{.hash = hash};
    made.conditions = {
        {.type = std::string(type), .reason = std::string(reason), .message = "why"}};
    return made;
  };
  auto events = [](const FleetPodPlacementStatus& before, const FleetPodPlacementStatus& after) {
    std::string text;
    for (const RolloutEvent& event : RolloutEventsOf(before, after)) {
      text += event.warning ? "Warning " : "Normal ";
      text += std::string(event.reason) + " " + event.message;
    }
    return text;
  };
  const auto none = FleetPodPlacementStatus{.hash = "1"};
  const auto stopped = status(kRolledOut, kReasonStopped, "1");
  const auto failed = status(kRolledOut, kReasonFailed, "1");
  const auto succeeded = status(kRolledOut, kReasonSucceeded, "1");
  const auto invalid = status(kAccepted, kReasonInvalid, "1");
  EXPECT_EQ(events(none, stopped), "Warning RolloutStopped why");
  EXPECT_EQ(events(stopped, stopped), "");
  EXPECT_EQ(events(stopped, status(kRolledOut, kReasonStopped, "2")), "Warning RolloutStopped why");
  EXPECT_EQ(events(stopped, status(kRolledOut, kReasonProgressing, "1")), "");
  EXPECT_EQ(events(stopped, failed), "Warning RolloutFailed why");
  EXPECT_EQ(events(failed, succeeded), "Normal RolloutSucceeded why");
  EXPECT_EQ(events(none, invalid), "Warning InvalidSpec why");
  EXPECT_EQ(events(invalid, status(kAccepted, kReasonInvalid, "2")), "");
}

TEST(DecisionsTest, PagesOfAnIndexAreOneGroup) {
  std::vector<PlacementDecision> pages = {Page("10", "", {"z"}),      Page("2", "canary", {"b"}),
                                          Page("2", "canary", {"a"}), Page({}, "", {"x"}),
                                          Page("-1", "", {"y"}),      Page("3", "", {"w"})};
  pages.back().has_status = false;
  const Placement placement = PlacementP();
  PlacementRollout rollout = RolloutOf({.name = "p"}, &placement, pages, kEveryCluster);
  EXPECT_TRUE(rollout.decided);
  ASSERT_THAT(rollout.groups, SizeIs(3));
  EXPECT_THAT(rollout.groups[0].clusters, ElementsAre("x", "y"));
  EXPECT_EQ(rollout.groups[1].name, "canary");
  EXPECT_EQ(rollout.groups[1].index, 2);
  EXPECT_THAT(rollout.groups[1].clusters, ElementsAre("b", "a"));
  EXPECT_EQ(rollout.groups[2].index, 10);
}

TEST(DecisionsTest, OnlyThePlacementsOwnDecisionsCountAndOnlyClustersThatItMaySelect) {
  struct Row {
    const char* name;
    std::function<void(Placement& placement, PlacementDecision& page)> change;
    bool decided;
    std::vector<std::string> clusters;
    int64_t ignored;
  };
  const Row kRows[] = {
      {"its own", [](auto&, auto&) {}, true, {"c1"}, 2},
      {"no status", [](auto&, auto& page) { page.has_status = false; }, false, {}, 0},
      {"no label", [](auto&, auto& page) { page.placement = ""; }, false, {}, 0},
      {"of another Placement", [](auto&, auto& page) { page.placement = "q"; }, false, {}, 0},
      {"no owner", [](auto&, auto& page) { page.owner_uid = ""; }, false, {}, 0},
      {"of an earlier Placement", [](auto&, auto& page) { page.owner_uid = "old"; }, false, {}, 0},
      {"of another namespace", [](auto&, auto& page) { page.ns = "other"; }, false, {}, 0},
      {"no uid at all",
       [](auto& placement, auto& page) { placement.uid = page.owner_uid = ""; },
       false,
       {},
       0},
      {"being deleted", [](auto&, auto& page) { page.deleting = true; }, true, {"c1"}, 2},
      {"empty", [](auto&, auto& page) { page.decisions.clear(); }, true, {}, 0},
      {"of a Placement that selects none, and without a status",
       [](auto& placement, auto& page) {
         page.has_status = false;
         placement.status.conditions = {{.type = std::string(kPlacementSatisfied)}};
       },
       true,
       {},
       0},
      {"of a Placement that selects some, and without a status",
       [](auto& placement, auto& page) {
         page.has_status = false;
         placement.status.conditions = {{.type = std::string(kPlacementSatisfied)}};
         placement.status.number_of_selected_clusters = 1;
       },
       false,
       {},
       0},
  };
  const MaySelect only_c1 = [](const std::string& cluster) { return cluster == "c1"; };
  for (const Row& row : kRows) {
    Placement placement = PlacementP();
    PlacementDecision page = Page("0", "", {"c1", "unbound", "../kube-system"});
    row.change(placement, page);
    PlacementRollout rollout = RolloutOf({.name = "p"}, &placement, {&page, 1}, only_c1);
    EXPECT_EQ(rollout.decided, row.decided) << row.name;
    std::vector<std::string> clusters;
    for (const DecidedGroup& group : rollout.groups)
      clusters.insert(clusters.end(), group.clusters.begin(), group.clusters.end());
    EXPECT_EQ(clusters, row.clusters) << row.name;
    EXPECT_EQ(rollout.ignored, row.ignored) << row.name;
  }
}

TEST(DecisionsTest, WithoutAPlacementNothingIsDecided) {
  PlacementDecision page = Page("0", "", {"c1"});
  EXPECT_FALSE(RolloutOf({.name = "p"}, nullptr, {&page, 1}, kEveryCluster).decided);
  const Placement placement = PlacementP();
  EXPECT_FALSE(RolloutOf({.name = "p"}, &placement, {}, kEveryCluster).decided);
}

}  // namespace
}  // namespace fleet
