// SPDX-License-Identifier: Apache-2.0
// A rollout by ManifestWorks on a real API server, with the hub's program and exactly the rights of
// its manifests. The API server is the hub, and the members c1 and c2. OCM's work agent is played
// by kubectl: it applies the manifests server-side as their configs say, reads what the feedback
// rules name, and answers with the conditions of OCM's agent. Skipped without KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "fleet/e2e/fleet_fixture.h"
#include "kube/types/unstructured.h"

namespace e2e {
namespace {

using kube::Json;

constexpr char kObjects[] = "fleet/e2e/testdata/rollout_objects.yaml";
constexpr char kReason[] = ".status.conditions[?(@.type==\"RolledOut\")].reason";
const std::string kWeb = "fleetpodplacement/web --namespace=team";

class FleetManifestWorkTest : public FleetFixture {
 protected:
  FleetManifestWorkTest()
      : FleetFixture({}, {"fleet/api/crds", "api/crds", "fleet/e2e/testdata/ocm_crds"}) {}
  void SetUp() override {
    FleetFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    for (const char* ns : {"c1", "c2", "multiarch-fleet"})
      Kubectl("create namespace " + std::string(ns));
    Kubectl("apply --filename", "fleet/manifests/hub/base/rbac.yaml");
    Kubectl("apply --filename", "fleet/manifests/hub/components/manifest-works/rights.yaml");
    Kubectl("apply --filename", kObjects);
  }

  static std::string Work(const std::string& cluster) {
    return "manifestwork/team.web --namespace=" + cluster;
  }

  // One pass of the work agent of the cluster.
  void RunWorkAgent(const std::string& cluster) {
    Kubectl("patch " + Work(cluster) + " --type=merge --patch",
            R"({"metadata": {"finalizers":
                ["cluster.open-cluster-management.io/manifest-work-cleanup"]}})");
    kube::Result<Json> work = kube::ParseJson(Kubectl("get " + Work(cluster) + " --output=json"));
    ASSERT_TRUE(work) << work.error();
    generation_ = kube::IntAt(*work, "metadata.generation");
    const Json* manifests = kube::Find(*work, "spec.workload.manifests");
    const Json* configs = kube::Find(*work, "spec.manifestConfigs");
    ASSERT_TRUE(manifests != nullptr && configs != nullptr) << *work;
    ASSERT_EQ(manifests->size(), configs->size());
    Json reports = Json::array();
    bool applied = true;
    for (size_t i = 0; i < manifests->size(); ++i) {
      reports.push_back(Apply((*manifests)[i], (*configs)[i]));
      applied = applied && reports.back()["conditions"][0]["status"] == "True";
    }
    Json status;
    status["conditions"] = Json::array(
        {Condition("Applied", applied, "of the work"), Condition("Available", true, "")});
    status["resourceStatus"]["manifests"] = std::move(reports);
    Json patch;
    patch["status"] = std::move(status);
    Kubectl("patch " + Work(cluster) + " --subresource=status --type=merge --patch",
            kube::DumpJson(patch));
  }
  // The agent has cleaned up after a deletion.
  void Clean(const std::string& cluster) {
    AwaitChange(Work(cluster), ".metadata.deletionTimestamp", "");
    Kubectl("patch " + Work(cluster) + " --type=merge --patch",
            R"({"metadata": {"finalizers": null}})");
  }

 private:
  Json Condition(const std::string& type, bool status, const std::string& message) const {
    return {{"type", type},
            {"status", status ? "True" : "False"},
            {"reason", "Test"},
            {"message", message},
            {"observedGeneration", generation_},
            {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
  }
  // Returns: what the agent reports about this manifest.
  Json Apply(const Json& manifest, const Json& config) {
    EXPECT_EQ(kube::StringAt(config, "updateStrategy.type"), "ServerSideApply");
    std::string command =
        "apply --server-side --field-manager=" +
        kube::StringAt(config, "updateStrategy.serverSideApply.fieldManager") +
        (kube::BoolAt(config, "updateStrategy.serverSideApply.force") ? " --force-conflicts" : "") +
        " --filename";
    Finished done = TryKubectl(command, File("manifest.json", kube::DumpJson(manifest)));
    Json report;
    report["conditions"] = Json::array({Condition("Applied", done.status == 0, done.output)});
    report["resourceMeta"] = {{"kind", kube::StringAt(manifest, "kind")},
                              {"namespace", kube::StringAt(manifest, "metadata.namespace")},
                              {"name", kube::StringAt(manifest, "metadata.name")}};
    report["statusFeedback"]["values"] = Feedback(config);
    return report;
  }
  // The values of the rules, by the same JSONPath as the agent's.
  Json Feedback(const Json& config) {
    std::string object = kube::StringAt(config, "resourceIdentifier.resource") + "." +
                         kube::StringAt(config, "resourceIdentifier.group") + "/" +
                         kube::StringAt(config, "resourceIdentifier.name");
    std::string ns = kube::StringAt(config, "resourceIdentifier.namespace");
    if (!ns.empty()) object += " --namespace=" + ns;
    Json values = Json::array();
    if (!Exists(object)) return values;
    for (const Json& rule : config["feedbackRules"][0]["jsonPaths"]) {
      std::string text = Field(object, rule["path"].get<std::string>());
      if (text.empty()) continue;
      Json value = {{"type", "String"}, {"string", text}};
      if (std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
        value = {{"type", "Integer"}, {"integer", std::stoll(text)}};
      Json named = {{"name", rule["name"]}, {"fieldValue", std::move(value)}};
      values.push_back(std::move(named));
    }
    return values;
  }

  int64_t generation_ = 0;  // of the ManifestWork
};

TEST_F(FleetManifestWorkTest, OcmsAgentsApplyARollout) {
  // The first cluster already has a configuration of the operator.
  std::string file = File("own.yaml", R"({apiVersion: multiarch.openshift.io/v1beta1,
      kind: ClusterPodPlacementConfig, metadata: {name: cluster}, spec: {logVerbosity: Normal}})");
  Kubectl("apply --server-side --field-manager=admin --filename", file);
  StartHubAs("multiarch-fleet-hub", {"--work-objects=ManifestWork"});
  Await(kWeb, ".status.progressing", "1");
  EXPECT_EQ(Field(kWeb, ".status.total"), "2");
  EXPECT_FALSE(Exists(Work("c2")));

  // A conflict is a failure, and stops the rollout.
  RunWorkAgent("c1");
  Await(kWeb, kReason, "Stopped");
  EXPECT_EQ(Field(kWeb, ".status.failures[*].clusterName"), "c1");
  EXPECT_NE(Field(kWeb, ".status.failures[0].message").find("conflict"), std::string::npos);
  EXPECT_EQ(Field("clusterpodplacementconfig/cluster", ".spec.logVerbosity"), "Normal");
  EXPECT_FALSE(Exists(Work("c2")));

  // The user takes the config over. It has not succeeded before its operator says so.
  Kubectl("patch " + kWeb + " --type=merge --patch", R"({"spec": {"adopt": true}})");
  Await(Work("c1"), ".spec.manifestConfigs[0].updateStrategy.serverSideApply.force", "true");
  RunWorkAgent("c1");
  Await(kWeb, kReason, "Progressing");
  EXPECT_EQ(Field("clusterpodplacementconfig/cluster", ".spec.logVerbosity"), "Debug");
  EXPECT_EQ(Field("podplacementconfig/web", ".spec.priority"), "7");
  EXPECT_EQ(Field(kWeb, ".status.succeeded"), "0");
  EXPECT_FALSE(Exists(Work("c2")));

  SetAvailable("clusterpodplacementconfig/cluster");
  SetAvailable("podplacementconfig/web");
  RunWorkAgent("c1");
  Await(kWeb, ".status.succeeded", "1");
  Await(kWeb, ".status.progressing", "1");
  RunWorkAgent("c2");
  AwaitCondition(kWeb, "RolledOut");
  EXPECT_EQ(ConditionField(kWeb, "RolledOut", "message"), "2 of 2 clusters succeeded");
  EXPECT_EQ(Kubectl("get podplacementworks --all-namespaces --output=name"), "");
  EXPECT_EQ(Kubectl("get manifestworks --namespace=c3 --output=name"), "");

  // A deletion ends when the agents have cleaned up.
  Kubectl("delete --wait=false " + kWeb);
  Clean("c1");
  EXPECT_TRUE(Exists(kWeb));
  Clean("c2");
  Kubectl("wait --timeout=60s --for=delete " + kWeb);
  EXPECT_EQ(Kubectl("get manifestworks --all-namespaces --output=name"), "");

  ExpectNothingForbidden("hub");
}

}  // namespace
}  // namespace e2e
