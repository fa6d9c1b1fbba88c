// SPDX-License-Identifier: Apache-2.0
// The tools of fleet/deploy on a real API server, which is both hub and member, and the programs of
// hub and agent with exactly the rights that the tools install: a cluster joins, is selected, gets
// a rollout, renews its token and leaves. A stolen token of the agent reaches nothing else and does
// not change what was rolled out, and one of the hub changes no rights but those of agents. Skipped
// without KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "fleet/e2e/fleet_fixture.h"
#include "kube/base/base64.h"
#include "kube/client/read_file.h"
#include "kube/codec/yaml.h"

namespace e2e {
namespace {

constexpr char kObjects[] = "fleet/e2e/testdata/deploy_objects.yaml";
constexpr char kBinding[] =
    "{apiVersion: cluster.open-cluster-management.io/v1beta2, kind: ManagedClusterSetBinding, "
    "metadata: {name: default, namespace: team}, spec: {clusterSet: default}}";
// ManagedClusters of a user who may write them.
constexpr char kAccepted[] =
    "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: "
    "c2}, spec: {hubAcceptsClient: true}}";
constexpr char kWaiting[] =
    "{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: "
    "c2}, spec: {}}";
constexpr char kHubAccount[] = "system:serviceaccount:multiarch-fleet:multiarch-fleet-hub";
// Calls that the hub's limits (multiarch-fleet-hub-limits) deny to that account although RBAC
// allows them. The namespace c1 is a member's, but was not created by the hub.
constexpr char kHubDenied[] = "fleet/e2e/testdata/hub_denied.yaml";
constexpr const char* kHubDeniedCalls[] = {
    "delete clusterrole/cluster-admin",
    "delete clusterrolebinding/cluster-admin",
    "delete namespace/team",
    "delete namespace/c1",
    "create namespace stolen",
};
// The denial of the policy, not the failure of an expression.
constexpr char kHubLimits[] = "denied request: a hub may ";
constexpr char kAgent[] = "multiarch-fleet-agent";
// Patches of the work that c1 has, which the agents' limits (multiarch-fleet-agent-limits) deny to
// the agent's account although RBAC allows them; and those that its agent needs.
constexpr const char* kDeniedPatches[] = {
    // Undeletable.
    R"({"metadata": {"finalizers": ["example.com/kept"]}})",
    R"({"metadata": {"finalizers": ["fleet.multiarch.openshift.io/applied-objects", "a.io/b"]}})",
    // Deleted by the garbage collector.
    R"({"metadata": {"ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}]}})",
    // Lost to the hub.
    R"({"metadata": {"labels": {"fleet.multiarch.openshift.io/name": null}}})",
    R"({"metadata": {"labels": {"fleet.multiarch.openshift.io/name": "other"}}})",
    R"({"metadata": {"labels": {"example.com/added": "1"}}})",
    R"({"metadata": {"annotations": {"example.com/added": "1"}}})",
    // A rollout that waits for ever.
    R"({"spec": {"givenAt": "2999-01-01T00:00:00Z"}})",
    R"({"spec": {"hash": "other"}})",
    R"({"spec": {"deletionPolicy": "Orphan"}})",
    R"({"spec": {"objects": []}})",
};
constexpr const char* kAllowedPatches[] = {
    R"({"metadata": {"finalizers": ["fleet.multiarch.openshift.io/applied-objects"]}})",
    R"({"metadata": {"finalizers": null}})",
};
// What that account may not create in c1, although RBAC allows it.
constexpr const char* kDeniedObjects[] = {
    R"({"apiVersion": "cluster.open-cluster-management.io/v1alpha1", "kind": "AddOnPlacementScore",
        "metadata": {"name": "another", "namespace": "c1"}})",
    R"({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "another", "namespace": "c1"}})",
    R"({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "multiarch-fleet-agent", "namespace": "c1"}})",
};
constexpr char kDeniedLeasePatch[] = R"({"metadata": {"finalizers": ["example.com/kept"]}})";
constexpr char kAgentLimits[] = "denied request: an agent may ";
constexpr char kSecret[] = "secret/multiarch-fleet-hub --namespace=multiarch-fleet-member";
constexpr char kRenewAfter[] =
    R"(.metadata.annotations.fleet\.multiarch\.openshift\.io/renew-token-after)";

// What a token of c1's agent may do on the hub, in kubectl's words.
constexpr const char* kAllowed[] = {
    "get managedclusters/c1",
    "patch managedclusters/c1 --subresource=status",
    "list podplacementworks --namespace=c1",
    "patch podplacementworks --subresource=status --namespace=c1",
    "create addonplacementscores --namespace=c1",
    "patch leases/managed-cluster-lease --namespace=c1",
    "create serviceaccounts/multiarch-fleet-agent --subresource=token --namespace=c1",
};
constexpr const char* kDenied[] = {
    "list managedclusters",
    "get managedclusters/c2",
    "patch managedclusters/c1",
    "patch managedclusters/c2 --subresource=status",
    "delete managedclusters/c1",
    "create podplacementworks --namespace=c1",
    "delete podplacementworks --namespace=c1",
    "list podplacementworks --namespace=c2",
    "patch podplacementworks --subresource=status --namespace=c2",
    "patch addonplacementscores --subresource=status --namespace=c2",
    "patch leases/managed-cluster-lease --namespace=c2",
    "patch leases/multiarch-fleet-hub --namespace=multiarch-fleet",
    "create serviceaccounts/default --subresource=token --namespace=c1",
    "create serviceaccounts/multiarch-fleet-agent --subresource=token --namespace=c2",
    "create serviceaccounts/multiarch-fleet-hub --subresource=token --namespace=multiarch-fleet",
    "get secrets --namespace=c1",
    "list secrets --all-namespaces",
    "get secrets --namespace=multiarch-fleet-member",
    "create rolebindings --namespace=c1",
    "bind clusterroles/multiarch-fleet-agent",
    "create pods --namespace=c1",
    "list placements --namespace=team",
    "list placementdecisions --all-namespaces",
    "patch fleetpodplacements --namespace=team",
    "list nodes",
    "list namespaces",
    "create tokenreviews",
};

class FleetDeployTest : public FleetFixture {
 protected:
  // The tool installs the CRDs of the fleet.
  FleetDeployTest() : FleetFixture({}, {"api/crds"}) {}

  Finished TryTool(const std::string& name, std::vector<std::string> args) {
    args.push_back("--timeout=60");
    const bool of_member = name == "join" || name == "leave";
    const std::string folder = of_member ? "fleet/standalone/deploy/" : "fleet/deploy/";
    auto finished = RunToEnd({.path = folder + name,
                              .args = std::move(args),
                              .env = {{"KUBECONFIG", plane().admin_kubeconfig()}}},
                             std::chrono::seconds(90));
    EXPECT_TRUE(finished) << finished.error();
    return finished ? *finished : Finished{.status = 1};
  }
  std::string Tool(const std::string& name, std::vector<std::string> args) {
    Finished finished = TryTool(name, std::move(args));
    EXPECT_EQ(finished.status, 0) << name << "\n" << finished.output << LogOf("hub");
    return finished.output;
  }
  std::string HubFlag() { return "--hub-kubeconfig=" + plane().admin_kubeconfig(); }
  void Join() {
    Tool("join", {HubFlag(), "--hub-server=" + plane().url(), "--name=c1", "--labels=region=eu",
                  "--wait=false"});
  }

  void StartDeployedHub() {
    StartHubAs("multiarch-fleet-hub", {"--membership=own", "--placements=all"});
  }
  // With the files of the Secret, as its pods have them.
  void StartDeployedAgent() {
    for (const char* key : {"kubeconfig", "token"}) {
      auto content = kube::Base64Decode(Field(kSecret, ".data." + std::string(key)));
      ASSERT_TRUE(content) << content.error();
      File(key, *content);
    }
    const std::string ns = "multiarch-fleet-member";
    StartAgent(folder() + "/kubeconfig", KubeconfigOf("multiarch-fleet-agent", ns), ns,
               {"--hub-secret=multiarch-fleet-hub"});
  }
  // Whether the agent's token may do this on the hub.
  bool AgentMay(const std::string& what) {
    return TryKubectl("auth can-i " + what + " --kubeconfig=" + folder() + "/kubeconfig").status ==
           0;
  }
  void AwaitAvailable() { AwaitCondition("managedcluster/c1", "ManagedClusterConditionAvailable"); }
  void Leave() {
    KillProgram("agent");
    Tool("leave", {HubFlag(), "--name=c1"});
    EXPECT_FALSE(Exists("managedcluster/c1"));
    EXPECT_FALSE(Exists("namespace/multiarch-fleet-member"));
  }
  // `command` and `last` as for TryKubectl(); `why` is part of the denial.
  void ExpectDenied(const std::string& command, const std::string& last, const std::string& why) {
    Finished denied = TryKubectl(command, last);
    EXPECT_NE(denied.status, 0) << command << "\n" << last;
    EXPECT_NE(denied.output.find(why), std::string::npos) << command << "\n"
                                                          << last << "\n"
                                                          << denied.output;
  }
  // The same for the first call of a policy, which is in force some time after it is stored.
  void AwaitDenied(const std::string& command, const std::string& last, const std::string& why) {
    AwaitTrue(why, [&] {
      const Finished tried = TryKubectl(command + " --dry-run=server", last);
      return tried.output.find(why) != std::string::npos;
    });
    ExpectDenied(command, last, why);
  }

  // OCM's CRDs belong to another tool, and its membership gives this product's agent no access.
  void JoinAHubOfOcm() {
    const std::string crd = "crd/managedclusters.cluster.open-cluster-management.io";
    Kubectl("create --filename", "fleet/api/crds/managedclusters.yaml");
    std::string generation = Field(crd, ".metadata.generation");
    std::string output = Tool("deploy_hub", {"--wait=false"});
    EXPECT_NE(output.find("kept CustomResourceDefinition managedclusters.cluster"),
              std::string::npos)
        << output;
    EXPECT_EQ(Field(crd, ".metadata.generation"), generation);
    EXPECT_FALSE(Exists("validatingadmissionpolicy/multiarch-fleet-set-binding"));
    Kubectl("wait --for=condition=Established customresourcedefinitions --all");
    Join();
    StartDeployedAgent();
    AwaitAvailable();
    ExpectNothingForbidden("agent");

    // Errors are named before anything is written.
    Finished twice = TryTool("join", {HubFlag(), "--hub-server=" + plane().url(), "--name=c9"});
    EXPECT_NE(twice.status, 0);
    EXPECT_NE(twice.output.find("a member by the name c1"), std::string::npos) << twice.output;
    Finished local = TryTool("join", {HubFlag(), "--name=c1"});
    EXPECT_NE(local.output.find("--hub-server"), std::string::npos) << local.output;
    Leave();
  }
  // A tenant needs the right to bind a set; the administrator binds the set global.
  void BindASet() {
    Kubectl("create --filename", kObjects);
    const std::string file = "--filename=" + File("binding.yaml", kBinding);
    const std::string as_tenant = "create --as=system:serviceaccount:team:tenant";
    AwaitDenied(as_tenant, file, "managedclustersets/bind");
    Kubectl(
        "create clusterrole bind-default --verb=create --resource=managedclustersets/bind "
        "--resource-name=default");
    Kubectl(
        "create clusterrolebinding bind-default --clusterrole=bind-default "
        "--serviceaccount=team:tenant");
    Finished bound = TryKubectl(as_tenant, file);
    EXPECT_EQ(bound.status, 0) << bound.output;
  }
  // Accepting a ManagedCluster requires one more permission than writing it. The hub then gives
  // access to a member that has nothing yet, and removes it: its limits allow all that it needs.
  void AcceptAMember() {
    const std::string as_registrar = " --as=system:serviceaccount:team:registrar";
    const std::string why = "managedclusters/accept";
    AwaitDenied("create" + as_registrar, "--filename=" + File("accepted.yaml", kAccepted), why);
    Kubectl("create" + as_registrar, "--filename=" + File("waiting.yaml", kWaiting));
    const std::string patch = "patch managedcluster/c2 --type=merge" + as_registrar + " --patch";
    const std::string accept = R"({"spec": {"hubAcceptsClient": true}})";
    ExpectDenied(patch, accept, why);
    Kubectl(patch, R"({"metadata": {"labels": {"zone": "b"}}})");
    Kubectl(
        "create clusterrolebinding accept-c2 --clusterrole=accept-c2 "
        "--serviceaccount=team:registrar");
    Kubectl(patch, accept);
    // The permission is not checked again.
    Kubectl("delete clusterrolebinding/accept-c2");
    const std::string move =
        R"({"metadata": {"labels": {"cluster.open-cluster-management.io/clusterset": "prod"}}})";
    ExpectDenied(patch, move, "managedclustersets/join");
    Kubectl(
        "create clusterrolebinding move-clusters --clusterrole=move-clusters "
        "--serviceaccount=team:registrar");
    Kubectl(patch, move);
    Kubectl(patch, R"({"metadata": {"labels": {"zone": "a"}}})");

    AwaitCondition("managedcluster/c2", "HubAcceptedManagedCluster");
    EXPECT_TRUE(Exists("clusterrolebinding/multiarch-fleet-agent:c2"));
    EXPECT_TRUE(Exists("rolebinding/multiarch-fleet-agent --namespace=c2"));
    Kubectl("delete managedcluster/c2 --timeout=60s");
    Kubectl("wait --timeout=60s --for=delete namespace/c2");
    EXPECT_FALSE(Exists("clusterrole/multiarch-fleet-agent:c2"));
  }
  // Calls of the agent's account, or of who has stolen its token.
  void TryAsTheAgent() {
    const std::string work = "podplacementwork/team.web --namespace=c1";
    Kubectl("wait --timeout=60s --for=create " + work);
    // kubectl reads what it patches.
    Kubectl("create role read --namespace=c1 --verb=get --resource=podplacementworks,leases");
    Kubectl("create rolebinding read --namespace=c1 --role=read --serviceaccount=c1:" +
            std::string(kAgent));
    const std::string as_agent =
        " --dry-run=server --as=system:serviceaccount:c1:" + std::string(kAgent);
    const std::string patch = "patch " + work + as_agent + " --type=merge --patch";
    for (const char* change : kDeniedPatches) ExpectDenied(patch, change, kAgentLimits);
    for (const char* change : kAllowedPatches) Kubectl(patch, change);
    for (const char* object : kDeniedObjects)
      ExpectDenied("create --validate=false" + as_agent + " --filename",
                   File("denied.json", object), kAgentLimits);
    const std::string lease = "lease/managed-cluster-lease --namespace=c1";
    ExpectDenied("patch " + lease + as_agent + " --type=merge --patch", kDeniedLeasePatch,
                 kAgentLimits);
    const std::string token = "create token " + std::string(kAgent) + " --namespace=c1 --duration=";
    const std::string by_agent = " --as=system:serviceaccount:c1:" + std::string(kAgent);
    ExpectDenied(token + "168h1s" + by_agent, "", kAgentLimits);
    Kubectl(token + "168h" + by_agent);
    // Other users are not limited.
    Kubectl("patch " + work + " --dry-run=server --type=merge --patch", kDeniedPatches[0]);
    Kubectl(token + "1000h");
  }
  // Every call is a dry run.
  void TryAsTheHub() {
    const std::string as_hub = std::string(" --dry-run=server --as=") + kHubAccount;
    const std::string apply =
        "apply --server-side --force-conflicts --validate=false" + as_hub + " --filename";
    auto text = kube::ReadFile(kHubDenied);
    ASSERT_TRUE(text) << text.error();
    auto objects = kube::ParseYamlDocuments(*text);
    ASSERT_TRUE(objects) << objects.error();
    ASSERT_GT(objects->size(), 10u);
    for (const kube::Json& object : *objects) {
      const std::string json = kube::DumpJson(object);
      SCOPED_TRACE(json);
      ExpectDenied(apply, File("denied.json", json), kHubLimits);
    }
    for (const char* call : kHubDeniedCalls) ExpectDenied(call + as_hub, "", kHubLimits);
    // The hub may delete its own objects of the same kinds.
    Kubectl("delete clusterrolebinding/multiarch-fleet-agent:c1" + as_hub);
    Kubectl("delete clusterrole/multiarch-fleet-agent:c1" + as_hub);
    // Other users are not limited.
    Kubectl("delete clusterrole/view namespace/team --dry-run=server");
  }
};

TEST_F(FleetDeployTest, AClusterJoinsIsSelectedAndLeaves) {
  JoinAHubOfOcm();
  Tool("deploy_hub", {"--membership=own", "--placements=all", "--wait=false"});
  BindASet();
  StartDeployedHub();
  AcceptAMember();
  Join();
  StartDeployedAgent();
  AwaitAvailable();
  AwaitSelected("all --namespace=team", 1);
  std::string text = Tool("explain", {"--placement=team/all"});
  EXPECT_NE(text.find("c1: selected, rank 1 of 1"), std::string::npos) << text;
  text = Tool("explain", {"--placement=team/none", "--cluster=c1"});
  EXPECT_NE(text.find("c1: rejected by Predicate"), std::string::npos) << text;

  // A stolen token.
  for (const char* what : kAllowed) EXPECT_TRUE(AgentMay(what)) << what;
  for (const char* what : kDenied) EXPECT_FALSE(AgentMay(what)) << what;

  TryAsTheAgent();
  TryAsTheHub();

  // The token is renewed; the new one works.
  const std::string old_time = "2026-01-01T00:00:00Z";
  Kubectl("annotate --overwrite " + std::string(kSecret),
          "fleet.multiarch.openshift.io/renew-token-after=" + old_time);
  std::string old_token = Field(kSecret, ".data.token");
  StartDeployedAgent();
  AwaitChange(kSecret, kRenewAfter, old_time);
  EXPECT_NE(Field(kSecret, ".data.token"), old_token);
  StartDeployedAgent();
  EXPECT_TRUE(AgentMay("list podplacementworks --namespace=c1"));
  ExpectNothingForbidden("hub");
  ExpectNothingForbidden("agent");

  // Leaves.
  Leave();
  EXPECT_FALSE(Exists("clusterrole/multiarch-fleet-agent:c1"));
  EXPECT_FALSE(AgentMay("list podplacementworks --namespace=c1")) << "the token is void";
  AwaitSelected("all --namespace=team", 0);
  ExpectNothingForbidden("hub");

  // The hub goes, and keeps what users have.
  KillProgram("hub");
  Tool("undeploy_hub", {});
  EXPECT_FALSE(Exists("namespace/multiarch-fleet"));
  EXPECT_FALSE(Exists("clusterrole/multiarch-fleet-hub"));
  EXPECT_TRUE(Exists("placement/all --namespace=team"));
}

}  // namespace
}  // namespace e2e
