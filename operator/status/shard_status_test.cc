// SPDX-License-Identifier: Apache-2.0
#include "operator/status/shard_status.h"

#include <gtest/gtest.h>

#include <functional>

#include "api/conditions.h"
#include "api/find_condition.h"
#include "api/testing/make_config.h"

namespace operator_ {
namespace {

using kube::Json;
using namespace std::chrono_literals;

const kube::WallTime kNow = *kube::ParseTime("2026-01-01T00:00:00Z");

api::PodPlacementConfig Config(int priority = 0) {
  return api::MakeConfig("a").Generation(3).Priority(priority);
}

ShardView Running() {
  Rollout done{.exists = true,
               .replicas = 1,
               .ready_replicas = 1,
               .available = true,
               .complete = true,
               .version = "1.2"};
  return {.operands = {.controller = done, .webhook = done, .webhook_configured = true}};
}

std::string Reason(const api::PodPlacementConfigStatus& status, std::string_view type) {
  const api::Condition* condition = api::FindCondition(status.conditions, type);
  return condition == nullptr ? "none" : condition->status + " " + condition->reason;
}

TEST(ShardStatusTest, ReportsTheOperands) {
  api::PodPlacementConfigStatus status = ShardStatus(Config(), Running(), nullptr, kNow);
  EXPECT_EQ(Reason(status, api::kAvailable), "True AsExpected");
  EXPECT_EQ(Reason(status, api::kProgressing), "False AsExpected");
  EXPECT_EQ(Reason(status, api::kDegraded), "False AsExpected");
  EXPECT_EQ(status.observed_generation, 3);
  ASSERT_EQ(status.controllers.size(), 2u);
  EXPECT_EQ(status.controllers[0],
            (api::ShardController{"pod-placement-shard-controller", "Controller", 1, 1, "1.2"}));
  EXPECT_EQ(status.controllers[1].kind, "Webhook");
}

TEST(ShardStatusTest, NamesTheFirstMissingPart) {
  struct Row {
    std::string name;
    std::function<void(ShardView&)> change;
    std::string available;
    std::string progressing;
  };
  const Row rows[] = {
      {"nothing yet", [](ShardView& view) { view = {}; }, "False ControllerNotAvailable",
       "True RollingOut"},
      {"no webhook", [](ShardView& view) { view.operands.webhook = {}; },
       "False WebhookNotAvailable", "True RollingOut"},
      {"not configured", [](ShardView& view) { view.operands.webhook_configured = false; },
       "False WebhookNotConfigured", "True RollingOut"},
      {"unreachable", [](ShardView& view) { view.operands.reach = Reach::kUnreachable; },
       "False WebhookUnreachable", "False AsExpected"},
      {"reached", [](ShardView& view) { view.operands.reach = Reach::kReached; }, "True AsExpected",
       "False AsExpected"},
      {"policies",
       [](ShardView& view) {
         view.operands = {.controller = view.operands.controller,
                          .gating_policies_configured = true,
                          .by_policy = true};
       },
       "True AsExpected", "False AsExpected"},
      {"no policies yet",
       [](ShardView& view) {
         view.operands = {.controller = view.operands.controller, .by_policy = true};
       },
       "False PoliciesNotConfigured", "True RollingOut"},
      {"from webhook to policies",
       [](ShardView& view) {
         view.operands.gating_policies_configured = true;
         view.operands.by_policy = true;
         view.operands.switching = true;
       },
       "True AsExpected", "True SwitchingGating"},
      {"from policies to webhook",
       [](ShardView& view) {
         view.operands.gating_policies_configured = true;
         view.operands.switching = true;
       },
       "True AsExpected", "True SwitchingGating"},
      {"update", [](ShardView& view) { view.operands.controller.complete = false; },
       "True AsExpected", "True RollingOut"},
      {"no cluster config", [](ShardView& view) { view = {.none = NoShard::kNoClusterConfig}; },
       "False ClusterPodPlacementConfigMissing", "False NoShard"},
      {"not selected", [](ShardView& view) { view = {.none = NoShard::kNamespaceNotSelected}; },
       "False NamespaceNotSelected", "False NoShard"},
      {"removal",
       [](ShardView& view) {
         view = {.none = NoShard::kNamespaceNotSelected, .teardown = "2 pods"};
       },
       "False NamespaceNotSelected", "True Deprovisioning"},
      {"reserved", [](ShardView& view) { view = {.none = NoShard::kReservedNamespace}; },
       "False ReservedNamespace", "False NoShard"},
  };
  for (const Row& row : rows) {
    ShardView view = Running();
    row.change(view);
    api::PodPlacementConfigStatus status = ShardStatus(Config(), view, nullptr, kNow);
    EXPECT_EQ(Reason(status, api::kAvailable), row.available) << row.name;
    EXPECT_EQ(Reason(status, api::kProgressing), row.progressing) << row.name;
  }
}

TEST(ShardStatusTest, GatedByFollowsTheShard) {
  api::PodPlacementConfig prefers = api::MakeConfig("a").Prefer("arm64", 5);
  api::PodPlacementConfig rules = api::MakeConfig("a");
  rules.spec.cel_rules = {{"r", "true", {}}};
  api::PodPlacementConfig before = prefers;
  before.status.gated_by = api::kGatedByPolicy;
  auto gated_by = [](const api::PodPlacementConfig& config, const ShardView& view,
                     const api::PodPlacementConfig* holder = nullptr) {
    return ShardStatus(config, view, holder, kNow).gated_by;
  };
  ShardView webhook = Running();
  EXPECT_EQ(gated_by(prefers, webhook), "Webhook");
  EXPECT_EQ(gated_by(rules, webhook), "Webhook");
  EXPECT_EQ(gated_by(Config(), webhook), "None") << "it prefers nothing";
  EXPECT_EQ(gated_by(prefers, webhook, &rules), "None") << "it is not in force";
  EXPECT_EQ(gated_by(before, webhook), "Policy") << "nothing was decided";
  webhook.gate_by_policy = false;
  EXPECT_EQ(gated_by(before, webhook), "Webhook");
  ShardView policy = Running();
  policy.gate_by_policy = true;
  EXPECT_EQ(gated_by(prefers, policy), "Policy");
  EXPECT_EQ(gated_by(before, policy, &rules), "None");
  EXPECT_EQ(gated_by(before, {.none = NoShard::kNamespaceNotSelected}), "None");
}

TEST(ShardStatusTest, RulesAreWhyAWebhookGates) {
  ShardView view = Running();
  view.rules_need_webhook = true;
  api::PodPlacementConfigStatus status = ShardStatus(Config(), view, nullptr, kNow);
  EXPECT_NE(api::FindCondition(status.conditions, api::kAvailable)->message.find("celRules"),
            std::string::npos);
}

TEST(ShardStatusTest, AnExcludedNamespaceIsToldWhichLabelItNeeds) {
  ShardView view = Running();
  view.none = NoShard::kNamespaceNotSelected;
  view.selector = "{team: a}";
  auto message = [&] {
    api::PodPlacementConfigStatus status = ShardStatus(Config(), view, nullptr, kNow);
    return api::FindCondition(status.conditions, api::kAvailable)->message;
  };
  constexpr char kLabel[] = "multiarch.openshift.io/include-pod-placement";
  EXPECT_EQ(message().find(kLabel), std::string::npos);
  view.excluded = true;
  EXPECT_NE(message().find(kLabel), std::string::npos);
  EXPECT_NE(message().find("{team: a}"), std::string::npos);
  view.selector = "";
  EXPECT_EQ(message().find("namespaceSelector"), std::string::npos);
}

TEST(ShardStatusTest, ANamespaceThatOptsOutIsToldTheLabelThatItHas) {
  ShardView view = Running();
  view.none = NoShard::kNamespaceNotSelected;
  view.selector = "{team: a}";
  view.opted_out = view.excluded = true;
  api::PodPlacementConfigStatus status = ShardStatus(Config(), view, nullptr, kNow);
  EXPECT_EQ(api::FindCondition(status.conditions, api::kAvailable)->message,
            "this namespace has the label multiarch.openshift.io/exclude-pod-placement: its pods "
            "are not placed by architecture");
}

TEST(ShardStatusTest, DegradedNamesTheCause) {
  ShardView view = Running();
  view.operands.problem = Problem{"FailedCreate", "exceeded quota: q"};
  EXPECT_EQ(Reason(ShardStatus(Config(), view, nullptr, kNow), api::kDegraded),
            "True FailedCreate");
  // A conflict is this config's own, whatever the shard does.
  api::PodPlacementConfig older = Config();
  EXPECT_EQ(Reason(ShardStatus(Config(), view, &older, kNow), api::kDegraded),
            "True PriorityConflict");
  EXPECT_EQ(Reason(ShardStatus(Config(), Running(), &older, kNow), api::kAvailable),
            "False PriorityConflict");
  EXPECT_EQ(Reason(ShardStatus(Config(999), view, &older, kNow), api::kDegraded),
            "True InvalidSpec");
  api::PodPlacementConfig too_large = Config();
  too_large.LeaveOut("has 70000 bytes as JSON");
  EXPECT_EQ(Reason(ShardStatus(too_large, view, nullptr, kNow), api::kDegraded), "True TooLarge");
}

TEST(ShardStatusTest, RulesThatAreNotAppliedAreNamedAtTheirConfig) {
  ShardView view = Running();
  view.left_out_rules["b"][0] = {"spec.celRules[0].expression", "no"};
  EXPECT_EQ(Reason(ShardStatus(Config(), view, nullptr, kNow), api::kDegraded), "False AsExpected");
  view.left_out_rules["a"][2] = {"spec.celRules[2].expression", "compilation failed"};
  api::PodPlacementConfigStatus status = ShardStatus(Config(), view, nullptr, kNow);
  EXPECT_EQ(Reason(status, api::kAvailable), "True AsExpected");
  EXPECT_EQ(Reason(status, api::kDegraded), "True RulesNotApplied");
  EXPECT_EQ(api::FindCondition(status.conditions, api::kDegraded)->message,
            "spec.celRules[2].expression: compilation failed. Remedy: correct or remove the rules "
            "that the message names");
}

// Caches leave out a status of more than 16 KiB (watches/config_cache.cc): it would be written anew
// each time.
TEST(ShardStatusTest, AStatusIsSmallerThanWhatCachesKeep) {
  ShardView view = Running();
  view.operands.problem = Problem{"FailedCreate", std::string(20'000, 'x')};
  view.teardown = std::string(20'000, 'x');
  api::PodPlacementConfig config = Config();
  for (int i = 0; i < 1'000; ++i)
    config.mutable_metadata()->add_finalizers("example.com/" + std::to_string(i));
  config.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1);
  api::PodPlacementConfigStatus status = ShardStatus(config, view, nullptr, kNow);
  EXPECT_LT(kube::PackJson(api::StatusToJson(status)).size(), 16u * 1024);
  EXPECT_TRUE(api::FindCondition(status.conditions, api::kDegraded)->message.ends_with("xx..."));
}

TEST(ShardStatusTest, TheSameStateIsTheSameStatus) {
  api::PodPlacementConfig config = Config();
  config.status = ShardStatus(config, Running(), nullptr, kNow);
  EXPECT_EQ(ShardStatus(config, Running(), nullptr, kNow + 1h), config.status);
}

}  // namespace
}  // namespace operator_
