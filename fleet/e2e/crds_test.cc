// SPDX-License-Identifier: Apache-2.0
// The CRDs of a hub on a real API server, with kubectl: objects that are accepted, the defaults
// that they get, and what is refused. Skipped without KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "fleet/e2e/fleet_fixture.h"

namespace e2e {
namespace {

constexpr char kObjects[] = "fleet/e2e/testdata/objects.yaml";

struct PatchRow {
  std::string object;
  std::string patch;
  std::string refusal;  // a part of kubectl's message; "" if the patch is accepted
};

class FleetCrdsTest : public testing::Test {
 protected:
  // One cluster for all tests.
  static void SetUpTestSuite() {
    if (ControlPlaneAssets().empty()) return;
    auto cluster = std::make_unique<KubectlFleet>();
    ASSERT_TRUE(cluster->StartCluster());
    cluster->Kubectl("apply --validate=strict --filename", kObjects);
    cluster_ = std::move(cluster);
  }
  static void TearDownTestSuite() { cluster_.reset(); }

  void SetUp() override {
    if (ControlPlaneAssets().empty())
      GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: there is no control plane";
    ASSERT_TRUE(cluster_);
  }

  void Expect(const std::vector<PatchRow>& rows, const std::string& subresource) {
    for (const PatchRow& row : rows) {
      std::string command = "patch " + row.object + " --type=merge --dry-run=server";
      if (!subresource.empty()) command += " --subresource=" + subresource;
      Finished patched = cluster_->TryKubectl(command, "--patch=" + row.patch);
      EXPECT_EQ(patched.status != 0, !row.refusal.empty()) << row.patch << "\n" << patched.output;
      EXPECT_NE(patched.output.find(row.refusal), std::string::npos) << patched.output;
    }
  }

  static std::unique_ptr<KubectlFleet> cluster_;
};

std::unique_ptr<KubectlFleet> FleetCrdsTest::cluster_;

TEST_F(FleetCrdsTest, EverySchemaIsStructural) {
  EXPECT_EQ(
      cluster_->Field("customresourcedefinitions",
                      R"(.items[*].status.conditions[?(@.type=="NonStructuralSchema")].message)"),
      "");
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
    std::string got = cluster_->Kubectl("get " + row.object + " --output", "jsonpath=" + row.path);
    EXPECT_EQ(got, row.value) << row.object << " " << row.path;
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
  const std::string too_long(321, '1');
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
       {"managedcluster/c1", R"({"status": {"allocatable": {"cpu": ")" + too_long + "\"}}}",
        "allocatable"},
       {"managedcluster/c1", R"({"status": {"version": {"kubernetes": ")" + too_long + "\"}}}",
        "kubernetes"},
       {"addonplacementscore/multiarch",
        R"({"status": {"scores": [{"name": ")" + too_long + R"(", "value": 1}]}})", "name"},
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
