// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/webhook_configurations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "api/excluded_namespaces.h"
#include "api/testing/make_config.h"

namespace operator_ {
namespace {

using api::MakeClusterConfig;
using api::MakeConfig;
using kube::Json;

const OperandOptions kOptions{.ns = "ops", .ns_uid = "uid-of-ops"};

// A requirement of namespaceSelectors.
const Json kNotOptedOut = {{"key", "multiarch.openshift.io/exclude-pod-placement"},
                           {"operator", "DoesNotExist"}};

constexpr char kEnabled[] = "/spec/plugins/nodeAffinityScoring/enabled";

MakeConfig Config(const std::string& name, int priority) {
  return MakeConfig(name, "shop").Priority(priority).Prefer("arm64", 5);
}

std::set<std::string> ConditionNames(const Json& webhook) {
  std::set<std::string> names;
  for (const Json& condition : webhook["matchConditions"])
    names.insert(condition["name"].get<std::string>());
  return names;
}

TEST(ShardWebhookConfigurationTest, HasAnEntryForEachConfigInTheirOrder) {
  api::PodPlacementConfig a = Config("a", 9).ForLabel("app", "web");
  api::PodPlacementConfig b = Config("b", 1);
  Json object = ShardWebhookConfiguration("shop", {&a, &b}, {}, {}, "PEM", kOptions);
  EXPECT_EQ(object["metadata"]["name"], "pod-placement-shard-shop");
  ASSERT_EQ(object["webhooks"].size(), 3u);
  Json first = object["webhooks"][0];
  EXPECT_EQ(first["name"], "a.shop.multiarch.openshift.io");
  EXPECT_EQ(first["clientConfig"]["service"], (Json{{"namespace", "shop"},
                                                    {"name", "pod-placement-shard-web-hook"},
                                                    {"path", "/local/a"},
                                                    {"port", 443}}));
  EXPECT_EQ(first["clientConfig"]["caBundle"], "UEVN");
  EXPECT_EQ(first["objectSelector"], (Json{{"matchLabels", {{"app", "web"}}}}));
  EXPECT_EQ(first["namespaceSelector"]["matchExpressions"][0]["values"], Json::array({"shop"}));
  EXPECT_EQ(first["failurePolicy"], "Ignore");
  EXPECT_EQ(object["webhooks"][1]["name"], "b.shop.multiarch.openshift.io");
  EXPECT_EQ(object["webhooks"][1]["objectSelector"], Json::object());
}

TEST(ShardWebhookConfigurationTest, SkipsConfigsWithoutPreferences) {
  api::PodPlacementConfig off = Config("off", 1).Set(kEnabled, false);
  api::PodPlacementConfig broken = Config("broken", 999);
  // The cluster controller reads these itself.
  api::PodPlacementConfig tolerates = MakeConfig("tolerates", "shop").Priority(2).Tolerate();
  api::PodPlacementConfig nothing = MakeConfig("nothing", "shop").Priority(3);
  Json object = ShardWebhookConfiguration("shop", {&nothing, &tolerates, &off, &broken}, {}, {},
                                          "PEM", kOptions);
  EXPECT_EQ(object["webhooks"], Json::array());
}

TEST(ShardWebhookConfigurationTest, ARuleHasAnEntryForThePodsThatItMatches) {
  api::PodPlacementConfig a = Config("a", 9).ForLabel("app", "web");
  a.spec.cel_rules = {{"large", "object.x // x", {}}, {"left-out", "?", {}}, {"small", "true", {}}};
  // Its plugin prefers nothing.
  api::PodPlacementConfig b = Config("b", 1).Set(kEnabled, false);
  b.spec.cel_rules = {{"large", "true", {}}};
  LeftOutRulesOf left_out;
  left_out["a"][1] = {};
  Json webhooks =
      ShardWebhookConfiguration("shop", {&a, &b}, left_out, {}, "PEM", kOptions)["webhooks"];
  std::vector<std::string> paths;
  std::set<std::string> names;
  for (const Json& webhook : webhooks) {
    paths.push_back(webhook["clientConfig"]["service"]["path"]);
    names.insert(webhook["name"].get<std::string>());
  }
  EXPECT_THAT(paths, testing::ElementsAre("/local/a", "/local/a/large", "/local/a/small",
                                          "/local/b/large", "/probe"));
  EXPECT_EQ(names.size(), paths.size());
  EXPECT_EQ(webhooks[1]["objectSelector"], webhooks[0]["objectSelector"]);
  EXPECT_EQ(webhooks[1]["failurePolicy"], "Ignore");
  std::set<std::string> conditions = ConditionNames(webhooks[0]);
  conditions.insert("rule");
  EXPECT_EQ(ConditionNames(webhooks[1]), conditions);
  EXPECT_EQ(webhooks[1]["matchConditions"].back()["expression"],
            "[0].all(request, [0].all(oldObject, [0].all(authorizer, [0].all(namespaceObject, (\n"
            "object.x // x\n)))))");
}

// The API server refuses a configuration in which two entries have one name.
TEST(ShardWebhookConfigurationTest, NoConfigHasTheEntryNameOfARule) {
  EXPECT_NE(ShardWebhookEntryName("shop", "a", "b"), ShardWebhookEntryName("shop", "b.a"));
  EXPECT_NE(ShardWebhookEntryName("shop", "a", "b"), ShardWebhookEntryName("shop", "b.a.shop"));
  EXPECT_NE(ShardWebhookEntryName("shop", "a", "b"),
            ShardWebhookEntryName("shop", "b.a.shop.kube-rules"));
  std::string longest(253, 'a');
  EXPECT_LE(ShardWebhookEntryName(std::string(63, 'n'), longest, std::string(63, 'r')).size(),
            253u);
  EXPECT_NE(ShardWebhookEntryName("shop", longest, "a"),
            ShardWebhookEntryName("shop", longest, "b"));
}

TEST(ShardWebhookConfigurationTest, IsOwnedByTheOperatorsNamespace) {
  Json owners =
      ShardWebhookConfiguration("shop", {}, {}, {}, "PEM", kOptions)["metadata"]["ownerReferences"];
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_EQ(owners[0]["kind"], "Namespace");
  EXPECT_EQ(owners[0]["uid"], "uid-of-ops");
}

TEST(ShardWebhookConfigurationTest, EntryNamesAreUniqueAndWithinTheApisLimit) {
  std::string ns(63, 'n');
  std::string a = std::string(252, 'a') + "1";
  std::string b = std::string(252, 'a') + "2";
  EXPECT_LE(ShardWebhookEntryName(ns, a).size(), 253u);
  EXPECT_NE(ShardWebhookEntryName(ns, a), ShardWebhookEntryName(ns, b));
}

// The probe shows whether calls of the other entries arrive, and nothing else ever matches it.
TEST(WebhookConfigurationTest, TheLastEntryIsForTheProbeOfTheOperatorAlone) {
  api::PodPlacementConfig config = Config("probe", 1).ForLabel("app", "web");
  OperandOptions excluding = kOptions;
  excluding.excluded_namespaces = *api::ExcludedNamespaces::Parse("openshift-*");
  struct Case {
    Json webhooks;
    const char* scope;
  };
  for (const Case& c :
       {Case{ShardWebhookConfiguration("shop", {&config}, {}, {}, "PEM", kOptions)["webhooks"],
             "shop"},
        Case{ClusterWebhookConfiguration({}, {"shop"}, "PEM", kOptions)["webhooks"], "Cluster"},
        Case{ClusterWebhookConfiguration({}, {}, "PEM", excluding)["webhooks"], "Cluster"}}) {
    const Json& probe = c.webhooks.back();
    Json client_config = c.webhooks[0]["clientConfig"];
    client_config["service"]["path"] = "/probe";
    EXPECT_EQ(probe["clientConfig"], client_config);
    EXPECT_EQ(probe["timeoutSeconds"], c.webhooks[0]["timeoutSeconds"]);
    EXPECT_EQ(probe["failurePolicy"], "Ignore");
    EXPECT_EQ(probe["sideEffects"], "None");
    ASSERT_EQ(probe["rules"].size(), 1u);
    EXPECT_EQ(probe["rules"][0]["resources"], Json::array({"deployments"}));
    EXPECT_EQ(probe["rules"][0]["operations"], Json::array({"CREATE"}));
    EXPECT_EQ(probe["namespaceSelector"],
              kube::MustParseJson(R"({"matchExpressions": [{"key": "kubernetes.io/metadata.name",
                                      "operator": "In", "values": ["ops"]}]})"));
    EXPECT_EQ(probe["objectSelector"],
              (Json{{"matchLabels", {{"multiarch.openshift.io/webhook-probe", c.scope}}}}));
    ASSERT_EQ(probe["matchConditions"].size(), 1u);
    EXPECT_EQ(probe["matchConditions"][0]["expression"],
              "request.userInfo.username == "
              "'system:serviceaccount:ops:multiarch-tuning-operator'");
    for (size_t i = 0; i + 1 < c.webhooks.size(); ++i) {
      EXPECT_NE(c.webhooks[i]["name"], probe["name"]);
      EXPECT_EQ(c.webhooks[i]["rules"][0]["resources"], Json::array({"pods"}));
    }
  }
}

// I8, and what the API server can decide without a call
TEST(WebhookConfigurationTest, PodsThatAreNeverGatedCostNoCall) {
  api::PodPlacementConfig config = Config("a", 1);
  Json shard = ShardWebhookConfiguration("shop", {&config}, {}, {}, "PEM", kOptions)["webhooks"][0];
  std::set<std::string> common = {"not-an-operand", "not-bound-to-a-node",
                                  "not-for-the-control-plane", "not-of-a-daemonset",
                                  "not-opted-out"};
  EXPECT_EQ(ConditionNames(shard), common);
  Json cluster = ClusterWebhookConfiguration({}, {}, "PEM", kOptions)["webhooks"][0];
  common.insert("not-in-a-reserved-namespace");
  common.insert("architecture-not-required");
  EXPECT_EQ(ConditionNames(cluster), common);
}

// By the label of the pod or of the namespace, or by the scheduler: in each entry, without a call.
TEST(WebhookConfigurationTest, WhatOptsOutCostsNoCall) {
  api::PodPlacementConfig a = Config("a", 1);
  a.spec.cel_rules = {{"large", "object.x", {}}};
  api::ClusterPodPlacementConfig config = MakeClusterConfig();
  config.spec.excluded_scheduler_names = {"volcano", "a/b"};
  OperandOptions options = kOptions;
  options.excluded_namespaces = *api::ExcludedNamespaces::Parse("openshift-*");
  for (const Json& webhooks :
       {ShardWebhookConfiguration("shop", {&a}, {}, config.spec.excluded_scheduler_names, "PEM",
                                  options)["webhooks"],
        ClusterWebhookConfiguration(config, {"shop"}, "PEM", options)["webhooks"]}) {
    ASSERT_GE(webhooks.size(), 3u);
    for (size_t i = 0; i + 1 < webhooks.size(); ++i) {
      std::map<std::string, std::string> conditions;
      for (const Json& condition : webhooks[i]["matchConditions"])
        conditions[condition["name"]] = condition["expression"];
      EXPECT_EQ(conditions["not-opted-out"],
                "!(has(object.metadata.labels) && "
                "'multiarch.openshift.io/exclude-pod-placement' in object.metadata.labels)");
      EXPECT_EQ(conditions["not-of-an-excluded-scheduler"],
                "!has(object.spec.schedulerName) || "
                "!(object.spec.schedulerName in ['volcano', 'a/b'])");
      EXPECT_THAT(webhooks[i]["namespaceSelector"]["matchExpressions"],
                  testing::Contains(kNotOptedOut));
    }
    // The probe's.
    EXPECT_EQ(webhooks.back()["matchConditions"].size(), 1u);
  }
}

TEST(ClusterWebhookConfigurationTest, ExcludedNamespacesAreCalledForOnlyWithTheLabel) {
  OperandOptions options = kOptions;
  options.excluded_namespaces = *api::ExcludedNamespaces::Parse("openshift-*,hypershift-*");
  Json webhooks = ClusterWebhookConfiguration(MakeClusterConfig().ForNamespaces("team", "a"),
                                              {"shop"}, "PEM", options)["webhooks"];
  constexpr char kExcluded[] =
      "(request.namespace.startsWith('openshift-') || request.namespace.startsWith('hypershift-'))";
  ASSERT_EQ(webhooks.size(), 5u);
  std::set<std::string> names;
  for (size_t i : {0, 1}) {
    const Json& others = webhooks[i];
    const Json& included = webhooks[i + 2];
    for (const Json& webhook : {others, included}) names.insert(webhook["name"]);
    EXPECT_EQ(others["matchConditions"].back()["expression"], std::string("!") + kExcluded);
    EXPECT_EQ(included["matchConditions"].back()["expression"], kExcluded);
    EXPECT_EQ(included["clientConfig"], others["clientConfig"]);
    // What the namespaceSelector demands holds for both.
    Json selector = others["namespaceSelector"];
    EXPECT_EQ(selector["matchLabels"], (Json{{"team", "a"}}));
    selector["matchExpressions"].push_back(
        {{"key", "multiarch.openshift.io/include-pod-placement"}, {"operator", "Exists"}});
    EXPECT_EQ(included["namespaceSelector"], selector);
  }
  EXPECT_EQ(names.size(), 4u);
}

TEST(ClusterWebhookConfigurationTest,
     PodsThatRequireTheirArchitectureAreCalledForOnlyWherePreferencesAreInForce) {
  Json none = ClusterWebhookConfiguration({}, {}, "PEM", kOptions)["webhooks"];
  EXPECT_EQ(none.size(), 2u);

  // A PodPlacementConfig: in its namespace, by an entry of its own.
  MakeClusterConfig config = MakeClusterConfig().ForNamespaces("team", "a");
  Json webhooks = ClusterWebhookConfiguration(config, {"db", "shop"}, "PEM", kOptions)["webhooks"];
  ASSERT_EQ(webhooks.size(), 3u);
  EXPECT_TRUE(ConditionNames(webhooks[0]).contains("architecture-not-required"));
  EXPECT_EQ(webhooks[0]["clientConfig"]["service"]["path"], "/add-pod-scheduling-gate");
  EXPECT_TRUE(ConditionNames(webhooks[1]).contains("architecture-required"));
  EXPECT_TRUE(ConditionNames(webhooks[1]).contains("not-in-a-reserved-namespace"));
  EXPECT_EQ(webhooks[1]["clientConfig"]["service"]["path"],
            "/add-pod-scheduling-gate/with-preferences");
  EXPECT_NE(webhooks[1]["name"], webhooks[0]["name"]);
  EXPECT_EQ(webhooks[1]["namespaceSelector"]["matchLabels"], (Json{{"team", "a"}}));
  Json expressions = webhooks[1]["namespaceSelector"]["matchExpressions"];
  ASSERT_EQ(expressions.size(), 3u);
  EXPECT_EQ(expressions[1], kNotOptedOut);
  EXPECT_EQ(expressions[2]["operator"], "In");
  EXPECT_EQ(expressions[2]["values"], Json::array({"db", "shop"}));

  // The ClusterPodPlacementConfig: everywhere.
  config.Prefer("arm64", 5);
  webhooks = ClusterWebhookConfiguration(config, {"shop"}, "PEM", kOptions)["webhooks"];
  ASSERT_EQ(webhooks.size(), 2u);
  EXPECT_FALSE(ConditionNames(webhooks[0]).contains("architecture-not-required"));
  EXPECT_EQ(webhooks[0]["clientConfig"]["service"]["path"],
            "/add-pod-scheduling-gate/with-preferences");
}

TEST(ClusterWebhookConfigurationTest, PodsMayBePlacedWhereNoConfigCanChangeThem) {
  MakeClusterConfig config = MakeClusterConfig().ForNamespaces("team", "a");
  auto entries = [&](const std::vector<std::string>& configured) {
    return ClusterWebhookConfiguration(config, configured, "PEM", kOptions,
                                       /*places=*/true)["webhooks"];
  };
  // A pod that was placed requires an architecture, and has to come again.
  const std::string condition = "architecture-not-required";
  Json webhooks = entries({});
  ASSERT_EQ(webhooks.size(), 2u);
  EXPECT_EQ(webhooks[0]["clientConfig"]["service"]["path"], "/place-pod");
  EXPECT_EQ(webhooks[0]["reinvocationPolicy"], "IfNeeded");
  ASSERT_EQ(webhooks[0]["matchConditions"].back()["name"], condition);
  EXPECT_THAT(webhooks[0]["matchConditions"].back()["expression"].get<std::string>(),
              testing::HasSubstr("placed-at-creation"));

  webhooks = entries({"db", "shop"});
  ASSERT_EQ(webhooks.size(), 3u);
  EXPECT_EQ(webhooks[0]["namespaceSelector"]["matchExpressions"].back(),
            (Json{{"key", "kubernetes.io/metadata.name"},
                  {"operator", "NotIn"},
                  {"values", {"db", "shop"}}}));
  EXPECT_EQ(
      webhooks[1]["namespaceSelector"]["matchExpressions"].back(),
      (Json{
          {"key", "kubernetes.io/metadata.name"}, {"operator", "In"}, {"values", {"db", "shop"}}}));
  EXPECT_EQ(webhooks[1]["clientConfig"]["service"]["path"], "/place-pod/behind-local-gate");
  EXPECT_EQ(webhooks[1]["reinvocationPolicy"], "IfNeeded");
  // All pods of these namespaces, as the first entry is for none of them.
  EXPECT_FALSE(ConditionNames(webhooks[1]).contains("architecture-required"));

  config.Prefer("arm64", 5);
  webhooks = entries({"shop"});
  ASSERT_EQ(webhooks.size(), 3u);
  EXPECT_EQ(webhooks[0]["clientConfig"]["service"]["path"], "/place-pod/with-preferences");
  EXPECT_FALSE(ConditionNames(webhooks[0]).contains(condition));
}

TEST(ClusterWebhookConfigurationTest, AddsTheReservedNamespacesToTheConfigsSelector) {
  Json webhook = ClusterWebhookConfiguration(MakeClusterConfig().ForNamespaces("team", "a"), {},
                                             "PEM", kOptions)["webhooks"][0];
  EXPECT_EQ(webhook["namespaceSelector"]["matchLabels"], (Json{{"team", "a"}}));
  Json expressions = webhook["namespaceSelector"]["matchExpressions"];
  ASSERT_EQ(expressions.size(), 2u);
  EXPECT_EQ(expressions[1], kNotOptedOut);
  EXPECT_EQ(expressions[0]["operator"], "NotIn");
  EXPECT_EQ(expressions[0]["values"],
            Json::array({"ops", "kube-node-lease", "kube-public", "kube-system"}));
  EXPECT_EQ(webhook["clientConfig"]["service"]["path"], "/add-pod-scheduling-gate");
}

TEST(ReservedNamespaceTest, IsTheSystemsOrTheOperators) {
  EXPECT_TRUE(IsReservedNamespace("kube-system", kOptions));
  EXPECT_TRUE(IsReservedNamespace("ops", kOptions));
  EXPECT_FALSE(IsReservedNamespace("kubernetes", kOptions));
}

// A kind of a feature.
const ValidatedKind kWidgets{
    "validate-widget.example.com", "/validate-widget", {"example.com", "v1", "widgets", "Widget"}};

// I7
TEST(ValidatingWebhookConfigurationTest, DoesNotValidateDeletionsOfNamespacedObjects) {
  Json object = ValidatingWebhookConfiguration({kWidgets}, "PEM", kOptions);
  for (const Json& webhook : object["webhooks"]) {
    const Json& rule = webhook["rules"][0];
    bool cluster = rule["resources"] == Json::array({"clusterpodplacementconfigs"});
    EXPECT_EQ(rule["operations"], cluster ? Json::array({"CREATE", "UPDATE", "DELETE"})
                                          : Json::array({"CREATE", "UPDATE"}));
    EXPECT_EQ(webhook["failurePolicy"], "Fail");
  }
}

TEST(ValidatingWebhookConfigurationTest, ValidatesBothConfigsAndTheKindsOfFeatures) {
  Json object = ValidatingWebhookConfiguration({kWidgets}, "PEM", kOptions);
  std::map<std::string, std::string> paths;
  std::set<std::string> names;
  for (const Json& webhook : object["webhooks"]) {
    const Json& rule = webhook["rules"][0];
    // Neither the status nor another subresource.
    ASSERT_EQ(rule["resources"].size(), 1u);
    std::string kind = rule["resources"][0].get<std::string>() + "." +
                       rule["apiVersions"][0].get<std::string>() + "." +
                       rule["apiGroups"][0].get<std::string>();
    paths[kind] = webhook["clientConfig"]["service"]["path"];
    names.insert(webhook["name"].get<std::string>());
    // A write of a feature's kind changes nothing else.
    bool feature = rule["apiGroups"][0] == "example.com";
    EXPECT_EQ(webhook["sideEffects"], feature ? "None" : "NoneOnDryRun") << kind;
    EXPECT_THAT(kube::DumpJson(webhook["matchConditions"]),
                testing::HasSubstr("not-by-the-operator"));
  }
  EXPECT_THAT(
      paths,
      testing::ElementsAre(
          testing::Pair("clusterpodplacementconfigs.v1beta1.multiarch.openshift.io",
                        "/validate-multiarch-openshift-io-v1beta1-clusterpodplacementconfig"),
          testing::Pair("podplacementconfigs.v1beta1.multiarch.openshift.io",
                        "/validate-multiarch-openshift-io-v1beta1-podplacementconfig"),
          testing::Pair("widgets.v1.example.com", "/validate-widget")));
  EXPECT_EQ(names.size(), paths.size());
}

}  // namespace
}  // namespace operator_
