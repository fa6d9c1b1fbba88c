// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/decision_events.h"

#include <gtest/gtest.h>

namespace fleet {
namespace {

const kube::ObjectKey kPlacement{"ns1", "p"};

TEST(DecisionEvents, WithoutAWriteOnlyNewWarnings) {
  EXPECT_TRUE(EventsOf(kPlacement, {.totals = {{"c1", 1}}}).empty());
  DecisionChanges changes{.warnings = {"expired", "b", "c", "d"}, .totals = {{"c1", 1}}};
  std::vector<DecisionEvent> expected = {{true, "ScoresExpired", "expired; b; c; and 1 more"}};
  EXPECT_EQ(EventsOf(kPlacement, changes), expected);
  changes.warned_before = true;
  EXPECT_TRUE(EventsOf(kPlacement, changes).empty());
}

TEST(DecisionEvents, OneOfEachKind) {
  std::vector<DecisionEvent> events = EventsOf(
      kPlacement,
      {.created = {"p-decision-1"},
       .updated = {"p-decision-2", "p-decision-3"},
       .deleted = {"p-decision-4", "p-decision-5", "p-decision-6", "p-decision-7", "p-decision-8"},
       .totals = {{"c1", 100}, {"c2", 0}, {"c3", -200}}});
  std::vector<DecisionEvent> expected = {
      {false, "DecisionCreate",
       "Decision p-decision-1 is created with placement p in namespace ns1"},
      {false, "DecisionUpdate",
       "Decisions p-decision-2, p-decision-3 are updated with placement p in namespace ns1"},
      {false, "DecisionDelete",
       "Decisions p-decision-4, p-decision-5, p-decision-6 and 2 more are deleted with placement p "
       "in namespace ns1"},
      {false, "ScoreUpdate", "c1:100 c2:0 c3:-200 "}};
  EXPECT_EQ(events, expected);
}

TEST(DecisionEvents, ExpiredScoresAreAWarning) {
  DecisionChanges changes{.updated = {"p-decision-1"}, .warnings = {"a", "b", "c", "d", "e"}};
  std::vector<DecisionEvent> expected = {
      {true, "DecisionUpdate",
       "Decision p-decision-1 is updated with placement p in namespace ns1: a; b; c; and 2 more"}};
  EXPECT_EQ(EventsOf(kPlacement, changes), expected);
}

TEST(DecisionEvents, ScoresAreCut) {
  DecisionChanges changes{.created = {"p-decision-1"}};
  for (int i = 1000; i < 2000; ++i) changes.totals.emplace_back("c" + std::to_string(i), 100);
  std::string message = EventsOf(kPlacement, changes).back().message;
  // "c1000:100 " has 10 bytes.
  EXPECT_EQ(message.size(), 1006u);
  EXPECT_TRUE(message.ends_with("c1099:100 ......")) << message;
}

}  // namespace
}  // namespace fleet
