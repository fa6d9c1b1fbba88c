// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/managed_cluster_status.h"

#include <gtest/gtest.h>

namespace fleet {
namespace {

using kube::Json;

constexpr kube::WallTime kNow{};

TEST(ManagedClusterStatus, ReadsConditions) {
  Json cluster = kube::MustParseJson(R"({"status": {"conditions": [7, {"type": "A"},
      {"type": "ManagedClusterJoined", "status": "True"}]}})");
  EXPECT_EQ(ConditionStatus(cluster, kClusterJoined), "True");
  EXPECT_EQ(ConditionStatus(cluster, "A"), "");
  EXPECT_EQ(ConditionStatus(cluster, kHubAccepted), "");
  for (const char* text : {"{}", R"({"status": 1})", R"({"status": {"conditions": {"a": 1}}})"})
    EXPECT_EQ(ConditionStatus(kube::MustParseJson(text), kHubAccepted), "") << text;
}

TEST(ManagedClusterStatus, SetsConditionsAndKeepsTheTimeOfAStatus) {
  Json conditions = kube::MustParseJson(R"([
      {"type": "Other", "status": "True", "more": 1},
      {"type": "Mine", "status": "True", "reason": "Old", "message": "", "observedGeneration": 3,
       "lastTransitionTime": "2020-01-01T00:00:00Z"}])");
  SetCondition(conditions, {"Mine", "True", "New", "m"}, kNow);
  EXPECT_EQ(conditions[0],
            kube::MustParseJson(R"({"type": "Other", "status": "True", "more": 1})"));
  EXPECT_EQ(conditions[1],
            kube::MustParseJson(R"({"type": "Mine", "status": "True", "reason": "New",
      "message": "m", "lastTransitionTime": "2020-01-01T00:00:00Z"})"));
  SetCondition(conditions, {"Mine", "False", "New", "m"}, kNow);
  EXPECT_EQ(conditions[1]["lastTransitionTime"], "1970-01-01T00:00:00Z");
  SetCondition(conditions, {"Third", "Unknown", "New", ""}, kNow);
  ASSERT_EQ(conditions.size(), 3u);
  EXPECT_EQ(conditions[2]["status"], "Unknown");
}

TEST(LeaseDurationOf, Table) {
  struct Row {
    const char* spec;
    int want;
  };
  const Row rows[] = {{"{}", 60},
                      {R"({"leaseDurationSeconds": 10})", 10},
                      {R"({"leaseDurationSeconds": 0})", 60},
                      {R"({"leaseDurationSeconds": -1})", 60},
                      {R"({"leaseDurationSeconds": "5"})", 60},
                      {R"({"leaseDurationSeconds": 9000000000})", 3600}};
  for (const Row& row : rows) {
    Json cluster;
    cluster["spec"] = kube::MustParseJson(row.spec);
    EXPECT_EQ(LeaseDurationOf(cluster).count(), row.want) << row.spec;
  }
}

}  // namespace
}  // namespace fleet
