// SPDX-License-Identifier: Apache-2.0
// The hub's program on a real API server: decisions, their changes, and that nothing else is
// written. Skipped without KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "fleet/e2e/fleet_cluster.h"

namespace e2e {
namespace {

constexpr char kObjects[] = "fleet/e2e/testdata/hub_objects.yaml";
constexpr char kLater[] = "fleet/e2e/testdata/hub_later.yaml";

class FleetHubTest : public FleetFixture {
 protected:
  void SetUp() override {
    FleetFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Kubectl("apply --filename", kObjects);
  }

  // Waits until the status of the Placement has this number.
  void AwaitSelected(const std::string& placement, int clusters) {
    Kubectl("wait --timeout=90s placement/" + placement,
            "--for=jsonpath={.status.numberOfSelectedClusters}=" + std::to_string(clusters));
  }
  // The first event about a Placement, "TYPE REASON"; "" if there is none in time.
  std::string AwaitEvent(const std::string& placement) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::string event;
    while (event.empty() && std::chrono::steady_clock::now() < deadline) {
      event = Kubectl("get events --field-selector=involvedObject.name=" + placement + " --output",
                      "jsonpath={range .items[0:1]}{.type} {.reason}{end}");
      if (event.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return event;
  }
  // "all-decision-1=a1 a2 all-decision-2=b1 "
  std::string Decisions(const std::string& placement) {
    return Kubectl(
        "get placementdecisions --selector=cluster.open-cluster-management.io/placement=" +
            placement + " --output",
        "jsonpath={range .items[*]}{.metadata.name}={.status.decisions[*].clusterName} "
        "{end}");
  }
  std::string Versions(const std::string& kinds) {
    return Kubectl("get " + kinds + " --output",
                   "jsonpath={range .items[*]}{.metadata.name}={.metadata.resourceVersion} {end}");
  }
};

TEST_F(FleetHubTest, DecidesAndThenWritesOnlyWhatChanges) {
  StartHub();
  AwaitSelected("all", 3);
  AwaitSelected("zone-b", 1);
  EXPECT_EQ(Decisions("all"), "all-decision-1=a1 a2 all-decision-2=b1 ");
  EXPECT_EQ(Decisions("zone-b"), "zone-b-decision-1=b1 ");
  AwaitSelected("cel", 2);
  EXPECT_EQ(Decisions("cel"), "cel-decision-1=a1 b1 ");
  EXPECT_EQ(Decisions("of-another"), "") << "OCM's controller schedules it";
  EXPECT_EQ(
      Kubectl("get placement all --output",
              "jsonpath={.status.conditions[*].reason} {.status.decisionGroups[*].decisions}"),
      R"(Succeedconfigured AllDecisionsScheduled ["all-decision-1"] ["all-decision-2"])");

  // Claimed for this hub, but without the annotation that makes OCM's controller skip it.
  EXPECT_EQ(AwaitEvent("incomplete"), "Warning SchedulerIncomplete");
  EXPECT_EQ(Decisions("incomplete"), "");

  // The rest is as before when a cluster has gone from one zone.
  std::string before = Versions("placement/zone-b placementdecision/zone-b-decision-1");
  Kubectl("patch managedcluster a1 --type=merge --patch",
          R"({"spec": {"taints": [{"key": "gpu", "effect": "NoSelect"}]}})");
  AwaitSelected("all", 2);
  EXPECT_EQ(Decisions("all"), "all-decision-1=a2 b1 ");
  AwaitSelected("cel", 1);
  EXPECT_EQ(Versions("placement/zone-b placementdecision/zone-b-decision-1"), before);

  // Another process continues, and rewrites nothing that is right.
  before = Versions("placements,placementdecisions");
  KillProgram("hub");
  Kubectl("create --filename", kLater);
  StartHub();
  AwaitSelected("later", 1);
  std::string after = Versions("placements,placementdecisions");
  for (const char* name : {"all=", "zone-b=", "all-decision-1=", "zone-b-decision-1="}) {
    auto version = [&](const std::string& text) {
      size_t begin = (" " + text).find(std::string(" ") + name);
      return begin == std::string::npos ? "" : text.substr(begin, text.find(' ', begin) - begin);
    };
    EXPECT_NE(version(before), "") << name;
    EXPECT_EQ(version(after), version(before));
  }

  // Repaired, in the presence of what others add.
  Kubectl(
      "label placementdecision all-decision-1 mine=stays "
      "cluster.open-cluster-management.io/decision-group-index-");
  Kubectl(
      "wait --timeout=60s placementdecision/all-decision-1",
      R"(--for=jsonpath={.metadata.labels.cluster\.open-cluster-management\.io/decision-group-index}=0)");
  EXPECT_EQ(
      Kubectl("get placementdecision all-decision-1 --output", "jsonpath={.metadata.labels.mine}"),
      "stays");

  ExpectRuns("hub");
}

}  // namespace
}  // namespace e2e
