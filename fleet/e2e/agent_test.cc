// SPDX-License-Identifier: Apache-2.0
// The agent's program on a real API server, which is both its hub and its member, with exactly the
// rights that fleet/agent/README.md lists. Skipped without KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <string>

#include "fleet/e2e/fleet_fixture.h"

namespace e2e {
namespace {

constexpr char kRights[] = "fleet/e2e/testdata/agent_rights.yaml";
constexpr char kObjects[] = "fleet/e2e/testdata/agent_objects.yaml";
constexpr char kNode[] =
    "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/arch: arm64}}}";
constexpr char kForeign[] =
    "{apiVersion: multiarch.openshift.io/v1beta1, kind: PodPlacementConfig, "
    "metadata: {name: web, namespace: default}, spec: {priority: 1, plugins: "
    "{nodeAffinityScoring: {enabled: true, platforms: [{architecture: arm64, weight: 9}]}}}}";

class FleetAgentTest : public FleetFixture {
 protected:
  FleetAgentTest() : FleetFixture({kRights, kObjects}) {}

  void CreateNode() {
    Kubectl("create --filename", File("node.yaml", kNode));
    Kubectl("patch node n1 --subresource=status --type=merge --patch",
            R"({"status": {"capacity": {"cpu": "128", "memory": "512Gi"},
                "allocatable": {"cpu": "128", "memory": "512Gi"},
                "conditions": [{"type": "Ready", "status": "True"}]}})");
  }
};

TEST_F(FleetAgentTest, PublishesAndApplies) {
  CreateNode();
  StartAgent(KubeconfigOf("hub-side"), KubeconfigOf("member-side"));

  // Publishes.
  AwaitCondition("managedcluster/c1", "ManagedClusterConditionAvailable");
  Await("managedcluster/c1", ".status.capacity.cpu", "128");
  EXPECT_EQ(Field("managedcluster/c1", ".status.clusterClaims[*].name"),
            "arm64.multiarch.openshift.io");
  EXPECT_EQ(Field("managedcluster/c1", ".status.version.kubernetes").substr(0, 2), "v1");
  Await("addonplacementscore/multiarch --namespace=c1",
        ".status.scores[?(@.name==\"arm64.cpu\")].value", "50");
  std::string renewed = Field("lease/managed-cluster-lease --namespace=c1", ".spec.renewTime");
  EXPECT_NE(renewed, "");

  // Applies. Nothing but the agent sets Available here.
  Await("podplacementwork/team.web --namespace=c1", ".status.phase", "Progressing");
  EXPECT_EQ(Field("clusterpodplacementconfig/cluster", ".spec.logVerbosity"), "Debug");
  EXPECT_EQ(Field("podplacementconfig/web", ".spec.labelSelector.matchLabels.app"), "web");
  SetAvailable("clusterpodplacementconfig/cluster");
  SetAvailable("podplacementconfig/web");
  Await("podplacementwork/team.web --namespace=c1", ".status.phase", "Succeeded");
  EXPECT_EQ(Field("podplacementwork/team.web --namespace=c1", ".status.hash"), "h1");

  // A field and an object that left the work are removed.
  Kubectl("patch podplacementwork team.web --namespace=c1 --type=merge --patch",
          R"({"spec": {"hash": "h2", "objects": [
              {"apiVersion": "multiarch.openshift.io/v1beta1", "kind": "PodPlacementConfig",
               "metadata": {"name": "web", "namespace": "default"}, "spec": {"priority": 8, "plugins": {"nodeAffinityScoring": {"enabled": true,
                 "platforms": [{"architecture": "arm64", "weight": 9}]}}}}]}})");
  Kubectl("wait --timeout=60s clusterpodplacementconfig/cluster --for=delete");
  Await("podplacementconfig/web", ".spec.priority", "8");
  EXPECT_EQ(Field("podplacementconfig/web", ".spec.labelSelector"), "");
  Await("podplacementwork/team.web --namespace=c1", ".status.hash", "h2");

  // The change of another client is reverted, a foreign object stays.
  Kubectl("patch podplacementconfig web --type=merge --patch", R"({"spec": {"priority": 9}})");
  Await("podplacementconfig/web", ".spec.priority", "8");
  Kubectl("delete podplacementwork team.web --namespace=c1 --timeout=60s");
  EXPECT_NE(TryKubectl("get podplacementconfig web").status, 0);
  Kubectl("create --filename", File("foreign.yaml", kForeign));
  Kubectl("apply --filename", kObjects);
  Await("podplacementwork/team.web --namespace=c1", ".status.conditions[0].reason", "Conflict");
  EXPECT_EQ(Field("podplacementconfig/web", ".spec.priority"), "1");

  // The Lease is renewed, and the token reaches nothing of another cluster.
  AwaitChange("lease/managed-cluster-lease --namespace=c1", ".spec.renewTime", renewed);
  std::string as = " --as=system:serviceaccount:default:hub-side";
  for (const char* what : {"get podplacementworks.multiarch.openshift.io --namespace=c2",
                           "patch addonplacementscores/status --namespace=c2",
                           "get managedclusters/c2", "get secrets --namespace=c1"}) {
    EXPECT_NE(TryKubectl("auth can-i " + std::string(what) + as).status, 0) << what;
  }
  ExpectNothingForbidden("agent");
}

}  // namespace
}  // namespace e2e
