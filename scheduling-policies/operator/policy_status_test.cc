// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_status.h"

#include <gtest/gtest.h>

#include "api/find_condition.h"
#include "kube/base/clock.h"
#include "scheduling-policies/scheduling_policy.h"

namespace operator_ {
namespace {

using std::chrono::seconds;

constexpr kube::WallTime kNow{seconds(1'800'000'000)};
const PolicyServing kServing{.enabled = true, .available = true};

policy::SchedulingPolicy Policy() {
  policy::SchedulingPolicy policy;
  policy.ns = "shop";
  policy.name = "p";
  policy.generation = 7;
  return policy;
}

TEST(PolicyStatusTest, TheFirstReasonCounts) {
  struct Row {
    const char* name;
    PolicyView view;
    PolicyServing serving;
    const char* accepted;
    const char* ready;
    const char* message;
  };
  const PolicyView good{.selects = true, .in_force = true, .configured = true};
  const PolicyView bad{.problems = "spec.x: is wrong", .in_reserved_namespace = true};
  const PolicyServing off{};
  const PolicyServing unavailable{.enabled = true, .available = false, .cause = "QuotaExceeded"};
  const Row rows[] = {
      {"in force", good, kServing, "Accepted", "InForce", "created from now on"},
      {"plugin off", good, off, "Accepted", "Disabled", "is not enabled"},
      {"plugin off, bad", bad, off, "InvalidSpec", "Disabled", "is not enabled"},
      {"bad", bad, kServing, "InvalidSpec", "NotAccepted", "invalid"},
      {"reserved",
       {.selects = false, .in_reserved_namespace = true},
       kServing,
       "Accepted",
       "ReservedNamespace",
       "kube-*"},
      {"too large", {.too_large = true}, kServing, "Accepted", "TooLarge", "not applied"},
      {"selects nothing", {}, kServing, "Accepted", "SelectsNothing", "selector"},
      {"webhook down", good, unavailable, "Accepted", "WebhookUnavailable", "QuotaExceeded"},
      {"not configured",
       {.selects = true, .having = 2, .replicas = 2},
       kServing,
       "Accepted",
       "NotConfigured",
       "does not call the webhook"},
      {"propagating",
       {.selects = true, .configured = true, .having = 1, .replicas = 2},
       kServing,
       "Accepted",
       "Propagating",
       "1 of 2 replicas"},
  };
  for (const Row& row : rows) {
    policy::PolicyStatus status = StatusOf(Policy(), row.view, row.serving, kNow);
    EXPECT_EQ(status.observed_generation, 7) << row.name;
    const api::Condition* accepted = api::FindCondition(status.conditions, "Accepted");
    const api::Condition* ready = api::FindCondition(status.conditions, "Ready");
    ASSERT_TRUE(accepted != nullptr && ready != nullptr) << row.name;
    EXPECT_EQ(accepted->reason, row.accepted) << row.name;
    EXPECT_EQ(accepted->status, row.view.problems.empty() ? "True" : "False") << row.name;
    EXPECT_EQ(ready->reason, row.ready) << row.name;
    EXPECT_EQ(ready->status, ready->reason == "InForce" ? "True" : "False") << row.name;
    EXPECT_EQ(ready->observed_generation, 7) << row.name;
    EXPECT_NE(ready->message.find(row.message), std::string::npos) << row.name;
  }
}

TEST(PolicyStatusTest, AnUnchangedStatusIsEqual) {
  policy::SchedulingPolicy policy = Policy();
  const PolicyView view{.selects = true, .in_force = true};
  policy.status = StatusOf(policy, view, kServing, kNow);
  EXPECT_EQ(StatusOf(policy, view, kServing, kNow + seconds(60)), policy.status);
  // A new generation is another status.
  policy.generation = 8;
  EXPECT_NE(StatusOf(policy, view, kServing, kNow + seconds(60)), policy.status);
}

TEST(PolicyStatusTest, ConditionsOfOthersStay) {
  policy::SchedulingPolicy policy = Policy();
  policy.status.conditions.push_back({.type = "Reviewed", .status = "True", .reason = "Yes"});
  policy::PolicyStatus status = StatusOf(policy, {}, kServing, kNow);
  EXPECT_EQ(status.conditions.size(), 3u);
  EXPECT_NE(api::FindCondition(status.conditions, "Reviewed"), nullptr);
}

TEST(PolicyStatusTest, TheProblemsAreThoseOfTheSpec) {
  policy::PolicyStatus status =
      StatusOf(Policy(), {.problems = "spec.x: is wrong"}, kServing, kNow);
  EXPECT_EQ(api::FindCondition(status.conditions, "Accepted")->message, "spec.x: is wrong");
}

}  // namespace
}  // namespace operator_
