// SPDX-License-Identifier: Apache-2.0
// The hub's program as the owner of the membership, with exactly the rights that it needs for that,
// and the agent's program as a member, with exactly the access that the hub gives it, on a real API
// server. Skipped without KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "fleet/e2e/fleet_fixture.h"

namespace e2e {
namespace {

constexpr char kAccepted[] = "HubAcceptedManagedCluster";
constexpr char kAvailable[] = "ManagedClusterConditionAvailable";
constexpr char kAgentAccount[] = "system:serviceaccount:c1:multiarch-fleet-agent";
constexpr char kRollout[] =
    "{apiVersion: multiarch.openshift.io/v1alpha1, kind: FleetPodPlacement, "
    "metadata: {name: web, namespace: team}, spec: {placements: [{name: all}], "
    "podPlacementConfigs: [{metadata: {name: web, namespace: team}, spec: {plugins: "
    "{nodeAffinityScoring: {enabled: true, platforms: [{architecture: arm64, weight: 9}]}}}}]}}";
// Everything that the hub writes, except the decisions' owners.
constexpr char kWritten[] =
    "managedclusters,managedclustersets,managedclustersetbindings,placements,placementdecisions,"
    "serviceaccounts,rolebindings,clusterroles,clusterrolebindings,namespaces";

class FleetMembershipTest : public FleetFixture {
 protected:
  FleetMembershipTest()
      : FleetFixture({"fleet/manifests/hub/base/agent_role.yaml",
                      "fleet/manifests/hub/components/own-membership/hub_role.yaml",
                      "fleet/e2e/testdata/membership_objects.yaml"}) {}

  void StartOwningHub() { StartHubAs("hub", {"--membership=own", "--placements=all"}); }
  void StartAgent() {
    agent_kubeconfig_ = KubeconfigOf("multiarch-fleet-agent", "c1");
    FleetFixture::StartAgent(agent_kubeconfig_, plane().admin_kubeconfig());
  }
  void AwaitSelected(int clusters) {
    FleetFixture::AwaitSelected("all --namespace=team", clusters);
  }
  std::string Decisions() {
    return Kubectl("get placementdecisions --namespace=team --output",
                   "jsonpath={.items[*].status.decisions[*].clusterName}");
  }
  std::string RenewTime() {
    return Field("lease/managed-cluster-lease --namespace=c1", ".spec.renewTime");
  }
  // Waits until the agent has renewed its Lease `times`, two seconds each.
  void AwaitRenewals(int times) {
    for (; times > 0; --times)
      AwaitChange("lease/managed-cluster-lease --namespace=c1", ".spec.renewTime", RenewTime());
  }
  Finished AsAgent(const std::string& command) {
    return TryKubectl(command + " --kubeconfig=" + agent_kubeconfig_);
  }

  std::string agent_kubeconfig_;
};

TEST_F(FleetMembershipTest, OwnsTheLifeOfAMember) {
  StartOwningHub();
  Kubectl("create --filename", "fleet/e2e/testdata/membership_clusters.yaml");

  // Accepted: namespace, access and set. Not selected before the agent reports.
  AwaitCondition("managedcluster/c1", kAccepted, "True");
  AwaitCondition("managedcluster/c2", kAccepted, "True");
  EXPECT_EQ(Field("namespace/c1", R"(.metadata.labels.open-cluster-management\.io/cluster-name)"),
            "c1");
  const std::string set = R"(.metadata.labels.cluster\.open-cluster-management\.io/clusterset)";
  EXPECT_EQ(Field("managedcluster/c1", set), "default");
  EXPECT_NE(Field("managedcluster/c2", ".spec.taints[0].timeAdded"), "");
  AwaitCondition("managedclustersetbinding/default --namespace=team", "Bound", "True");
  AwaitCondition("managedclusterset/default", "ClusterSetEmpty", "False");
  AwaitCondition("managedclusterset/global", "ClusterSetEmpty", "False");
  AwaitSelected(0);

  // Refused or not accepted: nothing was written into namespaces of others.
  AwaitCondition("managedcluster/payments", kAccepted, "False");
  AwaitCondition("managedcluster/kube-system", kAccepted, "False");
  EXPECT_EQ(ConditionField("managedcluster/payments", kAccepted, "reason"), "NamespaceRefused");
  EXPECT_EQ(ConditionField("managedcluster/waiting", kAccepted, "reason"), "");
  for (const char* ns : {"payments", "kube-system", "waiting"}) {
    EXPECT_NE(TryKubectl("get serviceaccount multiarch-fleet-agent --namespace=" + std::string(ns))
                  .status,
              0)
        << ns;
    EXPECT_NE(TryKubectl("get clusterrole multiarch-fleet-agent:" + std::string(ns)).status, 0)
        << ns;
  }

  // The agent joins with what it was given.
  StartAgent();
  AwaitCondition("managedcluster/c1", kAvailable, "True");
  AwaitCondition("managedcluster/c1", "ManagedClusterJoined", "True");
  AwaitSelected(1);
  EXPECT_EQ(Decisions(), "c1");

  // Its token reaches its own namespace and nothing else.
  EXPECT_EQ(AsAgent("get podplacementworks --namespace=c1").status, 0);
  EXPECT_EQ(AsAgent("get managedcluster c1").status, 0);
  for (const char* call :
       {"get podplacementworks --namespace=c2", "get podplacementworks --all-namespaces",
        "get addonplacementscores multiarch --namespace=c2", "get managedcluster c2",
        "get managedclusters", "get secrets --namespace=c1", "get pods --namespace=c1",
        "label managedcluster c1 stolen=1", "label managedcluster c2 stolen=1",
        "create token multiarch-fleet-agent --namespace=c2", "create token default --namespace=c1",
        "create namespace stolen"}) {
    Finished finished = AsAgent(call);
    EXPECT_NE(finished.status, 0) << call;
    EXPECT_NE(finished.output.find("orbidden"), std::string::npos) << call << finished.output;
  }
  EXPECT_EQ(AsAgent("create token multiarch-fleet-agent --namespace=c1").status, 0);
  for (const char* what :
       {"patch managedclusters/c2 --subresource=status", "create leases --namespace=c2",
        "patch leases/managed-cluster-lease --namespace=c2", "patch podplacementworks -n c2",
        "create addonplacementscores --namespace=c2", "create rolebindings --namespace=c1",
        "update managedclusters/c1", "delete managedclusters/c1",
        "delete podplacementworks --namespace=c1"}) {
    EXPECT_NE(TryKubectl("auth can-i " + std::string(what) + " --as=" + kAgentAccount).status, 0)
        << what;
  }

  // At rest nothing is written, not even by the next leader.
  AwaitCondition("managedclusterset/default", "ClusterSetEmpty", "False");
  AwaitRenewals(7);
  std::map<std::string, std::string> versions = Versions(kWritten);
  ASSERT_TRUE(versions.contains("ManagedCluster /c1"));
  AwaitRenewals(3);
  EXPECT_EQ(Versions(kWritten), versions);
  KillProgram("hub");
  StartOwningHub();
  Kubectl("create --filename", File("later.yaml",
                                    "{apiVersion: cluster.open-cluster-management.io/v1beta2, "
                                    "kind: ManagedClusterSet, metadata: {name: later}}"));
  AwaitCondition("managedclusterset/later", "ClusterSetEmpty", "True");
  AwaitRenewals(2);
  Kubectl("delete managedclusterset later");
  EXPECT_EQ(Versions(kWritten), versions);

  // Silent: unreachable, and no Placement selects it. Back when the agent is.
  KillProgram("agent");
  AwaitCondition("managedcluster/c1", kAvailable, "Unknown");
  AwaitSelected(0);
  EXPECT_EQ(Field("managedcluster/c1", ".spec.taints[0].key"),
            "cluster.open-cluster-management.io/unreachable");
  StartAgent();
  AwaitCondition("managedcluster/c1", kAvailable, "True");
  AwaitSelected(1);

  // Deleted objects of the access come back.
  Kubectl("delete rolebinding multiarch-fleet-agent --namespace=c1");
  Await("rolebinding/multiarch-fleet-agent --namespace=c1", ".roleRef.name",
        "multiarch-fleet-agent");

  // Denied: its tokens are void.
  Kubectl("patch managedcluster c1 --type=merge --patch",
          R"({"spec": {"hubAcceptsClient": false}})");
  AwaitCondition("managedcluster/c1", kAccepted, "False");
  AwaitSelected(0);
  EXPECT_NE(TryKubectl("get serviceaccount multiarch-fleet-agent --namespace=c1").status, 0);
  EXPECT_NE(AsAgent("get podplacementworks --namespace=c1").status, 0);

  // Deleted while its agent lives: what was rolled out to it goes first.
  Kubectl("patch managedcluster c1 --type=merge --patch",
          R"({"spec": {"hubAcceptsClient": true}})");
  AwaitCondition("managedcluster/c1", kAccepted, "True");
  StartAgent();
  AwaitCondition("managedcluster/c1", kAvailable, "True");
  Kubectl("create --filename", File("rollout.yaml", kRollout));
  const std::string config = "podplacementconfig/web --namespace=team";
  Kubectl("wait --timeout=60s --for=create " + config);
  Kubectl("delete managedcluster c1 --timeout=60s");
  EXPECT_NE(TryKubectl("get " + config).status, 0);

  // After the deletion nothing is left.
  Kubectl("delete managedcluster c2 payments kube-system --timeout=60s");
  Kubectl("wait --timeout=60s --for=delete namespace/c1 namespace/c2");
  EXPECT_EQ(Kubectl("get clusterroles,clusterrolebindings --selector="
                    "open-cluster-management.io/cluster-name --output=name"),
            "");
  EXPECT_EQ(Field("namespace/payments", ".status.phase"), "Active");

  ExpectNothingForbidden("hub");
}

}  // namespace
}  // namespace e2e
