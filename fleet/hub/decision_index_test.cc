// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/decision_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "fleet/api/budgets.h"
#include "fleet/api/placement_decision.h"
#include "fleet/scheduling/fleet.h"
#include "kube/types/resource.h"

namespace fleet {
namespace {

using kube::ObjectKey;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

PlacementDecision Page(const std::string& name, std::vector<Decision> decisions) {
  return {.ns = "ns",
          .name = name,
          .resource_version = "5",
          .owner_uid = "u-1",
          .placement = "p",
          .group_index = "0",
          .group_name = "",
          .decisions = std::move(decisions)};
}

TEST(DecisionIndex, WhatIsLeftOutMakesThePlacementIncomplete) {
  DecisionCounts counts;
  DecisionIndex index(counts);
  const ObjectKey placement{"ns", "p"};
  (void)index.Put(Page("p-decision-1", {{"c1"}, {"c2", 7}}));
  EXPECT_EQ(index.BytesOf(placement).own, DecisionBytes(2, true));
  EXPECT_FALSE(index.Incomplete(placement));

  // One that is stored, and one that never was.
  EXPECT_THAT(index.LeaveOut(ObjectKey{"ns", "p-decision-1"}), ElementsAre(placement));
  EXPECT_TRUE(index.Incomplete(placement));
  EXPECT_THAT(counts, IsEmpty());
  EXPECT_THAT(index.LeaveOut(Page("p-decision-2", {{"c3"}})), ElementsAre(placement));
  EXPECT_THAT(counts, IsEmpty());
  EXPECT_EQ(index.BytesOf(placement).own, 2 * DecisionBytes(0, false));
  EXPECT_FALSE(index.Incomplete({"ns", "other"}));

  // With the same resourceVersion, when there is room again.
  EXPECT_THAT(index.Put(Page("p-decision-1", {{"c1"}, {"c2", 7}})), ElementsAre(placement));
  EXPECT_TRUE(index.Incomplete(placement));
  (void)index.Remove({"ns", "p-decision-2"});
  EXPECT_FALSE(index.Incomplete(placement));
  EXPECT_THAT(index.OwnOf(placement), UnorderedElementsAre(Pair("c1", 1), Pair("c2", 1)));

  index.SetOverflow("ns");
  EXPECT_TRUE(index.Incomplete({"ns", "other"}));
  EXPECT_FALSE(index.Incomplete({"elsewhere", "p"}));
  (void)index.Remove({"ns", "p-decision-1"});
  EXPECT_EQ(index.BytesOf(placement).total, 0u);
  EXPECT_EQ(index.BytesOf(placement).of_namespace, 0u);
}

TEST(DecisionIndex, GivesBackWhatIsStored) {
  DecisionCounts counts;
  DecisionIndex index(counts);
  EXPECT_THAT(index.Put(Page("p-decision-1", {{"c1"}, {"c2", 7}})),
              ElementsAre(ObjectKey{"ns", "p"}));
  PlacementDecision hidden = Page("p-decision-2", {{"c3"}});
  hidden.placement = "";
  hidden.owner_uid = "u-old";
  hidden.group_name = std::nullopt;
  EXPECT_THAT(index.Put(hidden), IsEmpty());

  std::vector<StoredPage> pages = index.PagesOf({"ns", "p"}, "u-1", 1);
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(pages[0].name, "p-decision-1");
  EXPECT_TRUE(pages[0].visible && pages[0].owned && !pages[0].deleting);
  EXPECT_EQ(pages[0].group, (GroupLabels{"0", ""}));
  EXPECT_THAT(pages[0].decisions, ElementsAre(Decision{"c1", {}}, Decision{"c2", 7}));

  pages = index.PagesOf({"ns", "p"}, "u-1", 2);
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_FALSE(pages[1].visible || pages[1].owned || pages[1].group);
  EXPECT_THAT(index.VersionsOf({"ns", "p"}, 2),
              ElementsAre(Pair("p-decision-1", "5"), Pair("p-decision-2", "5")));
  EXPECT_THAT(index.OwnOf({"ns", "p"}), UnorderedElementsAre(Pair("c1", 1), Pair("c2", 1)));
  EXPECT_THAT(counts, UnorderedElementsAre(Pair("c1", 1), Pair("c2", 1), Pair("c3", 1)));
  EXPECT_THAT(index.PagesOf({"other", "p"}, "u-1", 2), IsEmpty());
}

TEST(DecisionIndex, GivesBackTheDecisionsOfAPlacement) {
  DecisionCounts counts;
  DecisionIndex index(counts);
  PlacementDecision page = Page("p-decision-1", {{"c1"}, {"c2", 7}});
  (void)index.Put(page);
  (void)index.Put(Page("p-decision-2", {}));
  PlacementDecision other = Page("q-decision-1", {{"c3"}});
  other.placement = "q";
  (void)index.Put(other);

  std::vector<PlacementDecision> decisions = index.DecisionsOf({"ns", "p"});
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].ns + "/" + decisions[0].name, "ns/p-decision-1");
  EXPECT_EQ(decisions[0].owner_uid, "u-1");
  EXPECT_EQ(decisions[0].placement, "p");
  EXPECT_EQ(decisions[0].group_index, "0");
  EXPECT_FALSE(decisions[0].has_status);
  EXPECT_THAT(decisions[0].decisions, ElementsAre(Decision{"c1", {}}, Decision{"c2", {}}));
  EXPECT_THAT(index.DecisionsOf({"other", "p"}), IsEmpty());

  // A first status is a change, also an empty one.
  PlacementDecision empty = Page("p-decision-2", {});
  empty.has_status = true;
  EXPECT_THAT(index.Put(empty), ElementsAre(ObjectKey{"ns", "p"}));
  decisions = index.DecisionsOf({"ns", "p"});
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_NE(decisions[0].has_status, decisions[1].has_status);
}

TEST(DecisionIndex, SaysWhoseDecisionsChanged) {
  DecisionCounts counts;
  DecisionIndex index(counts);
  PlacementDecision page = Page("p-decision-1", {{"c1"}});
  (void)index.Put(page);
  page.resource_version = "6";
  EXPECT_THAT(index.Put(page), IsEmpty());
  EXPECT_THAT(index.VersionsOf({"ns", "p"}, 0), ElementsAre(Pair("p-decision-1", "6")));
  page.placement = "q";
  EXPECT_THAT(index.Put(page), ElementsAre(ObjectKey{"ns", "p"}, ObjectKey{"ns", "q"}));
  page.owner_uid = "u-2";
  EXPECT_THAT(index.Put(page), ElementsAre(ObjectKey{"ns", "q"}));
  EXPECT_THAT(index.Remove({"ns", "p-decision-1"}), ElementsAre(ObjectKey{"ns", "q"}));
  EXPECT_THAT(index.Remove({"ns", "p-decision-1"}), IsEmpty());
  EXPECT_EQ(index.size(), 0u);
}

TEST(DecisionIndex, IgnoresOlderVersions) {
  DecisionCounts counts;
  DecisionIndex index(counts);
  PlacementDecision page = Page("p-decision-1", {{"c1"}});
  page.resource_version = "10";
  (void)index.Put(page);
  page.resource_version = "9";
  page.decisions = {{"c2"}};
  EXPECT_THAT(index.Put(page), IsEmpty());
  EXPECT_THAT(counts, UnorderedElementsAre(Pair("c1", 1)));
  page.uid = "created again";
  EXPECT_THAT(index.Put(page), ElementsAre(ObjectKey{"ns", "p"}));
  EXPECT_THAT(counts, UnorderedElementsAre(Pair("c2", 1)));
}

TEST(DecisionIndex, CountsAsAListWalkDoes) {
  std::mt19937 random(7);
  auto below = [&](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
  DecisionCounts counts;
  DecisionIndex index(counts);
  std::map<std::string, PlacementDecision> model;
  for (int step = 0; step < 2000; ++step) {
    std::string name = "p-decision-" + std::to_string(1 + below(8));
    if (below(4) == 0) {
      model.erase(name);
      (void)index.Remove({"ns", name});
    } else {
      std::vector<Decision> decisions;
      for (int i = below(6); i > 0; --i) decisions.push_back({"c" + std::to_string(below(12))});
      model[name] = Page(name, decisions);
      (void)index.Put(model[name]);
    }
    std::map<std::string, int64_t> expected;
    for (const auto& [page, decision] : model) {
      for (const Decision& entry : decision.decisions) ++expected[entry.cluster];
    }
    std::map<std::string, int64_t> counted(counts.begin(), counts.end());
    ASSERT_EQ(counted, expected) << step;
  }
}

}  // namespace
}  // namespace fleet
