// SPDX-License-Identifier: Apache-2.0
// The rules of PodPlacementConfigs in the operator: which program evaluates which rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/testing/harness.h"
#include "operator/testing/rules.h"

namespace operator_ {
namespace {

using kube::Json;
using testing::HasSubstr;
using namespace std::chrono_literals;

const kube::ObjectKey kRulePolicy{"", "pod-placement-shard-shop"};

class ShardRulesTest : public testing::Test {
 protected:
  void SetUp() override {
    h_.client = &cel_;
    h_.StartOperator();
    ASSERT_TRUE(h_.BringUpCluster());
  }
  // Gives PodPlacementConfig shop/a this rule alone.
  void SetRule(const std::string& expression) {
    Json config = *h_.api.GetJson(Harness::kConfigs, {"shop", "a"});
    Json rule = {{"name", "large"}, {"expression", expression}};
    rule["platforms"] = Json::array({Json{{"architecture", "arm64"}, {"weight", 5}}});
    config["spec"]["celRules"] = Json::array({rule});
    h_.api.UpdateJson(Harness::kConfigs, config);
  }
  void RemoveRules() {
    Json config = *h_.api.GetJson(Harness::kConfigs, {"shop", "a"});
    config["spec"].erase("celRules");
    h_.api.UpdateJson(Harness::kConfigs, config);
  }
  std::string Entries() {
    std::optional<Json> configuration = h_.WebhookConfiguration("shop");
    if (!configuration) return "none";
    std::string paths;
    for (const Json& webhook : (*configuration)["webhooks"]) {
      std::string path = kube::StringAt(webhook, "clientConfig.service.path");
      if (path != "/probe") paths += (paths.empty() ? "" : " ") + path;
    }
    return paths;
  }
  bool PolicyExists() {
    bool policy = h_.Exists(kube::kValidatingAdmissionPolicies, kRulePolicy);
    EXPECT_EQ(h_.Exists(kube::kValidatingAdmissionPolicyBindings, kRulePolicy), policy);
    return policy;
  }
  std::string PolicyText() {
    std::optional<Json> policy = h_.api.GetJson(kube::kValidatingAdmissionPolicies, kRulePolicy);
    return policy ? kube::DumpJson(*policy) : "none";
  }
  bool AwaitEntries(const std::string& entries) {
    return h_.Await([&] { return Entries() == entries; });
  }

  Harness h_;
  CelClient cel_{h_.api};
};

TEST_F(ShardRulesTest, ARuleHasAnEntryAndAnAnswer) {
  ASSERT_TRUE(h_.BringUp("shop"));
  EXPECT_FALSE(PolicyExists());
  EXPECT_EQ(cel_.dry_runs, 0);
  SetRule("one");
  ASSERT_TRUE(AwaitEntries("/local/a /local/a/large"));
  EXPECT_TRUE(PolicyExists());
  EXPECT_THAT(PolicyText(), HasSubstr("(\\none\\n)"));
  EXPECT_EQ(cel_.dry_runs, 1);
  EXPECT_EQ(h_.Condition("shop", "a", "Degraded"), "False AsExpected");

  SetRule("two");
  ASSERT_TRUE(h_.Await([&] { return PolicyText().find("(\\ntwo\\n)") != std::string::npos; }));
  // Nothing is left to do, and nothing is asked again.
  h_.Pass(30s);
  int writes = h_.Writes();
  EXPECT_EQ(cel_.dry_runs, 2);
  h_.Pass(120s);
  EXPECT_EQ(h_.Writes(), writes);
  EXPECT_EQ(cel_.dry_runs, 2);

  RemoveRules();
  ASSERT_TRUE(AwaitEntries("/local/a"));
  ASSERT_TRUE(h_.Await([&] { return !PolicyExists(); }));
}

// Rules are evaluated for gated pods before the shard runs.
TEST_F(ShardRulesTest, ThePolicyDoesNotWaitForTheShard) {
  h_.CreateConfig("shop", "a", 1);
  SetRule("one");
  ASSERT_TRUE(h_.Await([&] { return PolicyExists(); }));
  EXPECT_EQ(Entries(), "none");
}

// An API server of another version may have admitted it.
TEST_F(ShardRulesTest, ARefusedRuleIsLeftOut) {
  ASSERT_TRUE(h_.BringUp("shop"));
  SetRule("broken");
  ASSERT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Degraded") == "True RulesNotApplied"; }));
  EXPECT_THAT(h_.Message("shop", "a", "Degraded"),
              HasSubstr("spec.celRules[0].expression: compilation failed: alone"));
  EXPECT_EQ(Entries(), "/local/a");
  EXPECT_THAT(PolicyText(), testing::Not(HasSubstr("broken")));
  EXPECT_THAT(PolicyText(), HasSubstr("all rules evaluated"));

  SetRule("one");
  ASSERT_TRUE(AwaitEntries("/local/a /local/a/large"));
  ASSERT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Degraded") == "False AsExpected"; }));
}

TEST_F(ShardRulesTest, UncheckedRulesAreNotWritten) {
  ASSERT_TRUE(h_.BringUp("shop"));
  cel_.fail = true;
  SetRule("broken");
  h_.Pass(10s);
  EXPECT_GT(cel_.dry_runs, 1) << "the check is repeated";
  EXPECT_FALSE(PolicyExists());
  EXPECT_EQ(Entries(), "/local/a");
  cel_.fail = false;
  EXPECT_TRUE(
      h_.Await([&] { return h_.Condition("shop", "a", "Degraded") == "True RulesNotApplied"; }));
}

TEST_F(ShardRulesTest, AMissingPolicyIsWrittenAgain) {
  ASSERT_TRUE(h_.BringUp("shop"));
  SetRule("one");
  ASSERT_TRUE(h_.Await([&] { return PolicyExists(); }));
  h_.Pass(5s);
  h_.api.DeleteJson(kube::kValidatingAdmissionPolicies, kRulePolicy);
  h_.api.DeleteJson(kube::kValidatingAdmissionPolicyBindings, kRulePolicy);
  EXPECT_TRUE(h_.Await([&] { return PolicyExists(); }));
}

// I7
TEST_F(ShardRulesTest, TheTeardownRemovesThePolicy) {
  h_.SetNamespace("shop", {});
  ASSERT_TRUE(h_.BringUp("shop"));
  SetRule("one");
  ASSERT_TRUE(AwaitEntries("/local/a /local/a/large"));
  // The configs stay.
  h_.SetNamespaceSelector({{"matchLabels", {{"team", "a"}}}});
  ASSERT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_TRUE(h_.Await([&] { return !PolicyExists(); }));
  h_.SetNamespaceSelector(Json::object());
  ASSERT_TRUE(h_.Await([&] { return PolicyExists(); }));

  h_.DeleteConfig("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_TRUE(h_.Await([&] { return !PolicyExists(); }));
}

TEST_F(ShardRulesTest, ALeftOverPolicyIsRemovedByTheNextOperator) {
  ASSERT_TRUE(h_.BringUp("shop"));
  SetRule("one");
  ASSERT_TRUE(AwaitEntries("/local/a /local/a/large"));
  Json policy = *h_.api.GetJson(kube::kValidatingAdmissionPolicies, kRulePolicy);
  h_.DeleteConfig("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop") && !PolicyExists(); }));
  h_.StopOperator();
  h_.api.CreateJson(kube::kValidatingAdmissionPolicies, policy);
  h_.StartOperator();
  EXPECT_TRUE(
      h_.Await([&] { return !h_.Exists(kube::kValidatingAdmissionPolicies, kRulePolicy); }));
}

TEST_F(ShardRulesTest, WithoutRulesNothingIsAsked) {
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.DeleteConfig("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_EQ(h_.api.CountCalls("PATCH /apis/admissionregistration.k8s.io/v1/validatingadmission"),
            0);
  EXPECT_EQ(h_.api.CountCalls("DELETE /apis/admissionregistration.k8s.io/v1/validatingadmission"),
            0);
  EXPECT_EQ(cel_.dry_runs, 0);
}

}  // namespace
}  // namespace operator_
