// SPDX-License-Identifier: Apache-2.0
// The CRDs of a hub on a real API server, with kubectl: objects that are accepted, the defaults
// that they get, and what is refused. Skipped without KUBEBUILDER_ASSETS.
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

constexpr char kCrds[] = "fleet/api/crds";
constexpr char kObjects[] = "e2e/fleet/testdata/objects.yaml";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct PatchRow {
  std::string object;
  std::string patch;
  std::string refusal;  // a part of kubectl's message; "" if the patch is accepted
};

class FleetCrdsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string assets = Variable("KUBEBUILDER_ASSETS");
    if (assets.empty()) return;
    std::string folder = Variable("TEST_TMPDIR") + "/hub";
    std::filesystem::create_directories(folder);
    kube::Result<> network = EnterOwnNetwork();
    ASSERT_TRUE(network) << network.error();
    auto plane = ControlPlane::Start({.assets = assets, .folder = folder});
    ASSERT_TRUE(plane) << plane.error();
    plane_ = std::move(*plane);
    ASSERT_TRUE(Ready());
    for (const auto& file : std::filesystem::directory_iterator(kCrds)) {
      if (file.path().filename() == "kustomization.yaml") continue;
      Finished created = Kubectl({"create", "--filename", file.path()});
      ASSERT_EQ(created.status, 0) << created.output;
    }
    Finished established =
        Kubectl({"wait", "--for=condition=Established", "customresourcedefinitions", "--all"});
    ASSERT_EQ(established.status, 0) << established.output;
    Finished applied = Kubectl({"apply", "--validate=strict", "--filename", kObjects});
    ASSERT_EQ(applied.status, 0) << applied.output;
  }
  static void TearDownTestSuite() { plane_.reset(); }

  void SetUp() override {
    if (Variable("KUBEBUILDER_ASSETS").empty())
      GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: there is no control plane";
    ASSERT_TRUE(plane_);
  }

  static Finished Kubectl(std::vector<std::string> args) {
    args.push_back("--kubeconfig=" + plane_->admin_kubeconfig());
    auto finished =
        RunToEnd({.path = Variable("KUBEBUILDER_ASSETS") + "/kubectl", .args = std::move(args)});
    EXPECT_TRUE(finished) << finished.error();
    return finished ? *finished : Finished{.status = 1};
  }

  void Expect(const std::vector<PatchRow>& rows, const std::string& subresource) {
    for (const PatchRow& row : rows) {
      std::vector<std::string> args = {"patch", row.object, "--type=merge", "--dry-run=server",
                                       "--patch=" + row.patch};
      if (!subresource.empty()) args.push_back("--subresource=" + subresource);
      Finished patched = Kubectl(std::move(args));
      EXPECT_EQ(patched.status != 0, !row.refusal.empty()) << row.patch << "\n" << patched.output;
      EXPECT_NE(patched.output.find(row.refusal), std::string::npos) << patched.output;
    }
  }

 private:
  // The API server answers, and has created the namespace "default".
  static bool Ready() {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (std::chrono::steady_clock::now() < deadline) {
      if (Kubectl({"get", "namespace", "default"}).status == 0) return true;
      kube::Result<> run = plane_->AllRun();
      EXPECT_TRUE(run) << run.error();
      if (!run) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return false;
  }

  static std::unique_ptr<ControlPlane> plane_;
};

std::unique_ptr<ControlPlane> FleetCrdsTest::plane_;

TEST_F(FleetCrdsTest, EverySchemaIsStructural) {
  Finished conditions = Kubectl(
      {"get", "customresourcedefinitions", "--output",
       "jsonpath={.items[*].status.conditions[?(@.type==\"NonStructuralSchema\")].message}"});
  EXPECT_EQ(conditions.output, "");
}

TEST_F(FleetCrdsTest, DefaultsAreSet) {
  struct Row {
    std::string object;
    std::string path;
    std::string value;
  };
  const Row kRows[] = {
      {"placement/p1", "{.spec.tolerations[*].operator}", "Equal Other"},
      {"placement/p1", "{.spec.prioritizerPolicy.configurations[*].weight}", "0 1"},
      {"placement/p1", "{.spec.prioritizerPolicy.configurations[*].scoreCoordinate.type}",
       "BuiltIn AddOn"},
      {"placement/p1", "{.spec.spreadPolicy.spreadConstraints[0].maxSkew}", "1"},
      {"placement/p1", "{.spec.spreadPolicy.spreadConstraints[0].whenUnsatisfiable}",
       "ScheduleAnyway"},
      {"placement/p1", "{.spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup}", "100%"},
      {"placement/p2", "{.spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup}", "150"},
      {"placement/p2", "{.spec.sortBy} {.spec.scoreRateLimit}", "ClusterName 1m"},
      {"managedcluster/c1", "{.spec.leaseDurationSeconds}", "60"},
      {"managedclusterset/default", "{.spec.clusterSelector.selectorType}",
       "ExclusiveClusterSetLabel"},
      {"fleetpodplacement/web", "{.spec.deletionPolicy} {.spec.adopt}", "Delete false"},
      {"fleetpodplacement/web", "{.spec.podPlacementConfigs[0].spec.priority}", "5"},
      {"podplacementwork/default.web", "{.spec.objects[0].spec}", "{\"plugins\":{}}"},
  };
  for (const Row& row : kRows) {
    Finished got = Kubectl({"get", row.object, "--output", "jsonpath=" + row.path});
    EXPECT_EQ(got.output, row.value) << row.object << " " << row.path;
  }
}

TEST_F(FleetCrdsTest, WrongSpecsAreRefused) {
  auto progressive = [](const std::string& field) {
    return R"({"spec": {"placements": [{"name": "p", "rolloutStrategy": {"progressive": {)" +
           field + "}}}]}}";
  };
  Expect(
      {{"fleetpodplacement/web", progressive(R"("maxConcurrency": 1, "maxFailures": "0%")"), ""},
       {"fleetpodplacement/web", progressive(R"("maxConcurrency": 0)"), "maxConcurrency"},
       {"fleetpodplacement/web", progressive(R"("maxConcurrency": "0%")"), "maxConcurrency"},
       {"fleetpodplacement/web", progressive(R"("maxFailures": "some")"), "maxFailures"},
       {"fleetpodplacement/web", progressive(R"("minSuccessTime": "1d")"), "minSuccessTime"},
       {"fleetpodplacement/web", progressive(R"("progressDeadline": "none")"), "progressDeadline"},
       {"fleetpodplacement/web", R"({"spec": {"placements": []}})", "spec.placements"},
       {"fleetpodplacement/web", R"({"spec": {"placements": [{"name": "p"}, {"name": "p"}]}})",
        "Duplicate value"},
       {"fleetpodplacement/web",
        R"({"spec": {"clusterPodPlacementConfig": null, "podPlacementConfigs": []}})",
        "clusterPodPlacementConfig or podPlacementConfigs is required"},
       {"fleetpodplacement/web", R"({"spec": {"deletionPolicy": "Keep"}})", "deletionPolicy"},
       {"podplacementwork/default.web", R"({"spec": {"objects": [{"kind": "Pod"}]}})",
        "apiVersion"},
       {"placement/p1",
        R"({"spec": {"prioritizerPolicy": {"configurations":
            [{"scoreCoordinate": {"builtIn": "Steady"}, "weight": 11}]}}})",
        "weight"},
       {"placement/p1", R"({"spec": {"scoreRateLimit": "often"}})", "scoreRateLimit"},
       {"placement/p2",
        R"({"spec": {"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": "0%"}}}})",
        "clustersPerDecisionGroup"},
       {"managedcluster/c1", R"({"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}})",
        "effect"}},
      "");
}

TEST_F(FleetCrdsTest, StatusesAreTaken) {
  Expect(
      {{"placementdecision/p1-decision-1",
        R"({"status": {"decisions": [{"clusterName": "c1", "reason": "", "score": 5}]}})", ""},
       {"placementdecision/p1-decision-1", R"({"status": {"decisions": [{"clusterName": "c1"}]}})",
        "reason"},
       {"addonplacementscore/multiarch",
        R"({"status": {"scores": [{"name": "arm64.cpu", "value": 0}],
                          "validUntil": "2026-01-01T00:00:00Z"}})",
        ""},
       {"addonplacementscore/multiarch",
        R"({"status": {"scores": [{"name": "arm64.cpu", "value": 101}]}})", "value"},
       {"managedcluster/c1",
        R"({"status": {"allocatable": {"cpu": "3500m", "memory": 5},
                          "clusterClaims": [{"name": "a", "value": "b"}]}})",
        ""},
       {"managedcluster/c1", R"({"status": {"allocatable": {"cpu": "many"}}})", "allocatable"},
       {"placement/p1",
        R"({"status": {"numberOfSelectedClusters": 0, "decisionGroups":
               [{"decisionGroupIndex": 0, "decisionGroupName": "", "decisions": ["p1-decision-1"]}],
               "lastScoreUpdateTime": "2026-01-01T00:00:00Z"}})",
        ""},
       {"fleetpodplacement/web",
        R"({"status": {"total": 1, "failures": [{"clusterName": "c1", "reason": "Failed"}]}})", ""},
       {"podplacementwork/default.web",
        R"({"status": {"hash": "a", "phase": "Failed", "conditions": [{"type": "Succeeded",
               "status": "False", "reason": "Conflict", "message": "",
               "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})",
        ""},
       {"podplacementwork/default.web", R"({"status": {"phase": "Fine"}})", "phase"}},
      "status");
}

}  // namespace
}  // namespace e2e
