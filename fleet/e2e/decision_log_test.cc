// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/decision_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fleet/testing/make_object.h"

namespace e2e {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

const kube::ObjectKey kApp{"ns", "app"};

Json Decision(const std::string& name, const std::vector<std::string>& clusters,
              const std::string& placement = "app") {
  return fleet::MakePlacementDecision("ns", name, placement, clusters);
}

TEST(DecisionLogTest, KnowsWhatEachPlacementSelects) {
  DecisionLog log;
  log.On("ADDED", Decision("app-decision-1", {"a", "b"}));
  log.On("ADDED", Decision("other-decision-1", {"b"}, "other"));
  EXPECT_THAT(log.Of(kApp), UnorderedElementsAre(Pair("a", 1), Pair("b", 1)));
  EXPECT_TRUE(log.Selects(kApp, "a"));
  EXPECT_FALSE(log.Selects({"ns", "other"}, "a"));
  EXPECT_EQ(log.EntriesOf("b"), 2);
  EXPECT_EQ(log.pages(), 2u);

  log.On("MODIFIED", Decision("app-decision-1", {"b"}));
  log.On("DELETED", Decision("other-decision-1", {"b"}, "other"));
  EXPECT_THAT(log.Of(kApp), UnorderedElementsAre(Pair("b", 1)));
  EXPECT_EQ(log.EntriesOf("a"), 0);
  EXPECT_EQ(log.pages(), 1u);
  EXPECT_EQ(log.events(), 4);
}

TEST(DecisionLogTest, AClusterThatMovesByWayOfBothPagesIsNeverMissing) {
  DecisionLog log;
  log.On("ADDED", Decision("app-decision-1", {"a", "b"}));
  log.On("ADDED", Decision("app-decision-2", {"c"}));
  log.On("MODIFIED", Decision("app-decision-1", {"a", "b", "c"}));
  log.On("MODIFIED", Decision("app-decision-2", {"d"}));
  log.On("MODIFIED", Decision("app-decision-1", {"b", "c"}));
  EXPECT_THAT(log.missing(), IsEmpty());
  EXPECT_THAT(log.Left(), ElementsAre("ns/app a"));
}

TEST(DecisionLogTest, AClusterThatLeavesAndComesBackWasMissing) {
  DecisionLog log;
  log.On("ADDED", Decision("app-decision-1", {"a", "b"}));
  log.On("MODIFIED", Decision("app-decision-1", {"b"}));
  log.On("ADDED", Decision("other-decision-1", {"a"}, "other"));
  EXPECT_THAT(log.missing(), IsEmpty());
  log.On("ADDED", Decision("app-decision-2", {"a"}));
  EXPECT_THAT(log.missing(), ElementsAre("ns/app a"));
  EXPECT_EQ(log.missing_count(), 1);
}

TEST(DecisionLogTest, AnotherChangeMayBringItBack) {
  DecisionLog log;
  log.On("ADDED", Decision("app-decision-1", {"a"}));
  log.On("MODIFIED", Decision("app-decision-1", {}));
  log.BeginChange();
  log.On("MODIFIED", Decision("app-decision-1", {"a"}));
  EXPECT_THAT(log.missing(), IsEmpty());
}

TEST(DecisionLogTest, ADecisionWithoutItsLabelIsNotThere) {
  DecisionLog log;
  log.On("ADDED", Decision("app-decision-1", {"a"}));
  log.On("MODIFIED", Decision("app-decision-1", {"a"}, ""));
  EXPECT_THAT(log.Left(), ElementsAre("ns/app a"));
  log.On("MODIFIED", Decision("app-decision-1", {"a"}));
  EXPECT_EQ(log.missing_count(), 1);
}

}  // namespace
}  // namespace e2e
