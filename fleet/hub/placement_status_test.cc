// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/placement_status.h"

#include <gtest/gtest.h>

#include <chrono>

#include "api/conditions.h"
#include "fleet/api/placement.h"
#include "kube/base/clock.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Json;
using namespace std::chrono_literals;

const kube::WallTime kNow = kube::ParseTime("2026-01-01T00:00:00Z").value();

PlacementView AllScheduled() {
  return {.satisfied = true,
          .reason = "AllDecisionsScheduled",
          .message = "All cluster decisions scheduled",
          .groups = {{0, "canary", {"p-decision-1"}, 2}, {1, "", {"p-decision-2"}, 1}}};
}

Placement WithStatus(int64_t generation, PlacementStatus status) {
  Placement placement;
  placement.generation = generation;
  placement.status = std::move(status);
  return placement;
}

TEST(PlacementStatus, SaysWhatWasDecided) {
  PlacementStatus status = StatusOf(WithStatus(3, {}), AllScheduled(), kNow);
  EXPECT_EQ(StatusToJson(status), kube::MustParseJson(R"({
    "numberOfSelectedClusters": 3,
    "decisionGroups": [
      {"decisionGroupIndex": 0, "decisionGroupName": "canary", "decisions": ["p-decision-1"],
       "clusterCount": 2},
      {"decisionGroupIndex": 1, "decisionGroupName": "", "decisions": ["p-decision-2"],
       "clusterCount": 1}],
    "conditions": [
      {"type": "PlacementMisconfigured", "status": "False", "reason": "Succeedconfigured",
       "message": "Placement configurations check pass", "observedGeneration": 3,
       "lastTransitionTime": "2026-01-01T00:00:00Z"},
      {"type": "PlacementSatisfied", "status": "True", "reason": "AllDecisionsScheduled",
       "message": "All cluster decisions scheduled", "observedGeneration": 3,
       "lastTransitionTime": "2026-01-01T00:00:00Z"}]})"));
}

TEST(PlacementStatus, IsTheSameWhenNothingChanged) {
  PlacementStatus status = StatusOf(WithStatus(3, {}), AllScheduled(), kNow);
  EXPECT_EQ(StatusOf(WithStatus(3, status), AllScheduled(), kNow + 1h), status);
  EXPECT_NE(StatusOf(WithStatus(4, status), AllScheduled(), kNow + 1h), status);
}

TEST(PlacementStatus, SaysLittleElseWhileDecisionsAreKept) {
  PlacementStatus before = StatusOf(WithStatus(3, {}), AllScheduled(), kNow);
  PlacementView view{.misconfigured = "Predicate:invalid label selector", .kept = true};
  PlacementStatus after = StatusOf(WithStatus(4, before), view, kNow + 1h);
  EXPECT_EQ(after.decision_groups, before.decision_groups);
  EXPECT_EQ(after.number_of_selected_clusters, 3);
  ASSERT_EQ(after.conditions.size(), 2u);
  EXPECT_EQ(after.conditions[0],
            (api::Condition{"PlacementMisconfigured", "True", "Misconfigured",
                            "Predicate:invalid label selector", 4, "2026-01-01T01:00:00Z"}));
  EXPECT_EQ(after.conditions[1], before.conditions[1]);
}

TEST(PlacementStatus, KeepsWhatIsOfOthers) {
  PlacementStatus stored;
  stored.conditions.push_back({"Other", "True", "Because", "text", 1, "2025-01-01T00:00:00Z"});
  stored.last_score_update_time = "2025-02-01T00:00:00Z";
  PlacementView view = AllScheduled();
  PlacementStatus status = StatusOf(WithStatus(1, stored), view, kNow);
  ASSERT_EQ(status.conditions.size(), 3u);
  EXPECT_EQ(status.conditions[0], stored.conditions[0]);
  EXPECT_EQ(status.last_score_update_time, "2025-02-01T00:00:00Z");
  view.scores_written = kNow;
  EXPECT_EQ(StatusOf(WithStatus(1, stored), view, kNow).last_score_update_time,
            "2026-01-01T00:00:00Z");
}

}  // namespace
}  // namespace fleet
