// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/rule_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/make_config.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"

namespace operator_ {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::HasSubstr;

const OperandOptions kOptions{.ns = "ops", .ns_uid = "uid-of-ops"};

api::PodPlacementConfig Config(const std::string& name,
                               const std::vector<std::string>& expressions) {
  return api::MakeConfig(name, "shop").Uid("u-" + name).Generation(3).Rules(expressions);
}

std::vector<std::string> Strings(const Json& list, const char* field) {
  std::vector<std::string> strings;
  for (const Json& item : list) strings.push_back(item[field]);
  return strings;
}

TEST(RulePolicyTest, AnswersForEachConfigInItsOwnWords) {
  api::PodPlacementConfig a = Config("a", {"one", "two", "three"});
  api::PodPlacementConfig b = Config("b", {"four"});
  api::PodPlacementConfig without = Config("without", {});
  LeftOutRulesOf left_out;
  left_out["a"][1] = {"spec.celRules[1].expression", "no"};
  left_out["b"][0] = {"spec.celRules[0].expression", "no"};
  DesiredObjects objects = RulePolicy("shop", {&a, &without, &b}, left_out, kOptions);
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_TRUE(objects[0].wanted);
  const Json& spec = objects[0].body["spec"];

  // A rule keeps its index if another one is left out; without any rule there is an answer, too.
  EXPECT_THAT(Strings(spec["validations"], "message"),
              ElementsAre("rule 0", "rule 2", "all rules evaluated", "all rules evaluated"));
  std::vector<std::string> expressions = Strings(spec["validations"], "expression");
  EXPECT_THAT(expressions[0],
              HasSubstr("request.options.fieldManager != 'multiarch-rules-u-a-3' || !("));
  EXPECT_THAT(expressions[0], HasSubstr("(\none\n)"));
  EXPECT_EQ(expressions[2], "request.options.fieldManager != 'multiarch-rules-u-a-3'");
  EXPECT_EQ(expressions[3], "request.options.fieldManager != 'multiarch-rules-u-b-3'");
}

TEST(RulePolicyTest, SeesOnlyQuestionsAboutPodsOfItsNamespace) {
  api::PodPlacementConfig config = Config("a", {"true"});
  DesiredObjects objects = RulePolicy("shop", {&config}, {}, kOptions);
  const Json& policy = objects[0].body;
  EXPECT_EQ(policy["metadata"]["name"], "pod-placement-shard-shop");
  EXPECT_EQ(policy["metadata"]["ownerReferences"][0]["uid"], "uid-of-ops");
  EXPECT_EQ(policy["metadata"]["labels"]["multiarch.openshift.io/shard-namespace"], "shop");
  EXPECT_EQ(policy["spec"]["failurePolicy"], "Ignore");
  const Json& match = policy["spec"]["matchConstraints"];
  EXPECT_EQ(match["namespaceSelector"]["matchExpressions"][0]["values"], Json::array({"shop"}));
  EXPECT_EQ(match["resourceRules"][0]["operations"], Json::array({"UPDATE"}));
  EXPECT_EQ(match["resourceRules"][0]["resources"], Json::array({"pods"}));
  std::string condition = policy["spec"]["matchConditions"][0]["expression"];
  EXPECT_THAT(condition, HasSubstr("request.dryRun"));
  EXPECT_THAT(condition, HasSubstr("startsWith('multiarch-rules-')"));

  const Json& binding = objects[1].body;
  EXPECT_EQ(binding["kind"], "ValidatingAdmissionPolicyBinding");
  EXPECT_EQ(binding["spec"]["policyName"], policy["metadata"]["name"]);
  EXPECT_EQ(binding["spec"]["validationActions"], Json::array({"Warn"}));
}

TEST(RulePolicyTest, IsNotWantedWithoutRules) {
  api::PodPlacementConfig config = Config("a", {});
  for (const api::PodPlacementConfigs& configs : {api::PodPlacementConfigs(), {&config}}) {
    for (const DesiredObject& object : RulePolicy("shop", configs, {}, kOptions))
      EXPECT_FALSE(object.wanted);
  }
}

}  // namespace
}  // namespace operator_
