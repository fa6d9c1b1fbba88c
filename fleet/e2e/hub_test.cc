// SPDX-License-Identifier: Apache-2.0
// The hub's program on a real API server: decisions, their changes, and that nothing else is
// written. Skipped without KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "fleet/e2e/fleet_fixture.h"

namespace e2e {
namespace {

constexpr char kObjects[] = "fleet/e2e/testdata/hub_objects.yaml";
constexpr char kLater[] = "fleet/e2e/testdata/hub_later.yaml";

class FleetHubTest : public FleetFixture {
 protected:
  FleetHubTest() : FleetFixture({kObjects}, {"fleet/api/crds"}) {}

  // "all-decision-1=a1 a2 all-decision-2=b1 "
  std::string Decisions(const std::string& placement) {
    return Kubectl(
        "get placementdecisions --selector=cluster.open-cluster-management.io/placement=" +
            placement + " --output",
        "jsonpath={range .items[*]}{.metadata.name}={.status.decisions[*].clusterName} "
        "{end}");
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
  EXPECT_EQ(
      AwaitEvents("involvedObject.name=incomplete", "{range .items[0:1]}{.type} {.reason}{end}"),
      "Warning SchedulerIncomplete");
  EXPECT_EQ(Decisions("incomplete"), "");

  // The rest is as before when a cluster has gone from one zone.
  const std::string kinds = "placements,placementdecisions";
  const std::string zone_b = "Placement default/zone-b";
  const std::string decision = "PlacementDecision default/zone-b-decision-1";
  std::map<std::string, std::string> before = Versions(kinds);
  Kubectl("patch managedcluster a1 --type=merge --patch",
          R"({"spec": {"taints": [{"key": "gpu", "effect": "NoSelect"}]}})");
  AwaitSelected("all", 2);
  EXPECT_EQ(Decisions("all"), "all-decision-1=a2 b1 ");
  AwaitSelected("cel", 1);
  std::map<std::string, std::string> after = Versions(kinds);
  EXPECT_EQ(after.at(zone_b), before.at(zone_b));
  EXPECT_EQ(after.at(decision), before.at(decision));

  // Another process continues, and rewrites nothing that is right.
  before = Versions(kinds);
  KillProgram("hub");
  Kubectl("create --filename", kLater);
  StartHub();
  AwaitSelected("later", 1);
  after = Versions(kinds);
  for (const std::string& name :
       {std::string("Placement default/all"), zone_b,
        std::string("PlacementDecision default/all-decision-1"), decision})
    EXPECT_EQ(after.at(name), before.at(name)) << name;

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
