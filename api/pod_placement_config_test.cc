// SPDX-License-Identifier: Apache-2.0
#include "api/pod_placement_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/make_config.h"

namespace api {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

PodPlacementConfig Read(const char* text) {
  auto config = PodPlacementConfig::FromJson(kube::MustParseJson(text));
  EXPECT_TRUE(config) << text;
  return config ? *config : PodPlacementConfig();
}

constexpr const char* kWhole = R"({
  "apiVersion": "multiarch.openshift.io/v1beta1", "kind": "PodPlacementConfig",
  "metadata": {"name": "a", "namespace": "ns", "generation": 3},
  "spec": {
    "labelSelector": {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "In", "values": ["x"]}]},
    "priority": 100,
    "plugins": {"nodeAffinityScoring": {"enabled": true, "platforms": [
      {"architecture": "arm64", "weight": 75}, {"architecture": "amd64", "weight": 25}]}},
    "celRules": [{"name": "large", "expression": "size(object.spec.containers) > 4",
                  "platforms": [{"architecture": "s390x", "weight": 5}]}]},
  "status": {
    "observedGeneration": 3,
    "conditions": [{"type": "Available", "status": "True", "reason": "Ready", "message": "", "observedGeneration": 3,
                    "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    "controllers": [{"name": "c", "kind": "Controller", "replicas": 2, "readyReplicas": 1, "version": "v1"}]}})";

TEST(PodPlacementConfigTest, ReadsAndWritesAllFields) {
  PodPlacementConfig config = Read(kWhole);
  EXPECT_THAT(config.problems, IsEmpty());
  EXPECT_EQ(config.metadata().name(), "a");
  EXPECT_EQ(config.spec.priority, 100);
  EXPECT_THAT(config.Preferences(), ElementsAre(Platform{"arm64", 75}, Platform{"amd64", 25}));
  EXPECT_EQ(config.status.controllers.at(0).ready_replicas, 1);
  EXPECT_EQ(config.ToJson(), kube::MustParseJson(kWhole));
}

TEST(PodPlacementConfigTest, Rules) {
  PodPlacementConfig config = Read(kWhole);
  ASSERT_EQ(config.Rules().size(), 1u);
  EXPECT_EQ(config.Rules()[0].name, "large");
  EXPECT_THAT(config.Rules()[0].platforms, ElementsAre(Platform{"s390x", 5}));
  const std::string platforms = R"("platforms": [{"architecture": "arm64", "weight": 5}])";
  auto with = [&](const std::string& rules) {
    return Read((R"({"spec": {"plugins": {}, "celRules": [)" + rules + "]}}").c_str());
  };
  EXPECT_TRUE(with(R"({"name": "a", "expression": "true", )" + platforms + "}").MayPrefer());
  EXPECT_FALSE(with("").MayPrefer());
  EXPECT_TRUE(config.MayPrefer());
  // A config with a problem has no rules in force.
  std::string rule = R"({"name": "a", "expression": "true", )" + platforms + "}";
  for (const std::string& wrong :
       {R"({"name": "A", "expression": "true", )" + platforms + "}",
        R"({"name": "a.b", "expression": "true", )" + platforms + "}",
        R"({"expression": "true", )" + platforms + "}", R"({"name": "b", )" + platforms + "}",
        R"({"name": "b", "expression": ")" + std::string(kMaxCelExpression + 1, 'x') + "\", " +
            platforms + "}",
        std::string(R"({"name": "b", "expression": "true"})"), rule}) {
    PodPlacementConfig refused = with(rule + "," + wrong);
    EXPECT_EQ(refused.problems.size(), 1u) << wrong;
    EXPECT_THAT(refused.Rules(), IsEmpty()) << wrong;
    EXPECT_FALSE(refused.MayPrefer()) << wrong;
  }
}

TEST(PodPlacementConfigTest, PriorityIsZeroByDefault) {
  EXPECT_EQ(Read(R"({"spec": {"plugins": {}}})").spec.priority, 0);
  EXPECT_EQ(Read(R"({"spec": {"priority": null, "plugins": {}}})").spec.priority, 0);
}

TEST(PodPlacementConfigTest, ADisabledPluginPrefersNothing) {
  PodPlacementConfig config = Read(R"({"spec": {"plugins": {"nodeAffinityScoring":
      {"enabled": false, "platforms": [{"architecture": "arm64", "weight": 75}]}}}})");
  EXPECT_THAT(config.problems, IsEmpty());
  EXPECT_THAT(config.Preferences(), IsEmpty());
}

TEST(PodPlacementConfigTest, ArchitectureTolerations) {
  auto tolerations = [](const std::string& fields) {
    return Read(
        (R"({"spec": {"plugins": {"architectureTolerations": {)" + fields + "}}}}").c_str());
  };
  EXPECT_EQ(Read(R"({"spec": {"plugins": {}}})").Tolerations(), nullptr);
  PodPlacementConfig config = tolerations(R"("enabled": true)");
  ASSERT_NE(config.Tolerations(), nullptr);
  EXPECT_THAT(config.Tolerations()->effects, ElementsAre("NoSchedule"));
  EXPECT_EQ(config.Tolerations()->key, "kubernetes.io/arch");
  config =
      tolerations(R"("enabled": false, "effects": ["NoExecute", "NoSchedule"], "key": "a.b/c")");
  ASSERT_NE(config.Tolerations(), nullptr);
  EXPECT_THAT(config.Tolerations()->effects, ElementsAre("NoExecute", "NoSchedule"));
  EXPECT_EQ(config.Tolerations()->key, "a.b/c");

  for (const char* refused :
       {R"("effects": ["NoSchedule"])", R"("enabled": true, "effects": [])",
        R"("enabled": true, "effects": ["Other"])", R"("enabled": true, "effects": [1])",
        R"("enabled": true, "effects": ["NoExecute", "NoExecute"])",
        R"("enabled": true, "effects": "NoExecute")", R"("enabled": true, "key": "a b")",
        R"("enabled": true, "key": "A/b")", R"("enabled": true, "key": 1)"}) {
    config = tolerations(refused);
    EXPECT_EQ(config.problems.size(), 1u) << refused;
    EXPECT_EQ(config.Tolerations(), nullptr) << refused;
  }
}

TEST(PodPlacementConfigTest, OnlyJsonThatIsNoObjectIsRefused) {
  for (const char* text : {"[]", "null", "1", "\"x\""}) {
    EXPECT_TRUE(kube::FailedWith(PodPlacementConfig::FromJson(kube::MustParseJson(text)),
                                 kube::Code::kInvalid))
        << text;
  }
}

struct Bad {
  const char* spec;
  FieldError error;
};

TEST(PodPlacementConfigTest, NamesTheFieldThatDoesNotFitAndPrefersNothing) {
  const Bad cases[] = {
      {R"("x")", {"spec", "must be an object"}},
      {R"({})", {"spec.plugins", "is required"}},
      {R"({"plugins": []})", {"spec.plugins", "must be an object"}},
      {R"({"priority": 256, "plugins": {}})",
       {"spec.priority", "must be an integer from 0 to 255"}},
      {R"({"priority": -1, "plugins": {}})", {"spec.priority", "must be an integer from 0 to 255"}},
      {R"({"priority": 1.5, "plugins": {}})",
       {"spec.priority", "must be an integer from 0 to 255"}},
      {R"({"priority": 18446744073709551615, "plugins": {}})",
       {"spec.priority", "must be an integer from 0 to 255"}},
      {R"({"plugins": {"nodeAffinityScoring": {"platforms": [{"architecture": "arm64", "weight": 1}]}}})",
       {"spec.plugins.nodeAffinityScoring.enabled", "is required"}},
      {R"({"plugins": {"nodeAffinityScoring": {"enabled": "yes", "platforms": [{"architecture": "arm64", "weight": 1}]}}})",
       {"spec.plugins.nodeAffinityScoring.enabled", "must be true or false"}},
      {R"({"plugins": {"nodeAffinityScoring": {"enabled": true}}})",
       {"spec.plugins.nodeAffinityScoring.platforms", "is required"}},
      {R"({"plugins": {"nodeAffinityScoring": {"enabled": true, "platforms": []}}})",
       {"spec.plugins.nodeAffinityScoring.platforms", "must have at least one item"}},
      {R"({"plugins": {"nodeAffinityScoring": {"enabled": true, "platforms": [{"architecture": "x86_64", "weight": 1}]}}})",
       {"spec.plugins.nodeAffinityScoring.platforms[0].architecture",
        "must be the name of an architecture as in kubernetes.io/arch: at most 32 lower-case "
        "letters "
        "and digits, and none of unknown, operand"}},
      {R"({"plugins": {"nodeAffinityScoring": {"enabled": true, "platforms": [{"weight": 1}]}}})",
       {"spec.plugins.nodeAffinityScoring.platforms[0].architecture", "is required"}},
      {R"({"plugins": {"nodeAffinityScoring": {"enabled": true, "platforms": [{"architecture": "arm64", "weight": 101}]}}})",
       {"spec.plugins.nodeAffinityScoring.platforms[0].weight",
        "must be an integer from 1 to 100"}},
      {R"({"plugins": {"nodeAffinityScoring": {"enabled": true, "platforms": [{"architecture": "arm64"}]}}})",
       {"spec.plugins.nodeAffinityScoring.platforms[0].weight", "is required"}},
      {R"({"plugins": {"nodeAffinityScoring": {"enabled": true, "platforms":
          [{"architecture": "arm64", "weight": 1}, {"architecture": "arm64", "weight": 2}]}}})",
       {"spec.plugins.nodeAffinityScoring.platforms[1].architecture", "\"arm64\" is listed twice"}},
      {R"({"plugins": {}, "labelSelector": {"matchLabels": {"a": 1}}})",
       {"spec.labelSelector.matchLabels.a", "must be a string"}},
      {R"({"plugins": {}, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}})",
       {"spec.labelSelector.matchExpressions[0].operator",
        "must be one of In, NotIn, Exists, DoesNotExist"}},
      {R"({"plugins": {}, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}})",
       {"spec.labelSelector.matchExpressions[0].values", "must not be empty for operator In"}},
      {R"({"plugins": {}, "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}})",
       {"spec.labelSelector.matchExpressions[0].values", "must be empty for operator Exists"}},
  };
  for (const Bad& bad : cases) {
    Json object = {{"spec", kube::MustParseJson(bad.spec)}};
    auto config = PodPlacementConfig::FromJson(object);
    ASSERT_TRUE(config) << bad.spec;
    EXPECT_THAT(config->problems, ElementsAre(bad.error))
        << bad.spec << " " << Describe(config->problems);
    EXPECT_THAT(config->Preferences(), IsEmpty()) << bad.spec;
  }
}

TEST(PodPlacementConfigTest, HasAtMostSixteenPlatformsOfAnyArchitecture) {
  auto prefer = [](size_t platforms) {
    MakeConfig config("a");
    for (size_t i = 0; i < platforms; ++i) config.Prefer("arch" + std::to_string(i), 1);
    return PodPlacementConfig(config);
  };
  PodPlacementConfig full = prefer(kMaxPlatforms);
  EXPECT_THAT(full.problems, IsEmpty());
  EXPECT_EQ(full.Preferences().size(), 16u);
  EXPECT_EQ(full.Preferences()[15].architecture, "arch15");
  PodPlacementConfig more = prefer(kMaxPlatforms + 1);
  EXPECT_EQ(Describe(more.problems),
            "spec.plugins.nodeAffinityScoring.platforms: must have at most 16 items");
  EXPECT_THAT(more.Preferences(), IsEmpty());
}

TEST(PodPlacementConfigTest, ProblemsOfAHostileObjectAreBounded) {
  Json expressions = Json::array();
  for (int i = 0; i < 100; ++i) expressions.push_back({{"key", "!"}, {"operator", "?"}});
  Json object = {
      {"spec",
       {{"plugins", Json::object()}, {"labelSelector", {{"matchExpressions", expressions}}}}}};
  auto config = PodPlacementConfig::FromJson(object);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->problems.size(), 20u);
}

}  // namespace
}  // namespace api
