// SPDX-License-Identifier: Apache-2.0
// The demo of `make fleet-demo`, as a test. Skipped without KUBEBUILDER_ASSETS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "fleet/e2e/demo/demo_fleet.h"
#include "fleet/e2e/demo/fleet_demo.h"
#include "fleet/e2e/fleet_fixture.h"

namespace e2e {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(FleetDemoTest, EveryStepIsSeen) {
  if (ControlPlaneAssets().empty())
    GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: there is no control plane";
  std::ostringstream out;
  DemoFleet fleet({.assets = ControlPlaneAssets(),
                   .folder = TestFolder(),
                   .members = {FleetDemo::kEast, FleetDemo::kWest}},
                  out);
  FleetDemo demo(fleet);
  kube::Result<> done = demo.Run();
  ASSERT_TRUE(done) << done.error() << "\n" << out.str() << fleet.Logs();

  EXPECT_THAT(demo.SelectedBy("everywhere"), ElementsAre("east", "west"));
  EXPECT_THAT(demo.SelectedBy("most-arm64"), ElementsAre("east"));
  EXPECT_THAT(demo.ConfigsIn("east"), ElementsAre("arm64-first", "base"));
  EXPECT_THAT(demo.ConfigsIn("west"), ElementsAre("base"));
  EXPECT_THAT(demo.rollout_order(), ElementsAre("east", "west"));
  EXPECT_EQ(demo.most_in_progress(), 1u);

  // The hub, which owns the membership, creates these sets.
  for (const char* name : {"east", "west"}) {
    const std::string member = name;
    EXPECT_THAT(out.str(),
                HasSubstr("ServiceAccount " + member + "/multiarch-fleet-agent: created"));
    EXPECT_THAT(out.str(),
                HasSubstr("ManagedCluster " + member + ": ManagedClusterConditionAvailable True"));
    EXPECT_THAT(out.str(), HasSubstr("ManagedCluster " + member + ": no taint"));
  }

  // Printed in the order in which it happened.
  size_t at = 0;
  for (const char* line : {
           "AddOnPlacementScore west/multiarch: amd64.cpu 25, arm64.cpu 75",
           "Placement team/most-arm64: selects west",
           "PodPlacementWork east/team.base: created",
           "PodPlacementWork east/team.base: Succeeded",
           "PodPlacementWork west/team.base: created",
           "FleetPodPlacement team/base: 2 of 2 clusters succeeded",
           "Node west-arm64-3: deleted",
           "Placement team/most-arm64: selects east",
       }) {
    size_t found = out.str().find(line, at);
    EXPECT_NE(found, std::string::npos) << line << " is missing after\n" << out.str().substr(0, at);
    if (found != std::string::npos) at = found;
  }

  // A program that ends also ends the step that waits, with its name.
  fleet.KillHub();
  kube::Result<> waited = fleet.Await("nothing", [] { return false; });
  ASSERT_TRUE(FailedWith(waited, kube::Code::kUnavailable));
  EXPECT_THAT(waited.error().message(), HasSubstr("the hub ended"));
}

}  // namespace
}  // namespace e2e
