// SPDX-License-Identifier: Apache-2.0
// The CRD or the validating webhook refuses invalid configs with a message that names the error.
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

class WrongInputFlow : public FlowFixture {};

TEST_F(WrongInputFlow, OfAConfigIsRefused) {
  ConfigBuilder many = MakeConfig("many");
  for (int i = 0; i < 17; ++i) many.Prefer("arch" + std::to_string(i), 1);
  Flow(scene(), "wrong configs")
      .Refused(Create(MakeConfig("twice").Prefer("arm64", 10).Prefer("arm64", 20)), {"twice"})
      .Refused(Create(MakeConfig("weightless").Prefer("arm64", 0)), {"weight", "1"})
      .Refused(Create(MakeConfig("heavy").Prefer("arm64", 101)), {"weight", "100"})
      .Refused(Create(MakeConfig("empty").Set("/spec/plugins/nodeAffinityScoring",
                                              {{"enabled", true}, {"platforms", Json::array()}})),
               {"platforms"})
      .Refused(
          Create(MakeConfig("no-platforms").Set("/spec/plugins/nodeAffinityScoring/enabled", true)),
          {"platforms"})
      .Refused(Create(MakeConfig("high").Priority(256).Prefer("arm64", 10)), {"priority", "255"})
      .Refused(Create(MakeConfig("low").Priority(-1).Prefer("arm64", 10)), {"priority", "0"})
      .Refused(Create(MakeConfig("word").Set("/spec/priority", "high").Prefer("arm64", 10)),
               {"priority"})
      .Refused(Create(MakeConfig("foreign").Prefer("x86_64", 10)), {"architecture", "x86_64"})
      .Refused(Create(MakeConfig("capital").Prefer("ARM64", 10)), {"architecture", "ARM64"})
      .Refused(Create(MakeConfig("long").Prefer(std::string(33, 'a'), 10)), {"architecture", "32"})
      .Refused(Create(MakeConfig("unknown").Prefer("unknown", 10)), {"not names of an arch"})
      .Refused(Create(MakeConfig("label").Prefer("operand", 10)), {"not names of an arch"})
      .Refused(Create(many), {"platforms", "16"})
      .Refused(Create(MakeConfig("rule").Rule("a", "true", "x86_64", 1)), {"celRules", "x86_64"})
      .Refused(Create(kConfigs, {{"apiVersion", "multiarch.openshift.io/v1beta1"},
                                 {"kind", "PodPlacementConfig"},
                                 {"metadata", {{"name", "bare"}}},
                                 {"spec", Json::object()}}),
               {"plugins"})
      .Refused(Create(MakeConfig("operator")
                          .Prefer("arm64", 1)
                          .Set("/spec/labelSelector/matchExpressions",
                               Json::array({{{"key", "a"},
                                             {"operator", "Near"},
                                             {"values", Json::array({"b"})}}}))),
               {"operator"});
  auto configs = scene().List(kConfigs);
  ASSERT_TRUE(configs) << configs.error();
  EXPECT_TRUE(configs->empty());
}

TEST_F(WrongInputFlow, OfAConfigIsRefusedOnUpdate) {
  Json twice = Json::array(
      {{{"architecture", "arm64"}, {"weight", 1}}, {{"architecture", "arm64"}, {"weight", 2}}});
  Flow(scene(), "wrong updates")
      .Do(Create(MakeConfig("good").Prefer("arm64", 10)))
      .Refused(Change(kConfigs, "good", {{"spec", {{"priority", 256}}}}), {"priority", "255"})
      .Refused(Change(kConfigs, "good",
                      {{"spec", {{"plugins", {{"nodeAffinityScoring", {{"platforms", twice}}}}}}}}),
               {"twice"});
}

TEST_F(WrongInputFlow, OfTheClustersConfigIsRefused) {
  const std::string cluster_config(api::kClusterConfigName);
  Flow(scene(), "wrong cluster configs")
      .Refused(Create(ClusterConfigBuilder().Set("/metadata/name", "second")), {"cluster"})
      .Refused(Change(kClusterConfigs, cluster_config, {{"spec", {{"logVerbosity", "Loud"}}}}),
               {"logVerbosity"})
      .Refused(
          Change(kClusterConfigs, cluster_config, {{"spec", {{"fallbackArchitecture", "x86_64"}}}}),
          {"fallbackArchitecture", "x86_64"})
      .Refused(Change(kClusterConfigs, cluster_config,
                      {{"spec", {{"fallbackArchitecture", "unknown"}}}}),
               {"fallbackArchitecture", "unknown"})
      .Await(ClusterConfigReady());
}

// Errors in an object that the cluster's config refers to.
TEST_F(WrongInputFlow, InAReferencedObjectIsReportedInTheStatus) {
  const std::string cluster_config(api::kClusterConfigName);
  auto used = UseClusterConfig(DefaultClusterConfig(), "\nblocked = \"yes\"\n");
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "a broken registries.conf")
      .Await(HasStatusCondition(kClusterConfigs, cluster_config, "Degraded", "True",
                                "key registries.conf line 5: blocked"))
      .Do(Change(kClusterConfigs, cluster_config,
                 {{"spec", {{"caBundleConfigMapRef", {{"name", "nowhere"}}}}}}))
      .Await(HasStatusCondition(kClusterConfigs, cluster_config, "Degraded", "True",
                                "nowhere does not exist"));
  used = UseClusterConfig(DefaultClusterConfig());
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "and a good one")
      .Await(HasStatusCondition(kClusterConfigs, cluster_config, "Degraded", "False"));
}

}  // namespace
}  // namespace e2e
