// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/wanted_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fleet/api/names.h"
#include "fleet/hub/decision_writes.h"

namespace fleet {
namespace {

using testing::ElementsAre;

// In the order of names.
std::string Cluster(int number) { return "c" + std::to_string(100'000 + number); }

std::set<std::string> Clusters(int from, int to) {
  std::set<std::string> clusters;
  for (int i = from; i < to; ++i) clusters.insert(Cluster(i));
  return clusters;
}

// As PagesOf() cuts each group by name.
std::vector<WantedPage> Cut(const std::vector<std::set<std::string>>& groups) {
  std::vector<WantedPage> pages;
  for (size_t group = 0; group < groups.size(); ++group) {
    const GroupLabels labels{std::to_string(group), ""};
    pages.push_back({labels, {}});
    for (const std::string& cluster : groups[group]) {
      if (pages.back().decisions.size() == kDecisionsPerPage) pages.push_back({labels, {}});
      pages.back().decisions.push_back({.cluster = cluster});
    }
  }
  return pages;
}

std::vector<StoredPage> Stored(const std::vector<WantedPage>& pages) {
  std::vector<StoredPage> stored;
  for (const WantedPage& page : pages) {
    stored.push_back({.name = DecisionName("p", stored.size() + 1),
                      .group = page.group,
                      .decisions = page.decisions});
  }
  return stored;
}

std::vector<WantedPage> Kept(const std::vector<StoredPage>& stored,
                             const std::vector<std::set<std::string>>& groups) {
  std::vector<WantedPage> pages = Cut(groups);
  KeepPages("p", stored, pages);
  return pages;
}

std::vector<size_t> Sizes(const std::vector<WantedPage>& pages) {
  std::vector<size_t> sizes;
  for (const WantedPage& page : pages) sizes.push_back(page.decisions.size());
  return sizes;
}

TEST(KeepPages, AClusterThatLeavesOrJoinsIsOneWrite) {
  std::vector<WantedPage> all = Cut({Clusters(0, 5000)});
  std::set<std::string> fewer = Clusters(0, 5000);
  fewer.erase(Cluster(7));
  std::vector<WantedPage> left = Kept(Stored(all), {fewer});
  std::vector<DecisionWrite> writes = PlanDecisionWrites("p", Stored(all), left);
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].name, "p-decision-1");
  EXPECT_EQ(PlanDecisionWrites("p", Stored(all), Cut({fewer})).size(), 50u) << "cut by name";

  fewer.insert(Cluster(9000));
  writes = PlanDecisionWrites("p", Stored(left), Kept(Stored(left), {fewer}));
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_EQ(writes[0].name, "p-decision-1");
  EXPECT_EQ(writes[0].decisions.back().cluster, Cluster(9000));
}

TEST(KeepPages, TwoPagesAreCutByName) {
  std::vector<StoredPage> stored = Stored(Cut({Clusters(1, 200)}));
  std::vector<WantedPage> pages = Kept(stored, {Clusters(0, 199)});
  EXPECT_EQ(pages[0].decisions.front().cluster, Cluster(0));
  EXPECT_EQ(pages[1].decisions.front().cluster, Cluster(100));
}

TEST(KeepPages, APageLessMovesItsClustersOnly) {
  std::vector<StoredPage> stored = Stored(Cut({Clusters(0, 450)}));
  std::set<std::string> fewer = Clusters(0, 450);
  for (int i = 100; i < 160; ++i) fewer.erase(Cluster(i));
  std::vector<WantedPage> pages = Kept(stored, {fewer});
  EXPECT_THAT(Sizes(pages), ElementsAre(100, 90, 100, 100));
  EXPECT_EQ(pages[0].decisions, stored[0].decisions);
  EXPECT_EQ(pages[2].decisions, stored[2].decisions);
  EXPECT_EQ(pages[3].decisions, stored[3].decisions);
  EXPECT_EQ(pages[1].decisions.back().cluster, Cluster(449));
}

TEST(KeepPages, AnEarlierGroupThatGrowsShiftsNoClusters) {
  std::vector<StoredPage> stored = Stored(Cut({Clusters(0, 100), Clusters(1000, 1350)}));
  std::vector<WantedPage> pages = Kept(stored, {Clusters(0, 101), Clusters(1000, 1350)});
  // Pages 2 and 3 to 5 had the second group, which has 3 to 6 now.
  EXPECT_THAT(Sizes(pages), ElementsAre(100, 1, 100, 100, 100, 50));
  for (size_t i : {2u, 3u}) EXPECT_EQ(pages[i].decisions, stored[i].decisions) << i;
}

TEST(KeepPages, StoredPagesOfOthersAreNoLimit) {
  std::vector<WantedPage> one = Cut({Clusters(0, 100)});
  std::vector<StoredPage> stored = Stored(one);
  for (int i = 100; i < 400; ++i) stored[0].decisions.push_back({.cluster = Cluster(i)});
  stored.push_back({.name = "q-decision-2", .decisions = one[0].decisions});
  stored.push_back({.name = "p-decision-02", .decisions = one[0].decisions});
  EXPECT_THAT(Sizes(Kept(stored, {Clusters(0, 400)})), ElementsAre(100, 100, 100, 100));
  EXPECT_THAT(Sizes(Kept({}, {{}, Clusters(0, 201)})), ElementsAre(0, 100, 100, 1));
}

TEST(KeepPages, RandomFleets) {
  std::mt19937 random(20261123);
  auto below = [&](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    std::vector<std::set<std::string>> groups(static_cast<size_t>(1 + below(3)));
    for (int i = 0; i < 900; ++i)
      groups[static_cast<size_t>(below(static_cast<int>(groups.size())))].insert(Cluster(i));
    std::vector<StoredPage> stored = Stored(Cut(groups));
    for (int step = 0; step < 8; ++step) {
      // Some leave, some join, some change their group.
      for (int i = below(40) * below(4); i >= 0; --i) {
        std::string cluster = Cluster(below(1000));
        for (auto& group : groups) group.erase(cluster);
        if (below(2) == 0)
          groups[static_cast<size_t>(below(static_cast<int>(groups.size())))].insert(cluster);
      }
      std::vector<WantedPage> cut = Cut(groups);
      std::vector<WantedPage> kept = Kept(stored, groups);

      ASSERT_EQ(kept.size(), cut.size());
      std::vector<std::set<std::string>> found(groups.size());
      std::map<std::string, size_t> page_of;
      for (size_t i = 0; i < kept.size(); ++i) {
        ASSERT_EQ(kept[i].group, cut[i].group);
        ASSERT_LE(kept[i].decisions.size(), kDecisionsPerPage);
        ASSERT_EQ(kept[i].decisions.empty(), cut[i].decisions.empty());
        std::vector<std::string> names;
        for (const Decision& decision : kept[i].decisions) {
          names.push_back(decision.cluster);
          found[std::stoul(kept[i].group.index)].insert(decision.cluster);
          ASSERT_TRUE(page_of.emplace(decision.cluster, i).second) << "twice: " << decision.cluster;
        }
        ASSERT_TRUE(std::is_sorted(names.begin(), names.end()));
      }
      ASSERT_EQ(found, groups);
      for (size_t i = 0; i < stored.size() && i < kept.size(); ++i) {
        auto same_group = [&](const WantedPage& page) { return page.group == kept[i].group; };
        if (std::count_if(kept.begin(), kept.end(), same_group) <= 2) continue;
        const auto& group = groups[std::stoul(kept[i].group.index)];
        for (const Decision& decision : stored[i].decisions) {
          if (group.contains(decision.cluster)) {
            ASSERT_EQ(page_of[decision.cluster], i);
          }
        }
      }
      stored = Stored(kept);
      ASSERT_TRUE(PlanDecisionWrites("p", stored, Kept(stored, groups)).empty());
    }
  }
}

}  // namespace
}  // namespace fleet
