// SPDX-License-Identifier: Apache-2.0
#include "operator/rules/rule_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/make_config.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace operator_ {
namespace {

using kube::Code;
using kube::Error;
using kube::Json;
using kube::Result;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

constexpr char kDryRun[] =
    "POST /apis/admissionregistration.k8s.io/v1/"
    "mutatingwebhookconfigurations?dryRun=All";

// The answer of an API server 1.36 about a rule that does not compile, one without fault, and one
// that uses `request`.
Error Refusal() {
  const std::string open =
      R"("[0].all(request, [0].all(oldObject, [0].all(authorizer, [0].all(namespaceObject, (\n)";
  const std::string conditions = "webhooks[0].matchConditions[";
  std::string message =
      "MutatingWebhookConfiguration.admissionregistration.k8s.io \"x\" is invalid: [" + conditions +
      "0].expression: Invalid value: \"object.metadata.name == \\\"a\\\" >\": compilation failed: "
      "ERROR: <input>:1:31: Syntax error\n | ...^, " +
      conditions + "1].expression: Invalid value: " + open +
      "object.metadata.name == \\\"a\\\" >\\n)))))\": compilation failed: ERROR: <input>:3:1\n | "
      "^, " +
      conditions + "5].expression: Invalid value: " + open +
      "request.operation == 'CREATE'\\n)))))\": compilation failed: ERROR: <input>:2:8: type 'int' "
      "does not support field selection\n | ...^]";
  return Error::FromHttpStatus(422, "Invalid", message)
      .WithCauses({{"FieldValueInvalid", "cut", "webhooks[0].matchConditions[0].expression"},
                   {"FieldValueInvalid", "cut", "webhooks[0].matchConditions[1].expression"},
                   {"FieldValueInvalid", "cut", "webhooks[0].matchConditions[5].expression"}});
}

std::vector<api::CelRule> Rules(std::initializer_list<const char*> expressions) {
  std::vector<api::CelRule> rules;
  for (const char* expression : expressions)
    rules.push_back({.name = "r" + std::to_string(rules.size()), .expression = expression});
  return rules;
}

class RuleCheckTest : public testing::Test {
 protected:
  Result<LeftOutRules> Check(std::initializer_list<const char*> expressions) {
    return kube::Run(io_, CheckRules(api_, Rules(expressions)));
  }
  static api::PodPlacementConfig Config(const std::string& name, int generation, size_t rules) {
    return api::MakeConfig(name, "shop")
        .Uid("uid-" + name)
        .Generation(generation)
        .Rules(std::vector<std::string>(rules, "true"));
  }
  Result<LeftOutRulesOf> LeftOut(const std::vector<api::PodPlacementConfig>& configs) {
    api::PodPlacementConfigs in_force;
    for (const api::PodPlacementConfig& config : configs) in_force.push_back(&config);
    return kube::Run(io_, checks_.LeftOut("shop", in_force));
  }

  boost::asio::io_context io_;
  kube::FakeApiServer api_;
  RuleChecks checks_{api_};
};

TEST_F(RuleCheckTest, AsksAboutEachExpressionAloneAndRestricted) {
  EXPECT_THAT(Check({}).value(), IsEmpty());
  EXPECT_EQ(api_.CountCalls(""), 0);

  EXPECT_THAT(Check({"true", "false // no"}).value(), IsEmpty());
  EXPECT_EQ(api_.CountCalls(kDryRun), 1);
  EXPECT_EQ(api_.CountCalls(""), 1);
  Json conditions = kube::MustParseJson(api_.LastBody(kDryRun))["webhooks"][0]["matchConditions"];
  ASSERT_THAT(conditions, SizeIs(4));
  EXPECT_EQ(conditions[2]["expression"], "false // no");
  EXPECT_THAT(conditions[3]["expression"].get<std::string>(), HasSubstr("(\nfalse // no\n)"));
}

TEST_F(RuleCheckTest, SaysWhatTheApiServerSays) {
  api_.FailNext(Refusal(), kDryRun);
  LeftOutRules refused =
      Check({"object.metadata.name == \"a\" >", "true", "request.operation == 'CREATE'"}).value();
  ASSERT_THAT(refused, ElementsAre(Pair(0, testing::_), Pair(2, testing::_)));
  EXPECT_EQ(refused[0].field, "spec.celRules[0].expression");
  EXPECT_EQ(refused[0].message, "compilation failed: ERROR: <input>:1:31: Syntax error\n | ...^");
  EXPECT_EQ(refused[2].field, "spec.celRules[2].expression");
  EXPECT_THAT(refused[2].message, StartsWith("must use only the variable object"));
  EXPECT_THAT(refused[2].message, EndsWith("does not support field selection\n | ...^"));
}

// The API server accepts it.
TEST_F(RuleCheckTest, TheResourceOfTheRequestIsNoPartOfThePod) {
  LeftOutRules refused =
      Check({"true", "authorizer.requestResource.check('get').allowed()"}).value();
  ASSERT_THAT(refused, ElementsAre(Pair(1, testing::_)));
  EXPECT_THAT(refused[1].message, HasSubstr("authorizer"));
}

TEST_F(RuleCheckTest, AnotherErrorIsNoAnswer) {
  const Error errors[] = {
      Error::DeadlineExceeded("slow"),
      Error::FromHttpStatus(403, "Forbidden", "no right"),
      Error::FromHttpStatus(400, "BadRequest", "no dry run"),
      Error::FromHttpStatus(422, "Invalid", "no")
          .WithCauses({{"Invalid", "x", "webhooks[0].name"}}),
      Error::FromHttpStatus(422, "Invalid", "no")
          .WithCauses({{"Invalid", "x", "webhooks[0].matchConditions[2].expression"}}),
      Error::FromHttpStatus(422, "Invalid", "no")
          .WithCauses({{"Invalid", "x", "webhooks[0].matchConditions[x].expression"}}),
  };
  for (const Error& error : errors) {
    api_.FailNext(error, kDryRun);
    EXPECT_THAT(Check({"true"}), kube::FailsWith(error.code())) << error;
  }
}

TEST_F(RuleCheckTest, AGenerationIsCheckedOnce) {
  api_.FailNext(Refusal(), kDryRun);
  LeftOutRulesOf first = LeftOut({Config("a", 1, 3), Config("b", 1, 0)}).value();
  EXPECT_TRUE(IsLeftOut(first, "a", 0));
  EXPECT_FALSE(IsLeftOut(first, "a", 1));
  EXPECT_TRUE(IsLeftOut(first, "a", 2));
  EXPECT_EQ(LeftOut({Config("a", 1, 3)}).value(), first);
  EXPECT_EQ(api_.CountCalls(kDryRun), 1);

  EXPECT_THAT(LeftOut({Config("a", 2, 3)}).value(), IsEmpty());
  EXPECT_EQ(api_.CountCalls(kDryRun), 2);
}

TEST_F(RuleCheckTest, AFailedCheckIsRepeated) {
  api_.FailNext(Error::Unavailable("503"), kDryRun);
  EXPECT_THAT(LeftOut({Config("a", 1, 1)}), kube::FailsWith(Code::kUnavailable));
  EXPECT_THAT(LeftOut({Config("a", 1, 1)}).value(), IsEmpty());
  EXPECT_EQ(api_.CountCalls(kDryRun), 2);
}

TEST_F(RuleCheckTest, RulesBeyondTheLimitOfANamespaceAreLeftOut) {
  std::vector<api::PodPlacementConfig> configs;
  for (size_t rules = 0; rules < kMaxNamespaceRules + 1; rules += api::kMaxCelRules)
    configs.push_back(Config("c" + std::to_string(rules), 1, api::kMaxCelRules));
  LeftOutRulesOf left_out = LeftOut(configs).value();
  ASSERT_THAT(left_out, SizeIs(1));
  EXPECT_THAT(left_out[configs.back().metadata().name()], SizeIs(api::kMaxCelRules));
  configs.erase(configs.begin());
  EXPECT_THAT(LeftOut(configs).value(), IsEmpty());
}

}  // namespace
}  // namespace operator_
