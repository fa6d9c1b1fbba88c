// SPDX-License-Identifier: Apache-2.0
#include "operator/gating/gating_switch.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace operator_ {
namespace {

using namespace std::chrono_literals;

constexpr GatingAction kNone = GatingAction::kNone;
constexpr GatingAction kWrite = GatingAction::kWrite;
constexpr GatingAction kRemove = GatingAction::kRemove;
constexpr GatingSupport kSupported = GatingSupport::kSupported;

// The facts of a scope whose operands are available.
GatingFacts Facts(bool by_policy, GatingSupport support, bool policies, bool configuration,
                  bool webhook, bool proven = false) {
  return {.by_policy = by_policy,
          .support = support,
          .controller_available = true,
          .webhook_available = webhook,
          .policies = policies,
          .configuration = configuration,
          .webhook = webhook,
          .policies_proven = proven};
}

// One reconcile, `at` after the first one.
struct Step {
  const char* name;
  std::chrono::milliseconds at;
  GatingFacts facts;
  GatingAction policies;
  GatingAction configuration;
  GatingAction webhook;
  // Another operator begins with this step.
  bool restart = false;
};

struct Story {
  const char* name;
  std::vector<Step> steps;
};

void PrintTo(const Story& story, std::ostream* out) { *out << story.name; }

class GatingSwitchTest : public testing::TestWithParam<Story> {};

TEST_P(GatingSwitchTest, TakesTheSteps) {
  GatingSwitch gating;
  for (const Step& step : GetParam().steps) {
    if (step.restart) gating = GatingSwitch();
    GatingPlan plan = gating.Decide(step.facts, kube::TimePoint(1h) + step.at);
    EXPECT_EQ(plan.policies, step.policies) << step.name;
    EXPECT_EQ(plan.configuration, step.configuration) << step.name;
    EXPECT_EQ(plan.webhook, step.webhook) << step.name;
    // At every step, something gates the pods.
    bool gates = (step.facts.policies && plan.policies != kRemove) ||
                 (step.facts.configuration && plan.configuration != kRemove);
    EXPECT_EQ(gates, step.facts.policies || step.facts.configuration) << step.name;
    // The API server does not call a webhook that is removed.
    EXPECT_FALSE(step.facts.configuration && plan.webhook == kRemove) << step.name;
    bool old_is_left =
        plan.by_policy ? step.facts.configuration || step.facts.webhook : step.facts.policies;
    bool undecided = step.facts.by_policy && step.facts.support == GatingSupport::kUnknown;
    EXPECT_EQ(plan.switching, old_is_left && !undecided) << step.name;
    EXPECT_GT(plan.next.value_or(1s).count(), 0) << step.name;
  }
}

const GatingSupport kNotAsked = GatingSupport::kUnknown;

INSTANTIATE_TEST_SUITE_P(
    Stories, GatingSwitchTest,
    testing::Values(
        Story{"WebhookFromTheStart",
              {{"nothing runs", 0s, {.by_policy = false}, kNone, kNone, kWrite},
               {"the controller runs",
                1s,
                {.by_policy = false, .controller_available = true, .webhook = true},
                kNone,
                kNone,
                kWrite},
               {"both run", 2s, Facts(false, kNotAsked, false, false, true), kNone, kWrite, kWrite},
               {"configured", 99s, Facts(false, kNotAsked, false, true, true), kNone, kWrite,
                kWrite}}},
        Story{"PolicyFromTheStart",
              {{"not known yet", 0s, {.by_policy = true}, kNone, kNone, kNone},
               {"supported, nothing runs",
                1s,
                {.by_policy = true, .support = kSupported},
                kNone,
                kNone,
                kNone},
               {"the controller runs", 2s, Facts(true, kSupported, false, false, false), kWrite,
                kNone, kNone},
               {"written", 3s, Facts(true, kSupported, true, false, false), kWrite, kNone, kNone},
               {"the controller is away",
                4s,
                {.by_policy = true, .support = kSupported, .policies = true},
                kWrite,
                kNone,
                kNone},
               {"a new operator does not know", 5s, Facts(true, kNotAsked, true, false, false),
                kWrite, kNone, kNone, /*restart=*/true}}},
        Story{
            "WebhookToPolicy",
            {{"webhook", 0s, Facts(false, kNotAsked, false, true, true), kNone, kWrite, kWrite},
             {"not known yet", 1s, Facts(true, kNotAsked, false, true, true), kNone, kWrite,
              kWrite},
             {"supported", 2s, Facts(true, kSupported, false, true, true), kWrite, kWrite, kWrite},
             {"written", 3s, Facts(true, kSupported, true, true, true), kWrite, kWrite, kWrite},
             {"not proven for long", 99s, Facts(true, kSupported, true, true, true), kWrite, kWrite,
              kWrite},
             {"proven", 100s, Facts(true, kSupported, true, true, true, true), kWrite, kWrite,
              kWrite},
             {"a policy changes", 105s, Facts(true, kSupported, true, true, true, false), kWrite,
              kWrite, kWrite},
             {"proven again", 106s, Facts(true, kSupported, true, true, true, true), kWrite, kWrite,
              kWrite},
             {"not settled", 115s, Facts(true, kSupported, true, true, true, true), kWrite, kWrite,
              kWrite},
             {"settled", 116s, Facts(true, kSupported, true, true, true, true), kWrite, kRemove,
              kWrite},
             {"unconfigured", 117s, Facts(true, kSupported, true, false, true, true), kWrite, kNone,
              kWrite},
             {"it may still be called", 126s, Facts(true, kSupported, true, false, true, true),
              kWrite, kNone, kWrite},
             {"it is not", 127s, Facts(true, kSupported, true, false, true, true), kWrite, kNone,
              kRemove},
             {"removed", 128s, Facts(true, kSupported, true, false, false, true), kWrite, kNone,
              kNone}}},
        Story{"WebhookToPolicyWithRestarts",
              {{"proven", 0s, Facts(true, kSupported, true, true, true, true), kWrite, kWrite,
                kWrite},
               {"a new operator waits again", 20s, Facts(true, kNotAsked, true, true, true), kWrite,
                kWrite, kWrite, /*restart=*/true},
               {"it has no proof", 21s, Facts(true, kSupported, true, true, true), kWrite, kWrite,
                kWrite},
               {"proven again", 22s, Facts(true, kSupported, true, true, true, true), kWrite,
                kWrite, kWrite},
               {"settled", 32s, Facts(true, kSupported, true, true, true, true), kWrite, kRemove,
                kWrite},
               {"a new operator finds no configuration", 40s,
                Facts(true, kSupported, true, false, true), kWrite, kNone, kWrite,
                /*restart=*/true},
               {"settled again", 50s, Facts(true, kSupported, true, false, true), kWrite, kNone,
                kRemove},
               {"a new operator finds a rest of the webhook", 51s,
                Facts(true, kSupported, true, false, true), kWrite, kNone, kWrite,
                /*restart=*/true},
               {"and removes it", 61s, Facts(true, kSupported, true, false, true), kWrite, kNone,
                kRemove}}},
        Story{
            "PolicyToWebhook",
            {{"policy", 0s, Facts(true, kSupported, true, false, false), kWrite, kNone, kNone},
             {"webhook wanted", 1s, Facts(false, kNotAsked, true, false, false), kWrite, kNone,
              kWrite},
             {"not available for long", 99s, Facts(false, kNotAsked, true, false, false), kWrite,
              kNone, kWrite},
             {"available", 100s, Facts(false, kNotAsked, true, false, true), kWrite, kWrite,
              kWrite},
             {"configured", 101s, Facts(false, kNotAsked, true, true, true), kWrite, kWrite,
              kWrite},
             {"not available for a moment",
              105s,
              {.by_policy = false,
               .controller_available = true,
               .policies = true,
               .configuration = true,
               .webhook = true},
              kWrite,
              kWrite,
              kWrite},
             {"available again", 106s, Facts(false, kNotAsked, true, true, true), kWrite, kWrite,
              kWrite},
             {"a new operator waits again", 116s, Facts(false, kNotAsked, true, true, true), kWrite,
              kWrite, kWrite, /*restart=*/true},
             {"settled", 126s, Facts(false, kNotAsked, true, true, true), kRemove, kWrite, kWrite},
             {"removed", 127s, Facts(false, kNotAsked, false, true, true), kNone, kWrite, kWrite}}},
        Story{
            "ThereAndBackInTheMiddle",
            {{"proven", 0s, Facts(true, kSupported, true, true, true, true), kWrite, kWrite,
              kWrite},
             {"unconfigured", 11s, Facts(true, kSupported, true, false, true, true), kWrite, kNone,
              kWrite},
             {"webhook wanted again", 12s, Facts(false, kNotAsked, true, false, true), kWrite,
              kWrite, kWrite},
             {"configured", 13s, Facts(false, kNotAsked, true, true, true), kWrite, kWrite, kWrite},
             {"policy wanted again", 20s, Facts(true, kSupported, true, true, true), kWrite, kWrite,
              kWrite}}},
        Story{"APolicyThatSomebodyDeleted",
              {{"proven", 0s, Facts(true, kSupported, true, true, true, true), kWrite, kWrite,
                kWrite},
               {"one is missing",
                11s,
                {.by_policy = true,
                 .support = kSupported,
                 .controller_available = true,
                 .webhook_available = true,
                 .policies = true,
                 .configuration = true,
                 .webhook = true,
                 .policies_proven = true,
                 .policies_missing = true},
                kWrite,
                kWrite,
                kWrite},
               {"written again", 12s, Facts(true, kSupported, true, true, true, true), kWrite,
                kRemove, kWrite}}},
        Story{"AWebhookThatSomebodyDeleted",
              {{"not known yet", 0s, Facts(true, kNotAsked, false, true, false), kNone, kWrite,
                kWrite},
               {"supported", 1s, Facts(true, kSupported, true, true, false), kWrite, kWrite,
                kWrite}}},
        Story{"NotServed",
              {{"not known yet", 0s, Facts(true, kNotAsked, false, true, true), kNone, kWrite,
                kWrite},
               {"the webhook stays", 1s, Facts(true, GatingSupport::kNotServed, false, true, true),
                kNone, kWrite, kWrite},
               {"an upgraded API server", 99s, Facts(true, kSupported, false, true, true), kWrite,
                kWrite, kWrite}}},
        Story{"NotServedFromTheStart",
              {{"not known yet", 0s, {.by_policy = true}, kNone, kNone, kNone},
               {"a webhook instead",
                1s,
                {.by_policy = true, .support = GatingSupport::kNotServed},
                kNone,
                kNone,
                kWrite}}},
        Story{"NoLongerInForce",
              {{"policy", 0s, Facts(true, kSupported, true, false, false), kWrite, kNone, kNone},
               {"not applied", 1s, Facts(true, GatingSupport::kNotInForce, true, false, false),
                kWrite, kNone, kWrite},
               {"the webhook is configured", 2s,
                Facts(true, GatingSupport::kNotInForce, true, true, true), kWrite, kWrite, kWrite},
               {"settled", 12s, Facts(true, GatingSupport::kNotInForce, true, true, true), kRemove,
                kWrite, kWrite}}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(GatingSwitchProofTest, IsNeededOnlyToRemoveAWebhookConfiguration) {
  GatingSwitch gating;
  kube::TimePoint now(1h);
  EXPECT_TRUE(gating.Decide(Facts(true, kSupported, true, true, true), now).needs_proof);
  EXPECT_FALSE(gating.Decide(Facts(true, kSupported, true, true, true, true), now).needs_proof);
  EXPECT_FALSE(gating.Decide(Facts(true, kSupported, true, false, true), now).needs_proof);
  EXPECT_FALSE(gating.Decide(Facts(false, kSupported, true, true, true), now).needs_proof);
}

}  // namespace
}  // namespace operator_
