// SPDX-License-Identifier: Apache-2.0
#include "api/cluster_pod_placement_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace api {
namespace {

using kube::Json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

ClusterPodPlacementConfig Read(const char* text) {
  auto config = ClusterPodPlacementConfig::FromJson(kube::MustParseJson(text));
  EXPECT_TRUE(config) << text;
  return config ? *config : ClusterPodPlacementConfig();
}

TEST(ClusterPodPlacementConfigTest, ReadsAndWritesAllFields) {
  const char* whole = R"({
    "apiVersion": "multiarch.openshift.io/v1beta1", "kind": "ClusterPodPlacementConfig", "metadata": {"name": "cluster"},
    "spec": {
      "logVerbosity": "Trace",
      "namespaceSelector": {"matchExpressions": [{"key": "exclude", "operator": "DoesNotExist"}]},
      "excludedSchedulerNames": ["volcano", "batch.example.com/a_B"],
      "plugins": {"nodeAffinityScoring": {"enabled": true, "platforms": [{"architecture": "s390x", "weight": 1}],
                                          "precedence": "Namespace"},
                  "execFormatErrorMonitor": {"enabled": false}},
      "fallbackArchitecture": "amd64",
      "globalPullSecretRef": {"name": "pull"}, "caBundleConfigMapRef": {"name": "ca"},
      "registriesConfigMapRef": {"name": "registries"}, "gating": "Policy",
      "knownImages": "PlaceAtCreation", "podEvents": "Problems",
      "operands": {"controller": {"replicas": 3, "resources": {"limits": {"memory": "512Mi"}}}},
      "shardTakeoverAfter": "90s", "inspectionRetryPeriod": "300s"},
    "status": {"conditions": [{"type": "Available", "status": "True", "reason": "Ready", "message": "",
                               "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})";
  ClusterPodPlacementConfig config = Read(whole);
  EXPECT_THAT(config.problems, IsEmpty());
  EXPECT_THAT(config.Preferences(), ElementsAre(Platform{"s390x", 1}));
  EXPECT_TRUE(config.NamespaceTakesPrecedence());
  EXPECT_EQ(config.spec.gating, kGatingByPolicy);
  EXPECT_EQ(config.spec.shard_takeover_after, 90s);
  EXPECT_EQ(config.spec.inspection_retry_period, 300s);
  EXPECT_EQ(config.ToJson(), kube::MustParseJson(whole));
}

TEST(ClusterPodPlacementConfigTest, HasDefaults) {
  for (const char* text : {R"({})", R"({"spec": null})", R"({"spec": {}})",
                           R"({"spec": {"fallbackArchitecture": ""}})"}) {
    ClusterPodPlacementConfig config = Read(text);
    EXPECT_THAT(config.problems, IsEmpty()) << text;
    EXPECT_EQ(config.spec.log_verbosity, "Normal");
    EXPECT_EQ(config.spec.shard_takeover_after, 30s);
    EXPECT_EQ(config.spec.inspection_retry_period, 60s);
    EXPECT_EQ(config.spec.fallback_architecture, "");
    EXPECT_EQ(config.spec.gating, kGatingByWebhook);
    EXPECT_THAT(config.Preferences(), IsEmpty());
    EXPECT_THAT(config.spec.excluded_scheduler_names, IsEmpty());
  }
}

TEST(ClusterPodPlacementConfigTest, NamesTheFieldThatDoesNotFitAndUsesTheDefault) {
  ClusterPodPlacementConfig config =
      Read(R"({"spec": {"logVerbosity": "Loud", "fallbackArchitecture": "x86_64",
      "globalPullSecretRef": {}, "gating": "Magic", "shardTakeoverAfter": "1d",
      "inspectionRetryPeriod": "1s"}})");
  EXPECT_EQ(
      Describe(config.problems),
      "spec.logVerbosity: must be one of Normal, Debug, Trace, TraceAll; "
      "spec.fallbackArchitecture: must be the name of an architecture as in kubernetes.io/arch: at "
      "most 32 lower-case letters and digits, and none of unknown, operand; "
      "spec.globalPullSecretRef.name: is required; "
      "spec.gating: must be one of Webhook, Policy; "
      "spec.shardTakeoverAfter: must be a duration from 5s to 1h, for example 30s or 1m30s; "
      "spec.inspectionRetryPeriod: must be a duration from 5s to 1h, for example 30s or 1m30s");
  EXPECT_EQ(config.spec.log_verbosity, "Normal");
  EXPECT_EQ(config.spec.shard_takeover_after, 30s);
}

// They become parts of CEL expressions.
TEST(ClusterPodPlacementConfigTest, AWrongNameOfASchedulerIsLeftOut) {
  const std::string longest(kMaxSchedulerName, 'a');
  for (const std::string& wrong :
       {std::string(), std::string("a'b"), std::string("a\\b"), std::string("-a"),
        std::string("a."), std::string("a b"), std::string("\u00e4"), longest + "a"}) {
    Json spec = {{"excludedSchedulerNames", {longest, wrong, "volcano"}}};
    auto config = ClusterPodPlacementConfig::FromJson({{"spec", spec}});
    ASSERT_TRUE(config);
    EXPECT_THAT(config->spec.excluded_scheduler_names, ElementsAre(longest, "volcano")) << wrong;
    EXPECT_EQ(Describe(config->problems),
              "spec.excludedSchedulerNames: must be names of at most 63 letters, digits and inner "
              "'-', '_', '.' and '/'")
        << wrong;
  }
  ClusterPodPlacementConfig config =
      Read(R"({"spec": {"excludedSchedulerNames": ["volcano", 1, "volcano"]}})");
  EXPECT_THAT(config.spec.excluded_scheduler_names, ElementsAre("volcano"));
  EXPECT_EQ(config.problems.size(), 2u);
}

TEST(ClusterPodPlacementConfigTest, SixteenSchedulersCanBeExcluded) {
  Json names = Json::array();
  for (size_t i = 0; i < kMaxExcludedSchedulers; ++i) names.push_back("s" + std::to_string(i));
  auto full = ClusterPodPlacementConfig::FromJson({{"spec", {{"excludedSchedulerNames", names}}}});
  ASSERT_TRUE(full);
  EXPECT_THAT(full->problems, IsEmpty());
  EXPECT_EQ(full->spec.excluded_scheduler_names.size(), kMaxExcludedSchedulers);
  names.push_back("more");
  auto over = ClusterPodPlacementConfig::FromJson({{"spec", {{"excludedSchedulerNames", names}}}});
  ASSERT_TRUE(over);
  EXPECT_THAT(Describe(over->problems), ::testing::HasSubstr("at most 16"));
  EXPECT_THAT(over->spec.excluded_scheduler_names, IsEmpty());
}

TEST(ClusterPodPlacementConfigTest, TheFallbackMayBeAnyArchitecture) {
  for (const char* architecture : {"riscv64", "386", "vax"}) {
    Json spec = {{"fallbackArchitecture", architecture}};
    ClusterPodPlacementConfig config = Read(kube::DumpJson({{"spec", spec}}).c_str());
    EXPECT_THAT(config.problems, IsEmpty()) << architecture;
    EXPECT_EQ(config.spec.fallback_architecture, architecture);
    EXPECT_EQ(SpecToJson(config.spec)["fallbackArchitecture"], architecture);
  }
  for (const char* refused : {R"("unknown")", R"("operand")", R"("ARM")", "7", R"("arm/v7")"}) {
    std::string text = R"({"spec": {"fallbackArchitecture": )" + std::string(refused) + "}}";
    ClusterPodPlacementConfig config = Read(text.c_str());
    EXPECT_EQ(config.problems.size(), 1u) << refused;
    EXPECT_EQ(config.spec.fallback_architecture, "") << refused;
  }
}

TEST(ClusterPodPlacementConfigTest, AnOperandGetsNoLimitBelowItsBudgets) {
  ClusterPodPlacementConfig config = Read(R"({"spec": {"operands": {"controller": {"replicas": 3,
      "resources": {"limits": {"memory": "128Mi"}}}}}})");
  EXPECT_EQ(Describe(config.problems),
            "spec.operands.controller.resources: the memory limit 128Mi is below what the budgets "
            "of this operand need, 256Mi");
  EXPECT_EQ(SizeOf(config.spec.operands->controller, kControllerDefaults),
            (OperandSize{.replicas = 3, .memory_limit = "256Mi"}));
}

TEST(ClusterPodPlacementConfigTest, PoliciesChangePodsAndTemplatesByDefault) {
  ClusterPodPlacementConfig config =
      Read(R"({"spec": {"plugins": {"schedulingPolicies": {"enabled": true}}}})");
  EXPECT_EQ(config.EnabledSchedulingPolicies()->resources, "PodsAndTemplates");
  config = Read(R"({"spec": {"plugins": {"schedulingPolicies": {"enabled": true,
      "resources": "Pods"}}}})");
  EXPECT_EQ(config.EnabledSchedulingPolicies()->resources, "Pods");
  config = Read(R"({"spec": {"plugins": {"schedulingPolicies": {"enabled": true,
      "resources": "Jobs"}}}})");
  EXPECT_EQ(Describe(config.problems),
            "spec.plugins.schedulingPolicies.resources: must be one of PodsAndTemplates, Pods");
}

TEST(ClusterPodPlacementConfigTest, ThePluginsForTemplatesAreOffByDefault) {
  EXPECT_FALSE(Read("{}").Templates().suspended_jobs);
  EXPECT_EQ(Read(R"({"spec": {"plugins": {"daemonSets": {}}}})").DaemonSets(), DaemonSetsPlugin());
  ClusterPodPlacementConfig config = Read(R"({"spec": {"plugins": {
      "templates": {"suspendedJobs": true}, "daemonSets": {"report": true}}}})");
  EXPECT_TRUE(config.Templates().suspended_jobs);
  EXPECT_TRUE(config.DaemonSets().report);
  EXPECT_FALSE(config.DaemonSets().patch_templates);
  config = Read(R"({"spec": {"plugins": {"templates": {"suspendedJobs": "yes"}}}})");
  EXPECT_FALSE(config.problems.empty());
}

TEST(ClusterPodPlacementConfigTest, WarningsAboutEphemeralContainersAreAnOption) {
  EXPECT_FALSE(Read("{}").WantsEphemeralContainerWarnings());
  auto with = [](const char* plugin) {
    std::string text =
        R"({"spec": {"plugins": {"ephemeralContainerWarnings": )" + std::string(plugin) + "}}}";
    return Read(text.c_str());
  };
  EXPECT_TRUE(with(R"({"enabled": true})").WantsEphemeralContainerWarnings());
  EXPECT_FALSE(with(R"({"enabled": false})").WantsEphemeralContainerWarnings());
  EXPECT_FALSE(with("{}").problems.empty());
}

TEST(ClusterPodPlacementConfigTest, LevelsOfX8664AreAnOption) {
  EXPECT_FALSE(Read("{}").WantsAmd64Levels());
  auto with = [](const char* plugin) {
    std::string text = R"({"spec": {"plugins": {"amd64Levels": )" + std::string(plugin) + "}}}";
    return Read(text.c_str());
  };
  EXPECT_TRUE(with(R"({"enabled": true})").WantsAmd64Levels());
  EXPECT_FALSE(with(R"({"enabled": false})").WantsAmd64Levels());
  EXPECT_FALSE(with("{}").problems.empty());
}

}  // namespace
}  // namespace api
