// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/decision_groups.h"

#include <gtest/gtest.h>

#include "fleet/scheduling/schedule.h"
#include "fleet/scheduling/testing/world.h"

namespace fleet {
namespace {

std::string Sizes(size_t clusters, std::variant<int64_t, std::string> per_group) {
  World world(clusters);
  world.placement.spec.clusters_per_group = std::move(per_group);
  std::string sizes;
  for (const DecisionGroup& group : world.Run().groups)
    sizes += (sizes.empty() ? "" : " ") + std::to_string(group.clusters.size());
  return sizes;
}

TEST(DecisionGroupsTest, Sizes) {
  struct Row {
    size_t clusters;
    std::variant<int64_t, std::string> per_group;
    const char* sizes;
  };
  const Row rows[] = {
      {10, 3, "3 3 3 1"},
      {10, 10, "10"},
      {10, 11, "10"},
      {10, 0, "10"},
      {10, -3, "10"},
      {10, std::numeric_limits<int64_t>::max(), "10"},
      {10, std::numeric_limits<int64_t>::min(), "10"},
      {10, "25%", "3 3 3 1"},
      {10, "100%", "10"},
      {10, "0%", "10"},
      {10, "-5%", "10"},
      {10, "1e300%", "10"},
      {10, "0.001%", "1 1 1 1 1 1 1 1 1 1"},
      {10, "33.4%", "4 4 2"},
      {100, "7%", "8 8 8 8 8 8 8 8 8 8 8 8 4"},  // in double, 7/100*100 is a bit more than 7
      {0, "25%", "0"},
      {0, 5, "0"},
  };
  for (const Row& row : rows) EXPECT_EQ(Sizes(row.clusters, row.per_group), row.sizes);
}

TEST(DecisionGroupsTest, SizesThatAreMisconfigured) {
  for (const char* text : {"", "%", "10", "ten%", "10%%", "10 %", " 10%", "nan%", "inf%", "-inf%",
                           "1e999%", "0x10%", "+5%"}) {
    EXPECT_TRUE(CheckGroupSize(std::string(text))) << text;
  }
  EXPECT_TRUE(CheckGroupSize(std::string(100, '1') + "%"));
}

TEST(DecisionGroupsTest, NamedGroupsComeFirstAndAClusterIsInOne) {
  World world(7);
  for (const char* cluster : {"c7", "c5", "c3"}) world.Label(cluster, "a");
  for (const char* cluster : {"c5", "c1"}) world.Claim(cluster, "b");
  world.placement.spec.clusters_per_group = 2;
  world.placement.spec.groups = {
      {.name = "labels", .selector = {.labels = Having("a")}},
      {.name = "empty", .selector = {.labels = Having("absent")}},
      {.name = "claims", .selector = {.claims = Having("b")}},
  };
  Scheduled result = world.Run();
  EXPECT_EQ(Names(result), "c3 c5 | c7 | c1 | c2 c4 | c6");
  std::vector<std::string> names;
  for (const DecisionGroup& group : result.groups) names.push_back(group.name);
  EXPECT_EQ(names, (std::vector<std::string>{"labels", "labels", "claims", "", ""}));
}

TEST(DecisionGroupsTest, SortedByScore) {
  World world(5);
  world.Exact().AddOn().Scores({-5, 7, 7, 100, 0});
  world.Label("c1", "a").Label("c4", "a");
  world.placement.spec.sort_by = SortBy::kScore;
  world.placement.spec.clusters_per_group = 2;
  world.placement.spec.groups = {{.name = "first", .selector = {.labels = Having("a")}}};
  Scheduled result = world.Run();
  EXPECT_EQ(Names(result), "c4 c1 | c2 c3 | c5");
  std::vector<DecisionPage> pages = PagesOf(world.placement, result.groups);
  ASSERT_EQ(pages.size(), 3u);
  EXPECT_EQ(pages[0].decisions, (std::vector<Decision>{{"c4", 100}, {"c1", -5}}));
  world.placement.spec.sort_by = SortBy::kClusterName;
  EXPECT_EQ(PagesOf(world.placement, world.Run().groups)[0].decisions,
            (std::vector<Decision>{{"c1", std::nullopt}, {"c4", std::nullopt}}));
}

TEST(DecisionGroupsTest, PagesOfExactlyAHundred) {
  World world(200);
  std::vector<DecisionPage> pages = PagesOf(world.placement, world.Run().groups);
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages[0].decisions.size(), 100u);
  EXPECT_EQ(pages[1].decisions.size(), 100u);
  EXPECT_EQ(pages[1].name, "p-decision-2");
  EXPECT_EQ(pages[1].group_index, 0u);
}

}  // namespace
}  // namespace fleet
