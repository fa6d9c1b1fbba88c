// SPDX-License-Identifier: Apache-2.0
// //fleet/benchmark:fleet with a small fleet: each change reaches all decisions, a cluster that
// stays selected is never missing, nothing is written when nothing has changed. Times are not
// checked. Skipped without KUBEBUILDER_ASSETS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "fleet/benchmark/fleet_run.h"
#include "fleet/e2e/fleet_cluster.h"
#include "fleet/e2e/fleet_fixture.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using benchmarks::ChangeKind;
using kube::Result;
using testing::IsEmpty;

// Placements that select all clusters have so many PlacementDecisions that clusters stay on theirs.
constexpr int kClusters = 350;
constexpr int kPlacements = benchmarks::kMinPlacements;
constexpr int kChanges = 6;

TEST(FleetScaleTest, DecidesWithoutGapsAndThenRests) {
  if (ControlPlaneAssets().empty())
    GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: there is no control plane";
  auto cluster = FleetCluster::Start(
      {.assets = ControlPlaneAssets(), .folder = TestFolder(), .audit = true}, {"fleet/api/crds"});
  ASSERT_TRUE(cluster) << cluster.error();
  auto log = [&] { return (*cluster)->Logs(); };

  benchmarks::FleetRun run(**cluster,
                           {.clusters = kClusters, .placements = kPlacements, .timeout = 120s});
  Result<> created = run.Create();
  ASSERT_TRUE(created) << created.error();
  Result<benchmarks::Pass> first = run.FirstPass();
  ASSERT_TRUE(first) << first.error() << log();
  Result<> right = run.Verify();
  EXPECT_TRUE(right) << right.error() << log();
  // Each object once: no decision was changed again.
  auto pages = static_cast<int>(run.log().pages());
  EXPECT_GT(pages, kPlacements);
  EXPECT_EQ(first->writes["create placementdecisions"], pages);
  EXPECT_EQ(first->writes["patch placementdecisions/status"], pages);
  EXPECT_EQ(first->writes["patch placements/status"], kPlacements);

  for (ChangeKind kind : {ChangeKind::kLabel, ChangeKind::kScore, ChangeKind::kTaint}) {
    Result<benchmarks::ChangeTimes> times = run.Change(kind, kChanges);
    ASSERT_TRUE(times) << NameOf(kind) << ": " << times.error() << log();
    right = run.Verify();
    EXPECT_TRUE(right) << NameOf(kind) << ": " << right.error() << log();
  }

  Result<benchmarks::Rest> rest = run.AtRest(5s);
  ASSERT_TRUE(rest) << rest.error() << log();
  EXPECT_THAT(rest->writes, IsEmpty());
  Result<benchmarks::Pass> restart = run.Restart();
  ASSERT_TRUE(restart) << restart.error() << log();
  EXPECT_THAT(restart->writes, IsEmpty());
  right = run.Verify();
  EXPECT_TRUE(right) << right.error() << log();

  EXPECT_THAT(run.log().missing(), IsEmpty());
}

}  // namespace
}  // namespace e2e
