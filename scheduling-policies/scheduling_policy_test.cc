// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/scheduling_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduling-policies/testing/specs.h"
#include "scheduling-policies/testing/words.h"
#include "scheduling-policies/warnings.h"

namespace policy {
namespace {

using kube::Json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SchedulingPolicy Parse(const Json& json, Scope scope = Scope::kCluster) {
  auto policy = SchedulingPolicy::FromJson(json, scope);
  EXPECT_TRUE(policy) << policy.error();
  return policy ? *policy : SchedulingPolicy();
}

SchedulingPolicy WithSpec(const std::string& spec) {
  Json json = {{"metadata", {{"name", "p"}, {"generation", 3}}}};
  json["spec"] = kube::MustParseJson(spec);
  return Parse(json);
}

TEST(SchedulingPolicyTest, ReadsAPolicy) {
  SchedulingPolicy policy =
      Parse(PolicyJson("C-dedicated [a][] node=n sched=s k:v P9[b] t(k=v) T A5"));
  EXPECT_EQ(api::Describe(policy.problems), "");
  EXPECT_EQ(policy.Describe(), "ClusterPodSchedulingPolicy dedicated");
  EXPECT_TRUE(policy.pod_selector && policy.namespace_selector);
  EXPECT_EQ(policy.criteria.node_selector.at("k"), "v");
  EXPECT_EQ(policy.criteria.node_name, "n");
  EXPECT_EQ(policy.criteria.scheduler_name, "s");
  EXPECT_EQ(policy.criteria.required_terms.size(), 1u) << "an empty term matches nothing";
  EXPECT_EQ(policy.criteria.tolerations.size(), 1u);
  EXPECT_EQ(policy.criteria.affinity_terms[0].size(), 1u);
  EXPECT_EQ(policy.criteria.affinity_terms[2].size(), 1u);
  EXPECT_EQ(policy.criteria.affinity_terms[3].size(), 1u);
  EXPECT_EQ(Parse(PolicyJson("N-a k:v"), Scope::kNamespace).Describe(),
            "PodSchedulingPolicy shop/a");
}

// Everything may be absent, as in kupid's API.
TEST(SchedulingPolicyTest, AnEmptyPolicyIsValid) {
  for (const char* json : {"{}", R"({"spec": null})", R"({"spec": {"foo": "bar"}})"}) {
    SchedulingPolicy policy = Parse(kube::MustParseJson(json));
    EXPECT_EQ(api::Describe(policy.problems), "") << json;
    EXPECT_FALSE(policy.pod_selector);
    EXPECT_TRUE(policy.criteria.empty());
  }
  EXPECT_TRUE(kube::FailedWith(SchedulingPolicy::FromJson(Json::array(), Scope::kCluster),
                               kube::Code::kInvalid));
}

TEST(SchedulingPolicyTest, KeepsKnownFieldsOnly) {
  SchedulingPolicy policy = WithSpec(PodTermSpec(
      R"({"topologyKey": "a", "future": 1, "namespaces": [], "namespaceSelector": {}, "labelSelector": {"matchLabels": {"a": "b"}, "more": 1}})"));
  EXPECT_EQ(
      policy.criteria.affinity_terms[3][0].json,
      kube::MustParseJson(
          R"({"topologyKey": "a", "namespaceSelector": {}, "labelSelector": {"matchLabels": {"a": "b"}}})"));
}

TEST(SchedulingPolicyTest, RefusesWhatTheApiServerRefusesInAPod) {
  for (const WrongSpec& c : WrongSpecs()) {
    SchedulingPolicy policy = WithSpec(c.spec);
    ASSERT_FALSE(policy.problems.empty()) << c.spec;
    auto as_expected = [&](const api::FieldError& error) {
      return error.field.find(c.field) != std::string::npos &&
             error.message.find(c.message) != std::string::npos;
    };
    EXPECT_TRUE(std::any_of(policy.problems.begin(), policy.problems.end(), as_expected))
        << c.spec << ": " << api::Describe(policy.problems);
  }
}

TEST(SchedulingPolicyTest, SizesAreBounded) {
  Json spec = Json::object();
  for (size_t i = 0; i <= kMaxEntries; ++i) {
    spec["nodeSelector"]["a" + std::to_string(i)] = "b";
    spec["tolerations"].push_back({{"operator", "Exists"}});
  }
  SchedulingPolicy policy = WithSpec(kube::DumpJson(spec));
  EXPECT_THAT(api::Describe(policy.problems),
              AllOf(HasSubstr("spec.nodeSelector: must have at most 100 entries"),
                    HasSubstr("spec.tolerations: must have at most 100 items")));
}

TEST(SchedulingPolicyTest, AcceptsWhatTheApiServerAcceptsInAPod) {
  for (const std::string& spec : RightSpecs()) {
    EXPECT_EQ(api::Describe(WithSpec(spec).problems), "") << spec;
  }
}

TEST(SchedulingPolicyTest, TheStatusIsRead) {
  Json json = PolicyJson("N k:v");
  Json condition = {{"type", kReady},          {"status", "True"},
                    {"reason", "InForce"},     {"message", ""},
                    {"observedGeneration", 3}, {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
  json["status"] = {{"observedGeneration", 3}, {"conditions", {condition}}};
  SchedulingPolicy policy = Parse(json, Scope::kNamespace);
  ASSERT_EQ(policy.status.conditions.size(), 1u);
  EXPECT_EQ(policy.status.conditions[0].type, kReady);
  EXPECT_EQ(StatusToJson(policy.status), json["status"]);
}

TEST(WarningsTest, NameWhatIsProbablyNotMeant) {
  const std::string selectors = R"("podSelector": {}, "namespaceSelector": {}, )";
  auto with = [&](const std::string& spec) { return "{" + selectors + spec.substr(1); };
  struct Case {
    std::string spec;
    const char* warning;  // "": none
  };
  const Case cases[] = {
      {with(R"({"nodeSelector": {"a": "b"}})"), ""},
      {R"({"podSelector": {}, "nodeSelector": {"a": "b"}})", "spec.namespaceSelector is absent"},
      {R"({"namespaceSelector": {}, "nodeSelector": {"a": "b"}})", "spec.podSelector is absent"},
      {R"({"podSelector": {}, "namespaceSelector": {}})", "no criteria"},
      {with(R"({"nodeName": "n"})"), ""},
      {with(R"({"nodeName": "n", "tolerations": [{"operator": "Exists"}]})"), ""},
      {with(R"({"nodeName": "n", "schedulerName": "s"})"), "spec.nodeName bypasses the scheduler"},
      {with(R"({"nodeSelector": {"kubernetes.io/arch": "arm64"}})"), "kubernetes.io/arch"},
      {with(ExpressionSpec(R"({"key": "kubernetes.io/arch", "operator": "Exists"})")),
       "kubernetes.io/arch"},
      {with(R"({"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
           [{"weight": 1, "preference": {"matchExpressions":
           [{"key": "kubernetes.io/arch", "operator": "Exists"}]}}]}}})"),
       "kubernetes.io/arch"},
      {with(ExpressionSpec(R"({"key": "a", "operator": "Gt", "values": ["b"]})")),
       "needs an integer"},
      {with(ExpressionSpec(R"({"key": "a", "operator": "In", "values": ["b"]},
                          {"key": "a", "operator": "In", "values": ["c"]})")),
       "requirements on a exclude each other"},
      {with(ExpressionSpec(R"({"key": "a", "operator": "In", "values": ["b", "c"]},
                          {"key": "a", "operator": "NotIn", "values": ["c"]})")),
       ""},
      {with(ExpressionSpec(R"({"key": "a", "operator": "Exists"},
                          {"key": "a", "operator": "DoesNotExist"})")),
       "requirements on a exclude each other"},
      {R"({"podSelector": {"matchLabels": {"a": "b"}, "matchExpressions":
           [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, "namespaceSelector": {},
           "nodeSelector": {"a": "b"}})",
       "spec.podSelector selects no pods"},
      {with(PodTermSpec(R"({"topologyKey": "a", "namespaceSelector": {}})")), "all namespaces"},
      {with(PodTermSpec(R"({"topologyKey": "a", "namespaceSelector": {"matchExpressions":
           [{"key": "a", "operator": "DoesNotExist"}]}})")),
       "use In"},
      {with(AffinitySpec("podAffinity", R"([{"topologyKey": "a", "namespaceSelector": {}}])")), ""},
  };
  for (const Case& c : cases) {
    std::vector<std::string> warnings = WarningsFor(WithSpec(c.spec));
    if (std::string(c.warning).empty()) {
      EXPECT_THAT(warnings, IsEmpty()) << c.spec;
    } else {
      EXPECT_THAT(warnings, ElementsAre(HasSubstr(c.warning))) << c.spec;
    }
  }
}

TEST(WarningsTest, AreBounded) {
  Json spec = {{"podSelector", Json::object()}, {"namespaceSelector", Json::object()}};
  Json term = {{"topologyKey", "a"}, {"namespaceSelector", Json::object()}};
  spec["affinity"]["podAntiAffinity"][kRequired] = std::vector<Json>(50, term);
  std::string label(63, 'x');
  spec["podSelector"]["matchLabels"] = {{std::string(253, 'p') + "/" + label, "v"}};
  spec["podSelector"]["matchExpressions"] = {
      {{"key", std::string(253, 'p') + "/" + label}, {"operator", "DoesNotExist"}}};
  std::vector<std::string> warnings = WarningsFor(WithSpec(kube::DumpJson(spec)));
  EXPECT_EQ(warnings.size(), 20u);
  for (const std::string& warning : warnings) EXPECT_LE(warning.size(), 256u);
}

TEST(WarningsTest, CrossNamespaceTermsAreFound) {
  EXPECT_THAT(CrossNamespaceTerms(PolicyOf("N [a] T A T5").criteria), IsEmpty());
  EXPECT_THAT(
      CrossNamespaceTerms(PolicyOf("N T T(all) A7(1|2)").criteria),
      ElementsAre(
          "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]",
          "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[1]"));
}

}  // namespace
}  // namespace policy
