// SPDX-License-Identifier: Apache-2.0
#include "operator/status/cluster_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/conditions.h"
#include "api/find_condition.h"

namespace operator_ {
namespace {

using namespace std::chrono_literals;

const kube::WallTime kNow = *kube::ParseTime("2026-01-01T00:00:00Z");

ClusterView Running() {
  Rollout done{
      .exists = true, .replicas = 2, .ready_replicas = 2, .available = true, .complete = true};
  return {.operands = {.controller = done, .webhook = done, .webhook_configured = true},
          .upgrade = UpgradeProgress{.cluster_current = true}};
}

// The condition types that are True, sorted.
std::string TrueOnes(const ClusterView& view) {
  api::ClusterPodPlacementConfigStatus status = ClusterStatus({}, view, kNow);
  EXPECT_EQ(status.conditions.size(), 8u);
  std::string types;
  for (const api::Condition& condition : status.conditions) {
    EXPECT_FALSE(condition.reason.empty()) << condition.type;
    if (condition.status == "True") types += condition.type + " ";
  }
  return types;
}

TEST(ClusterStatusTest, EveryConditionIsAlwaysSet) {
  EXPECT_EQ(TrueOnes(Running()), "Available ShardsUpToDate ");
  EXPECT_EQ(TrueOnes({.upgrade = UpgradeProgress{.outdated = 1}}),
            "Progressing PodPlacementControllerNotRolledOut PodPlacementWebhookNotRolledOut "
            "MutatingWebhookConfigurationNotAvailable ");
}

TEST(ClusterStatusTest, SaysNoMoreOfTheWebhookThanTheOperatorKnows) {
  api::ClusterPodPlacementConfigStatus status = ClusterStatus({}, Running(), kNow);
  EXPECT_THAT(api::FindCondition(status.conditions, api::kMutatingWebhookConfigurationNotAvailable)
                  ->message,
              testing::HasSubstr("is not known yet"));
}

TEST(ClusterStatusTest, AConditionOfAFeatureComesAndGoesAndIsNoProblem) {
  api::ClusterPodPlacementConfig config;
  ClusterView view = Running();
  view.of_features = {{.type = "Widgets", .state = {{false, "Disabled", "enable them"}}}};
  config.status = ClusterStatus(config, view, kNow);
  const api::Condition widgets = *api::FindCondition(config.status.conditions, "Widgets");
  EXPECT_EQ(widgets.status + widgets.reason + widgets.message, "FalseDisabledenable them");
  EXPECT_EQ(api::FindCondition(config.status.conditions, api::kDegraded)->status, "False");
  // Not known.
  view.of_features = {};
  EXPECT_EQ(*api::FindCondition(ClusterStatus(config, view, kNow + 1min).conditions, "Widgets"),
            widgets);
  view.of_features = {{.type = "Widgets", .state = {}}};
  config.status = ClusterStatus(config, view, kNow + 1min);
  EXPECT_EQ(api::FindCondition(config.status.conditions, "Widgets"), nullptr);
  EXPECT_EQ(config.status, ClusterStatus({}, Running(), kNow));
}

TEST(ClusterStatusTest, AnUpdateIsAvailableAndProgressing) {
  ClusterView view = Running();
  view.operands.webhook.complete = false;
  EXPECT_EQ(TrueOnes(view),
            "Available Progressing PodPlacementWebhookNotRolledOut ShardsUpToDate ");
}

TEST(ClusterStatusTest, AWebhookThatCallsDoNotReachIsNamed) {
  ClusterView view = Running();
  auto condition = [&] {
    api::ClusterPodPlacementConfigStatus status = ClusterStatus({}, view, kNow);
    return *api::FindCondition(status.conditions, api::kMutatingWebhookConfigurationNotAvailable);
  };
  view.operands.reach = Reach::kReached;
  EXPECT_EQ(condition().status, "False");
  EXPECT_EQ(condition().message, "the API server calls the webhook");
  // A new operator does not take it back before its first probe.
  api::ClusterPodPlacementConfig config;
  config.status = ClusterStatus({}, view, kNow);
  view.operands.reach = Reach::kUnknown;
  EXPECT_EQ(ClusterStatus(config, view, kNow + 1min).conditions, config.status.conditions);
  view.operands.reach = Reach::kUnreachable;
  EXPECT_EQ(TrueOnes(view), "MutatingWebhookConfigurationNotAvailable ShardsUpToDate ");
  EXPECT_EQ(condition().reason, "WebhookUnreachable");
  EXPECT_THAT(condition().message, testing::HasSubstr("the cluster's webhook"));

  // Policies gate the pods already.
  view.operands.by_policy = true;
  view.operands.gating_policies_configured = true;
  EXPECT_EQ(TrueOnes(view), "Available ShardsUpToDate ");
}

// Gating by policy.
TEST(ClusterStatusTest, PoliciesNeedNoWebhook) {
  ClusterView view = Running();
  view.operands.webhook = {};
  view.operands.webhook_configured = false;
  view.operands.by_policy = true;
  EXPECT_EQ(TrueOnes(view), "Progressing MutatingWebhookConfigurationNotAvailable ShardsUpToDate ");
  view.operands.gating_policies_configured = true;
  EXPECT_EQ(TrueOnes(view), "Available ShardsUpToDate ");
  api::ClusterPodPlacementConfigStatus status = ClusterStatus({}, view, kNow);
  EXPECT_EQ(api::FindCondition(status.conditions, api::kWebhookNotRolledOut)->reason,
            "GatedByPolicy");
}

TEST(ClusterStatusTest, ASwitchOfTheGatingIsAvailableAndProgressing) {
  ClusterView view = Running();
  view.operands.by_policy = true;
  view.operands.switching = true;
  EXPECT_EQ(TrueOnes(view),
            "Available Progressing MutatingWebhookConfigurationNotAvailable ShardsUpToDate ");
  view.operands.gating_policies_configured = true;
  EXPECT_EQ(TrueOnes(view), "Available Progressing ShardsUpToDate ");
  api::ClusterPodPlacementConfigStatus status = ClusterStatus({}, view, kNow);
  EXPECT_EQ(api::FindCondition(status.conditions, api::kProgressing)->reason, "SwitchingGating");
  // And back: the webhook does not run yet.
  view.operands = {.controller = view.operands.controller,
                   .gating_policies_configured = true,
                   .switching = true};
  EXPECT_EQ(TrueOnes(view),
            "Available Progressing PodPlacementWebhookNotRolledOut "
            "MutatingWebhookConfigurationNotAvailable ShardsUpToDate ");
}

TEST(ClusterStatusTest, AnApiServerWithoutPoliciesIsDegraded) {
  ClusterView view = Running();
  view.gating = Problem{"GatingByPolicyNotSupported", "no such kind"};
  EXPECT_EQ(TrueOnes(view), "Available Degraded ShardsUpToDate ");
  api::ClusterPodPlacementConfigStatus status = ClusterStatus({}, view, kNow);
  EXPECT_NE(api::FindCondition(status.conditions, api::kDegraded)->message.find("1.36"),
            std::string::npos);
}

TEST(ClusterStatusTest, AProblemIsDegraded) {
  ClusterView view = Running();
  view.operands.problem = Problem{"ImagePullBackOff", "pod p: no"};
  api::ClusterPodPlacementConfigStatus status = ClusterStatus({}, view, kNow);
  EXPECT_EQ(api::FindCondition(status.conditions, api::kDegraded)->reason, "ImagePullBackOff");
}

TEST(ClusterStatusTest, DeletionReportsWhatItWaitsFor) {
  ClusterView view = Running();
  view.deprovisioning = "3 pods";
  EXPECT_EQ(TrueOnes(view), "Available Deprovisioning ShardsUpToDate ");
  api::ClusterPodPlacementConfigStatus status = ClusterStatus({}, view, kNow);
  EXPECT_EQ(api::FindCondition(status.conditions, api::kDeprovisioning)->message, "3 pods");
}

TEST(ClusterStatusTest, AConditionOfAnOlderVersionIsRemoved) {
  api::ClusterPodPlacementConfig config;
  config.status.conditions.push_back(
      {.type = "ExecFormatErrorMonitorSupported", .status = "False", .reason = "NotSupported"});
  config.status = ClusterStatus(config, Running(), kNow);
  EXPECT_EQ(api::FindCondition(config.status.conditions, "ExecFormatErrorMonitorSupported"),
            nullptr);
}

TEST(ClusterStatusTest, TheSameStateIsTheSameStatus) {
  api::ClusterPodPlacementConfig config;
  config.status = ClusterStatus(config, Running(), kNow);
  EXPECT_EQ(ClusterStatus(config, Running(), kNow + 1h), config.status);
}

}  // namespace
}  // namespace operator_
