// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/demo/fleet_story.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/framework/resources.h"
#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/placement_decision.h"
#include "fleet/api/pod_placement_work.h"

namespace e2e {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::IsEmpty;

Json Named(const std::string& ns, const std::string& name) {
  Json object;
  object["metadata"]["name"] = name;
  if (!ns.empty()) object["metadata"]["namespace"] = ns;
  return object;
}

Json Condition(const std::string& type, const std::string& status) {
  return {{"type", type}, {"status", status}, {"message", "why"}};
}

Json Score(const std::string& name, int value) { return {{"name", name}, {"value", value}}; }

TEST(FleetStoryTest, TellsCreationAndDeletion) {
  Json node = Named("", "n1");
  EXPECT_THAT(FleetSteps(kNodes, nullptr, node), ElementsAre("Node n1: created"));
  EXPECT_THAT(FleetSteps(kNodes, node, node), IsEmpty());
  EXPECT_THAT(FleetSteps(kNodes, node, nullptr), ElementsAre("Node n1: deleted"));
}

TEST(FleetStoryTest, TellsWhatAClusterPublishes) {
  Json created = Named("", "east");
  Json available = created;
  available["status"]["conditions"] = Json::array({Condition("Available", "True")});
  available["status"]["allocatable"] = {{"cpu", "256"}};
  available["status"]["clusterClaims"] =
      Json::array({{{"name", "arm64.example.com"}, {"value", "true"}}});
  EXPECT_THAT(FleetSteps(fleet::kManagedClusters, created, available),
              ElementsAre("ManagedCluster east: Available True", "ManagedCluster east: 256 cores",
                          "ManagedCluster east: claims arm64.example.com"));
  Json away = available;
  away["status"]["conditions"][0]["status"] = "Unknown";
  away["spec"]["taints"] = Json::array({{{"key", "unreachable"}, {"effect", "NoSelect"}}});
  EXPECT_THAT(FleetSteps(fleet::kManagedClusters, available, away),
              ElementsAre("ManagedCluster east: Available Unknown",
                          "ManagedCluster east: taint unreachable:NoSelect"));
  EXPECT_THAT(FleetSteps(fleet::kManagedClusters, away, available),
              ElementsAre("ManagedCluster east: Available True",
                          "ManagedCluster east: no taint unreachable:NoSelect"));
  EXPECT_THAT(FleetSteps(fleet::kManagedClusters, away, nullptr),
              ElementsAre("ManagedCluster east: deleted"));
}

TEST(FleetStoryTest, TellsScoresOfCpuAlone) {
  Json empty = Named("east", "multiarch");
  Json scores = empty;
  scores["status"]["scores"] = Json::array({Score("amd64.cpu", 25), Score("amd64.memory", 9),
                                            Score("arm64.cpu", 75), Score("arm64.share", 60)});
  EXPECT_THAT(FleetSteps(fleet::kAddOnPlacementScores, empty, scores),
              ElementsAre("AddOnPlacementScore east/multiarch: amd64.cpu 25, arm64.cpu 75"));
  Json later = scores;
  later["status"]["validUntil"] = "2030-01-01T00:00:00Z";
  EXPECT_THAT(FleetSteps(fleet::kAddOnPlacementScores, scores, later), IsEmpty());
  later["status"]["scores"] = Json::array();
  EXPECT_THAT(FleetSteps(fleet::kAddOnPlacementScores, scores, later),
              ElementsAre("AddOnPlacementScore east/multiarch: no architecture"));
  EXPECT_EQ(ScoreOf(scores, "arm64.cpu"), 75);
  EXPECT_EQ(ScoreOf(later, "arm64.cpu"), 0);
}

TEST(FleetStoryTest, TellsADecisionByItsPlacement) {
  Json none = Named("team", "web-decision-1");
  none["metadata"]["labels"]["cluster.open-cluster-management.io/placement"] = "web";
  EXPECT_THAT(FleetSteps(fleet::kPlacementDecisions, nullptr, none), IsEmpty());
  Json two = none;
  two["status"]["decisions"] = Json::array({{{"clusterName", "east"}}, {{"clusterName", "west"}}});
  EXPECT_THAT(ClustersOf(two), ElementsAre("east", "west"));
  EXPECT_THAT(FleetSteps(fleet::kPlacementDecisions, none, two),
              ElementsAre("Placement team/web: selects east, west"));
  none["status"]["decisions"] = Json::array();
  EXPECT_THAT(FleetSteps(fleet::kPlacementDecisions, two, none),
              ElementsAre("Placement team/web: selects no cluster"));
  EXPECT_THAT(FleetSteps(fleet::kPlacementDecisions, two, nullptr), IsEmpty());
}

TEST(FleetStoryTest, TellsTheScoresOfADecision) {
  Json event = Named("team", "web.1234");
  event["involvedObject"] = {{"kind", "Placement"}, {"name", "web"}};
  event["reason"] = "DecisionUpdate";
  EXPECT_THAT(FleetSteps(kEvents, nullptr, event), IsEmpty());
  event["reason"] = "ScoreUpdate";
  event["message"] = "east:50 west:75 ";
  EXPECT_THAT(FleetSteps(kEvents, nullptr, event),
              ElementsAre("Placement team/web: scores east:50 west:75"));
  EXPECT_THAT(FleetSteps(kEvents, event, nullptr), IsEmpty());
}

TEST(FleetStoryTest, TellsOnlyAnswersAboutTheNewestObjects) {
  Json work = Named("east", "team.web");
  work["spec"]["hash"] = "h2";
  work["status"] = {{"hash", "h1"}, {"phase", "Succeeded"}};
  EXPECT_THAT(FleetSteps(fleet::kPodPlacementWorks, nullptr, work),
              ElementsAre("PodPlacementWork east/team.web: created"));
  Json answered = work;
  answered["status"] = {{"hash", "h2"}, {"phase", "Progressing"}};
  answered["status"]["conditions"] = Json::array({Condition("Succeeded", "False")});
  EXPECT_THAT(FleetSteps(fleet::kPodPlacementWorks, work, answered),
              ElementsAre("PodPlacementWork east/team.web: Progressing: why"));
}

TEST(FleetStoryTest, TellsTheCountsOfARollout) {
  Json before = Named("team", "web");
  Json after = before;
  after["status"] = {{"hash", "h"}, {"total", 3}, {"succeeded", 1}, {"timedOut", 2}};
  EXPECT_THAT(FleetSteps(fleet::kFleetPodPlacements, before, after),
              ElementsAre("FleetPodPlacement team/web: 1 of 3 clusters succeeded, 2 timed out"));
  after = before;
  after["status"]["conditions"] = Json::array({Condition("Accepted", "False")});
  EXPECT_THAT(FleetSteps(fleet::kFleetPodPlacements, before, after),
              ElementsAre("FleetPodPlacement team/web: not accepted: why"));
}

TEST(FleetStoryTest, TellsWhenAConfigIsAvailable) {
  Json before = Named("shop", "web");
  Json after = before;
  after["status"]["conditions"] = Json::array({Condition("Available", "True")});
  EXPECT_TRUE(IsTrue(after, "Available"));
  EXPECT_FALSE(IsTrue(before, "Available"));
  EXPECT_THAT(FleetSteps(kConfigs, before, after),
              ElementsAre("PodPlacementConfig shop/web: Available"));
}

TEST(FleetStoryTest, AcceptsObjectsOfAnyShape) {
  Json odd = Named("", "odd");
  odd["status"] = "text";
  odd["metadata"]["labels"] = 7;
  for (const kube::Resource& resource :
       {fleet::kManagedClusters, fleet::kAddOnPlacementScores, fleet::kPlacementDecisions,
        fleet::kPodPlacementWorks, fleet::kFleetPodPlacements, kConfigs}) {
    EXPECT_THAT(FleetSteps(resource, odd, odd), IsEmpty()) << resource.kind;
  }
}

}  // namespace
}  // namespace e2e
