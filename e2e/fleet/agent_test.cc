// SPDX-License-Identifier: Apache-2.0
// The agent's program on a real API server, which is both its hub and its member, with exactly the
// rights that fleet/agent/README.md lists. Skipped without KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/control_plane.h"
#include "e2e/cluster_harness/own_network.h"

namespace e2e {
namespace {

constexpr char kRights[] = "e2e/fleet/testdata/agent_rights.yaml";
constexpr char kObjects[] = "e2e/fleet/testdata/agent_objects.yaml";
constexpr char kAgent[] = "fleet/agent/agent";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class FleetAgentTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string assets = Variable("KUBEBUILDER_ASSETS");
    if (assets.empty()) GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: there is no control plane";
    folder_ = Variable("TEST_TMPDIR") + "/hub";
    std::filesystem::create_directories(folder_);
    kube::Result<> network = EnterOwnNetwork();
    ASSERT_TRUE(network) << network.error();
    auto plane = ControlPlane::Start({.assets = assets, .folder = folder_});
    ASSERT_TRUE(plane) << plane.error();
    plane_ = std::move(*plane);
    ASSERT_TRUE(Ready());
    for (const char* crds : {"fleet/api/crds", "api/crds"}) {
      for (const auto& file : std::filesystem::directory_iterator(crds)) {
        if (file.path().filename() != "kustomization.yaml")
          Kubectl("create --filename", file.path());
      }
    }
    Kubectl("wait --for=condition=Established customresourcedefinitions --all");
    Kubectl("apply --filename", kRights);
    Kubectl("apply --filename", kObjects);
    Kubectl("create --filename", NodeFile());
    Kubectl("patch node n1 --subresource=status --type=merge --patch",
            R"({"status": {"capacity": {"cpu": "128", "memory": "512Gi"},
                "allocatable": {"cpu": "128", "memory": "512Gi"},
                "conditions": [{"type": "Ready", "status": "True"}]}})");
  }

  // The output; an empty one, and a failure of the test, if kubectl fails. `last` is one argument.
  std::string Kubectl(const std::string& command, const std::string& last = "") {
    Finished finished = Run(command, last);
    EXPECT_EQ(finished.status, 0) << command << " " << last << "\n"
                                  << finished.output << AgentLog();
    return finished.status == 0 ? finished.output : "";
  }
  Finished Run(const std::string& command, const std::string& last) {
    std::vector<std::string> args = {"--kubeconfig=" + plane_->admin_kubeconfig()};
    for (size_t begin = 0; begin < command.size();) {
      size_t end = std::min(command.find(' ', begin), command.size());
      args.push_back(command.substr(begin, end - begin));
      begin = end + 1;
    }
    if (!last.empty()) args.push_back(last);
    auto finished =
        RunToEnd({.path = Variable("KUBEBUILDER_ASSETS") + "/kubectl", .args = std::move(args)},
                 std::chrono::seconds(100));
    EXPECT_TRUE(finished) << finished.error() << AgentLog();
    return finished ? *finished : Finished{.status = 1};
  }
  bool Ready() {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (std::chrono::steady_clock::now() < deadline) {
      if (Run("get namespace default", "").status == 0) return true;
      kube::Result<> run = plane_->AllRun();
      EXPECT_TRUE(run) << run.error();
      if (!run) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return false;
  }
  std::string NodeFile() {
    std::string file = folder_ + "/node.yaml";
    kube::Result<> written = WriteFile(file,
                                       "{apiVersion: v1, kind: Node, metadata: {name: n1, "
                                       "labels: {kubernetes.io/arch: arm64}}}");
    EXPECT_TRUE(written) << written.error();
    return file;
  }
  std::string ForeignFile() {
    std::string file = folder_ + "/foreign.yaml";
    kube::Result<> written = WriteFile(
        file,
        "{apiVersion: multiarch.openshift.io/v1beta1, kind: PodPlacementConfig, "
        "metadata: {name: web, namespace: default}, spec: {priority: 1, plugins: "
        "{nodeAffinityScoring: {enabled: true, platforms: [{architecture: arm64, weight: 9}]}}}}");
    EXPECT_TRUE(written) << written.error();
    return file;
  }
  // A kubeconfig of the ServiceAccount.
  std::string KubeconfigOf(const std::string& account) {
    std::string token_file = folder_ + "/" + account + ".token";
    std::string path = folder_ + "/" + account + ".kubeconfig";
    kube::Result<> written = WriteFile(token_file, Kubectl("create token " + account));
    EXPECT_TRUE(written) << written.error();
    written = plane_->WriteKubeconfig(path, token_file);
    EXPECT_TRUE(written) << written.error();
    return path;
  }
  void StartAgent() {
    auto agent = ChildProcess::Start(
        {.path = kAgent,
         .args = {"--cluster=c1", "--hub-kubeconfig=" + KubeconfigOf("hub-side"),
                  "--kubeconfig=" + KubeconfigOf("member-side"), "--namespace=default"},
         .log_file = folder_ + "/agent.log"});
    ASSERT_TRUE(agent) << agent.error();
    agent_ = std::move(*agent);
  }
  std::string AgentLog() { return "\nagent:\n" + TailOfFile(folder_ + "/agent.log"); }

  void Await(const std::string& object, const std::string& path, const std::string& value) {
    Kubectl("wait --timeout=60s " + object, "--for=jsonpath={" + path + "}=" + value);
  }
  std::string Field(const std::string& object, const std::string& path) {
    return Kubectl("get " + object + " --output", "jsonpath={" + path + "}");
  }
  void SetAvailable(const std::string& object) {
    Kubectl("patch " + object + " --subresource=status --type=merge --patch",
            R"({"status": {"conditions": [{"type": "Available", "status": "True", "reason": "Test",
                "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})");
  }

  std::string folder_;
  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<ChildProcess> agent_;
};

TEST_F(FleetAgentTest, PublishesAndApplies) {
  StartAgent();

  // Publishes.
  Kubectl(
      "wait --timeout=60s managedcluster/c1 --for=condition=ManagedClusterConditionAvailable=True");
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
  EXPECT_NE(Run("get podplacementconfig web", "").status, 0);
  Kubectl("create --filename", ForeignFile());
  Kubectl("apply --filename", kObjects);
  Await("podplacementwork/team.web --namespace=c1", ".status.conditions[0].reason", "Conflict");
  EXPECT_EQ(Field("podplacementconfig/web", ".spec.priority"), "1");

  // The Lease is renewed, and the token reaches nothing of another cluster.
  EXPECT_NE(Field("lease/managed-cluster-lease --namespace=c1", ".spec.renewTime"), renewed);
  std::string as = " --as=system:serviceaccount:default:hub-side";
  for (const char* what : {"get podplacementworks.multiarch.openshift.io --namespace=c2",
                           "patch addonplacementscores/status --namespace=c2",
                           "get managedclusters/c2", "get secrets --namespace=c1"}) {
    EXPECT_NE(Run("auth can-i " + std::string(what) + as, "").status, 0) << what;
  }
  EXPECT_EQ(TailOfFile(folder_ + "/agent.log", 1 << 20).find("forbidden"), std::string::npos)
      << AgentLog();
  EXPECT_EQ(agent_->ExitStatus(), std::nullopt) << AgentLog();
}

}  // namespace
}  // namespace e2e
