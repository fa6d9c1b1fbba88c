// SPDX-License-Identifier: Apache-2.0
// A rollout on a real API server, with the programs of the hub and of one agent: the API server is
// the hub, and the member c1. The agent of c2 is played by kubectl. Skipped without
// KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "fleet/e2e/fleet_fixture.h"

namespace e2e {
namespace {

constexpr char kRights[] = "fleet/e2e/testdata/agent_rights.yaml";
constexpr char kObjects[] = "fleet/e2e/testdata/rollout_objects.yaml";
const std::string kWeb = "fleetpodplacement/web --namespace=team";
const std::string kForged = "fleetpodplacement/forged --namespace=team";

class FleetRolloutTest : public FleetFixture {
 protected:
  FleetRolloutTest() : FleetFixture({kRights, kObjects}) {}

  static std::string Work(const std::string& cluster) {
    return "podplacementwork/team.web --namespace=" + cluster;
  }
  // The agent of c2 answers.
  void AnswerForC2(const std::string& phase) {
    Kubectl("patch " + Work("c2") + " --subresource=status --type=merge --patch",
            R"({"status": {"hash": ")" + Field(Work("c2"), ".spec.hash") + R"(", "phase": ")" +
                phase + R"("}})");
  }
  void CreateForgedDecision() {
    File("forged.yaml", R"({apiVersion: cluster.open-cluster-management.io/v1beta1,
        kind: PlacementDecision, metadata: {name: any, namespace: team,
          labels: {cluster.open-cluster-management.io/placement: forged},
          ownerReferences: [{apiVersion: cluster.open-cluster-management.io/v1beta1,
            kind: Placement, name: forged, controller: true, uid: )" +
                            Field("placement/forged --namespace=team", ".metadata.uid") + "}]}}");
    Kubectl("create --filename", folder() + "/forged.yaml");
    Kubectl(
        "patch placementdecision/any --namespace=team --subresource=status --type=merge --patch",
        R"({"status": {"decisions": [{"clusterName": "c2", "reason": ""},
            {"clusterName": "c3", "reason": ""}, {"clusterName": "none", "reason": ""}]}})");
  }
};

TEST_F(FleetRolloutTest, RollsOutOneClusterAfterTheOther) {
  StartHub();
  StartAgent(KubeconfigOf("hub-side"), KubeconfigOf("member-side"));

  // c1 first, as one cluster at a time gets the objects.
  Await(kWeb, ".status.progressing", "1");
  EXPECT_EQ(Field(kWeb, ".status.total"), "2");
  Await(Work("c1"), ".status.phase", "Progressing");
  EXPECT_EQ(Field("clusterpodplacementconfig/cluster", ".spec.logVerbosity"), "Debug");
  EXPECT_EQ(Field("podplacementconfig/web", ".spec.priority"), "7");
  EXPECT_FALSE(Exists(Work("c2")));

  // The hub restarts in the middle: c1 succeeds meanwhile, and c2 follows.
  KillProgram("hub");
  SetAvailable("clusterpodplacementconfig/cluster");
  SetAvailable("podplacementconfig/web");
  Await(Work("c1"), ".status.phase", "Succeeded");
  EXPECT_FALSE(Exists(Work("c2")));
  StartHub();
  Await(kWeb, ".status.succeeded", "1");
  Await(kWeb, ".status.progressing", "1");
  EXPECT_TRUE(Exists(Work("c2")));
  AnswerForC2("Succeeded");
  AwaitCondition(kWeb, "RolledOut");
  EXPECT_EQ(ConditionField(kWeb, "RolledOut", "message"), "2 of 2 clusters succeeded");

  // A forged PlacementDecision reaches the clusters that its namespace may select, and no others.
  CreateForgedDecision();
  Await(kForged, ".status.total", "1");
  EXPECT_TRUE(Exists("podplacementwork/team.forged --namespace=c2"));
  EXPECT_EQ(Kubectl("get podplacementworks --namespace=c3 --output=name"), "");
  EXPECT_NE(ConditionField(kForged, "RolledOut", "message").find("ignored: 2 decisions"),
            std::string::npos);

  // Nothing is written at rest, nor by the next hub: what it does for another FleetPodPlacement
  // comes after it has planned all.
  std::map<std::string, std::string> before = Versions("podplacementworks,fleetpodplacements");
  KillProgram("hub");
  StartHub();
  Kubectl("patch " + kForged + " --type=merge --patch", R"({"spec": {"adopt": true}})");
  Await(kForged, ".status.observedGeneration", Field(kForged, ".metadata.generation"));
  Kubectl("patch " + kForged + " --type=merge --patch", R"({"spec": {"adopt": false}})");
  Await(kForged, ".status.observedGeneration", Field(kForged, ".metadata.generation"));
  std::map<std::string, std::string> after = Versions("podplacementworks,fleetpodplacements");
  for (const char* object : {"PodPlacementWork c1/team.web", "PodPlacementWork c2/team.web",
                             "FleetPodPlacement team/web"})
    EXPECT_EQ(after.at(object), before.at(object)) << object;

  // c1 fails with the next objects: c2 keeps what it has.
  std::string hash = Field(Work("c2"), ".spec.hash");
  Kubectl("patch " + kWeb + " --type=merge --patch",
          R"({"spec": {"podPlacementConfigs": [{"metadata": {"name": "web", "namespace": "missing"},
              "spec": {"plugins": {"nodeAffinityScoring": {"enabled": true,
                "platforms": [{"architecture": "arm64", "weight": 9}]}}}}]}})");
  Await(kWeb, ".status.conditions[?(@.type==\"RolledOut\")].reason", "Stopped");
  EXPECT_EQ(Field(kWeb, ".status.failures[*].clusterName"), "c1");
  EXPECT_NE(Field(kWeb, ".status.failures[0].message").find("namespace does not exist"),
            std::string::npos);
  EXPECT_EQ(Field(Work("c2"), ".spec.hash"), hash);
  EXPECT_EQ(AwaitEvents("involvedObject.name=web,reason=RolloutStopped", "{.items[*].count}"), "1");

  // A deletion ends when the clusters are clean.
  Kubectl("delete --timeout=90s " + kWeb);
  EXPECT_FALSE(Exists("clusterpodplacementconfig/cluster"));
  EXPECT_FALSE(Exists(Work("c1")));
  EXPECT_FALSE(Exists(Work("c2")));
  ExpectRuns("hub");
  ExpectRuns("agent");
}

}  // namespace
}  // namespace e2e
