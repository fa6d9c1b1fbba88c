// SPDX-License-Identifier: Apache-2.0
#include "fleet/benchmark/fleet_model.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

namespace benchmarks {
namespace {

// Clusters and Placements: the smallest fleet, that of fleet/e2e/scale_test, the usual one.
class FleetModelTest : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  FleetModel model_{GetParam().first, GetParam().second};
};

TEST_P(FleetModelTest, EachClusterIsReadByAPlacementOfEachKind) {
  for (int cluster = 0; cluster < model_.clusters(); ++cluster) {
    std::set<Selects> readers;
    if (!model_.ByScore(cluster).empty()) readers.insert(Selects::kTopScores);
    for (int placement = 0; placement < model_.placements(); ++placement) {
      if (FleetModel::KindOf(placement) != Selects::kTopScores &&
          model_.MustSelect(placement, cluster))
        readers.insert(FleetModel::KindOf(placement));
    }
    ASSERT_EQ(readers.size(), 3u) << cluster;
  }
}

TEST_P(FleetModelTest, AnEnvironmentHasMoreClustersThanAreSelected) {
  std::map<std::string, int> sizes;
  for (int cluster = 0; cluster < model_.clusters(); ++cluster) {
    kube::Json labels = model_.Cluster(cluster)["metadata"]["labels"];
    ++sizes[labels["benchmark/environment"].get<std::string>()];
  }
  for (const auto& [environment, size] : sizes) EXPECT_GE(size, 2 * kTopClusters) << environment;
}

TEST_P(FleetModelTest, AChangeChangesWhatMustBeSelected) {
  int all = 9;
  ASSERT_EQ(FleetModel::KindOf(all), Selects::kAll);
  EXPECT_EQ(model_.SelectedCount(all), model_.clusters());
  model_.SetTaint(7, true);
  EXPECT_EQ(model_.SelectedCount(all), model_.clusters() - 1);
  EXPECT_FALSE(model_.MustSelect(all, 7));
  model_.SetTaint(7, false);
  EXPECT_TRUE(model_.MustSelect(all, 7));

  std::set<int> before;
  std::set<int> after;
  auto collect = [&](std::set<int>& regions) {
    for (int placement = 0; placement < model_.placements(); ++placement) {
      if (FleetModel::KindOf(placement) == Selects::kRegion && model_.MustSelect(placement, 7))
        regions.insert(placement);
    }
  };
  collect(before);
  std::string region = model_.MoveToNextRegion(7);
  EXPECT_EQ(model_.Cluster(7)["metadata"]["labels"][FleetModel::kRegionLabel], region);
  collect(after);
  EXPECT_NE(before, after);
  EXPECT_EQ(model_.SelectedCount(all), model_.clusters());
}

INSTANTIATE_TEST_SUITE_P(Sizes, FleetModelTest,
                         testing::Values(std::pair(kMinClusters, kMinPlacements),
                                         std::pair(150, kMinPlacements), std::pair(5000, 500)));

}  // namespace
}  // namespace benchmarks
