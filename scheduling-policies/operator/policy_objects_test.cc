// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/operator/policy_objects.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "api/names.h"
#include "kube/types/unstructured.h"
#include "operator/objects/desired_object.h"
#include "scheduling-policies/operator/policy_coverage.h"

namespace operator_ {
namespace {

using kube::Json;

const OperandOptions kOptions{
    .ns = "ops", .ns_uid = "uid", .webhook_image = "r.io/webhook:1", .architectures = {"amd64"}};

// --- Coverage.

TEST(PolicyCoverageTest, Targets) {
  auto many = [](size_t count) {
    std::map<std::string, size_t> namespaces;
    for (size_t i = 0; i < count; ++i) namespaces["ns" + std::to_string(i)] = 1;
    return namespaces;
  };
  struct Row {
    const char* name;
    PolicyTargets targets;
    bool everywhere;
    size_t namespaces;
    std::string selector;
  };
  const Row rows[] = {
      {"nothing", {}, false, 0, ""},
      {"namespaces", {.namespaces = {{"a", 2}, {"b", 1}}, .selectors = {}}, false, 2, ""},
      {"one selector", {.namespaces = {{"a", 1}}, .selectors = {{"{x}", 3}}}, false, 1, "{x}"},
      {"two selectors", {.namespaces = {}, .selectors = {{"{x}", 1}, {"{y}", 1}}}, true, 0, ""},
      {"the empty selector", {.namespaces = {}, .selectors = {{"{}", 1}}}, true, 0, ""},
      {"one that is too large", {.namespaces = {}, .selectors = {{"", 1}}}, true, 0, ""},
      {"500 namespaces", {.namespaces = many(500), .selectors = {}}, false, 500, ""},
      {"501 namespaces", {.namespaces = many(501), .selectors = {}}, true, 0, ""},
  };
  for (const Row& row : rows) {
    PolicyCoverage coverage = CoverageOf(row.targets);
    EXPECT_EQ(coverage.everywhere, row.everywhere) << row.name;
    EXPECT_EQ(coverage.namespaces.size(), row.namespaces) << row.name;
    EXPECT_EQ(coverage.selector, row.selector) << row.name;
    for (const auto& [ns, count] : row.targets.namespaces)
      EXPECT_TRUE(CoversNamespace(coverage, ns)) << row.name;
    for (const auto& [selector, count] : row.targets.selectors)
      EXPECT_TRUE(CoversSelector(coverage, selector)) << row.name;
  }
}

TEST(PolicyCoverageTest, CoversNothingElse) {
  PolicyCoverage coverage = CoverageOf({.namespaces = {{"a", 1}}, .selectors = {{"{x}", 1}}});
  EXPECT_FALSE(CoversNamespace(coverage, "b"));
  EXPECT_FALSE(CoversSelector(coverage, "{y}"));
  EXPECT_FALSE(CoversSelector(coverage, ""));
  EXPECT_FALSE(CoversSelector({}, ""));
  EXPECT_FALSE(CoversNamespace({}, "a"));
}

// --- The operand.

Json Find(const DesiredObjects& objects, std::string_view kind) {
  for (const DesiredObject& object : objects) {
    if (object.resource.kind == kind) return object.body;
  }
  return nullptr;
}

TEST(PolicyObjectsTest, AnOptionLeavesTheNetworkPolicyOut) {
  for (bool with : {true, false}) {
    OperandOptions options = kOptions;
    options.network_policies = with;
    for (const DesiredObject& object : PolicyObjects({}, options))
      EXPECT_EQ(object.wanted, with || object.resource.kind != "NetworkPolicy") << object.body;
  }
}

TEST(PolicyObjectsTest, TheWebhookIsAnApiClientOfTheCluster) {
  DesiredObjects objects = PolicyObjects({.enabled = true}, kOptions);
  EXPECT_EQ(objects.front().resource.kind, "ServiceAccount");
  Json deployment = Find(objects, "Deployment");
  EXPECT_EQ(deployment["metadata"]["name"], "pod-placement-policy-web-hook");
  EXPECT_EQ(deployment["spec"]["replicas"], 2);
  Json pod = deployment["spec"]["template"]["spec"];
  EXPECT_EQ(pod["priorityClassName"], "system-cluster-critical");
  EXPECT_EQ(pod["automountServiceAccountToken"], true);
  Json container = pod["containers"][0];
  EXPECT_EQ(container["image"], "r.io/webhook:1");
  EXPECT_EQ(container["args"],
            Json::array({"--policies", "--operator-namespace=ops", "--cert-dir=/etc/webhook/certs",
                         "--log-verbosity-file=/etc/pod-placement/settings/log-verbosity",
                         "--metrics-address=:8443", "--metrics-cert-dir=/etc/webhook/certs"}));
  EXPECT_EQ(container["env"][0]["name"], "POD_NAME");
  EXPECT_EQ(Find(objects, "PodDisruptionBudget")["spec"]["minAvailable"], 1);
  Json policy = Find(objects, "NetworkPolicy");
  EXPECT_EQ(policy["spec"]["policyTypes"], Json::array({"Ingress", "Egress"}));
  EXPECT_EQ(policy["spec"]["egress"], Json::array({Json::object()}));
  EXPECT_EQ(Find(objects, "Service")["spec"]["ports"][1]["port"], 443);
}

TEST(PolicyObjectsTest, UpdatesMayGetTheCriteriaOnlyWithAChangedTemplate) {
  Json deployment =
      Find(PolicyObjects({.enabled = true, .updates = "ChangedTemplates"}, kOptions), "Deployment");
  EXPECT_EQ(deployment["spec"]["template"]["spec"]["containers"][0]["args"][3],
            "--only-changed-templates");
}

TEST(PolicyObjectsTest, FailureMayBeForCriteriaBeyondALimitToo) {
  Json deployment =
      Find(PolicyObjects({.enabled = true, .failure_policy = "Fail"}, kOptions), "Deployment");
  EXPECT_EQ(deployment["spec"]["template"]["spec"]["containers"][0]["args"][3],
            "--require-cluster-policies");
}

TEST(PolicyObjectsTest, HasTheReplicasAndResourcesOfTheConfig) {
  api::OperandSettings settings{
      .replicas = 3,
      .resources = api::OperandResources{.limits = api::ResourceAmounts{"", "512Mi"}}};
  DesiredObjects objects = PolicyObjects({.enabled = true}, kOptions, settings);
  Json deployment = Find(objects, "Deployment");
  EXPECT_EQ(deployment["spec"]["replicas"], 3);
  EXPECT_EQ(deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"],
            (Json{{"cpu", "500m"}, {"memory", "512Mi"}}));
  EXPECT_EQ(Find(objects, "PodDisruptionBudget")["spec"]["minAvailable"], 2);
}

// --- The webhook configuration.

PolicyConfiguration Configuration(const PolicyCoverage& coverage,
                                  const api::SchedulingPolicies& plugin = {.enabled = true}) {
  return PolicyWebhookConfiguration(coverage, plugin, "CA", kOptions);
}

// The entries by the first part of their names.
std::map<std::string, Json> EntriesOf(const PolicyConfiguration& configuration) {
  std::map<std::string, Json> entries;
  for (const Json& webhook : configuration.object["webhooks"]) {
    std::string name = webhook["name"];
    entries[name.substr(0, name.find('.'))] = webhook;
  }
  return entries;
}

Json ValuesOf(const Json& webhook, const std::string& key, const char* op) {
  for (const Json& expression : webhook["namespaceSelector"]["matchExpressions"]) {
    if (expression["key"] == key && expression["operator"] == op) return expression["values"];
  }
  return nullptr;
}

constexpr char kName[] = "kubernetes.io/metadata.name";

TEST(PolicyConfigurationTest, AnEntryForEachKindOfPolicyAndOneForTheProbe) {
  const PolicyCoverage namespaces{.namespaces = {"a", "b"}};
  std::map<std::string, Json> entries = EntriesOf(Configuration(namespaces));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_TRUE(entries.contains("probe"));
  EXPECT_EQ(ValuesOf(entries["namespaces"], kName, "In"), Json::array({"a", "b"}));

  const PolicyCoverage both{.namespaces = {"a"}, .selector = R"({"matchLabels":{"env":"prod"}})"};
  entries = EntriesOf(Configuration(both));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries["cluster"]["namespaceSelector"]["matchLabels"], (Json{{"env", "prod"}}));
  // No request matches both.
  EXPECT_EQ(ValuesOf(entries["cluster"], kName, "NotIn"),
            Json::array({"a", "kube-node-lease", "kube-public", "kube-system", "ops"}));

  entries = EntriesOf(Configuration({.everywhere = true}));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(ValuesOf(entries["cluster"], kName, "In"), nullptr);
}

TEST(PolicyConfigurationTest, NothingIsChangedInReservedNamespaces) {
  const PolicyCoverage coverages[] = {
      {.everywhere = true}, {.namespaces = {"a"}, .selector = R"({"matchLabels":{"env":"prod"}})"}};
  for (const PolicyCoverage& coverage : coverages) {
    for (auto& [name, webhook] : EntriesOf(Configuration(coverage))) {
      if (name == "probe") continue;
      std::set<std::string> excluded = ValuesOf(webhook, kName, "NotIn");
      for (const char* ns : {"ops", "kube-system", "kube-public", "kube-node-lease"})
        EXPECT_TRUE(excluded.contains(ns)) << name << " " << ns;
      EXPECT_EQ(ValuesOf(webhook, "role", "NotIn"), Json::array({"kube-system"})) << name;
      EXPECT_EQ(webhook["matchConditions"][0]["expression"],
                "!request.namespace.startsWith('kube-')");
    }
  }
}

// Nobody opts out of policies, neither by a label of a pod or a namespace nor by a scheduler.
TEST(PolicyConfigurationTest, WhatOptsOutOfPlacementIsChanged) {
  for (auto& [name, webhook] :
       EntriesOf(Configuration({.everywhere = true, .namespaces = {"a"}}))) {
    std::string text = kube::DumpJson(webhook);
    EXPECT_EQ(text.find(api::kExcludeLabel), std::string::npos) << name;
    EXPECT_EQ(text.find("schedulerName"), std::string::npos) << name;
    if (name == "probe") continue;
    EXPECT_EQ(webhook["objectSelector"], Json::object()) << name;
  }
}

// A tenant decides how long a list is, and the API server needs the square of that to walk it.
TEST(PolicyConfigurationTest, NoLongListIsWalked) {
  int walks = 0;
  for (auto& [name, webhook] : EntriesOf(Configuration({.everywhere = true}))) {
    for (const Json& condition : webhook["matchConditions"]) {
      std::string expression = condition["expression"];
      size_t walk = expression.find(".exists(");
      if (walk == std::string::npos) continue;
      ++walks;
      EXPECT_LT(expression.find("size(object.metadata.ownerReferences) <= 32 && "), walk)
          << expression;
    }
  }
  EXPECT_EQ(walks, 2);
}

// Everyone can label one, and its pods get only what its template has.
TEST(PolicyConfigurationTest, TheLabelOfAnOperandExemptsNoDaemonSet) {
  std::map<std::string, Json> entries = EntriesOf(Configuration({.everywhere = true}));
  std::map<std::string, std::string> conditions;
  for (const Json& condition : entries["cluster"]["matchConditions"])
    conditions[condition["name"]] = condition["expression"];
  EXPECT_TRUE(conditions["not-the-workload-of-an-operand"].starts_with(
      "request.resource.resource in ['pods', 'daemonsets'] || !"));
}

TEST(PolicyConfigurationTest, RulesAreThoseOfTheTargets) {
  std::map<std::string, Json> entries = EntriesOf(Configuration({.everywhere = true}));
  std::map<std::string, std::string> operations;
  for (const Json& rule : entries["cluster"]["rules"]) {
    EXPECT_EQ(rule["apiVersions"], Json::array({"v1"}));
    for (const Json& resource : rule["resources"]) {
      std::string name = rule["apiGroups"][0].get<std::string>() + "/" + std::string(resource);
      for (const Json& operation : rule["operations"])
        operations[name] += std::string(operation).substr(0, 1);
    }
  }
  const std::map<std::string, std::string> want = {{"/pods", "C"},
                                                   {"/replicationcontrollers", "CU"},
                                                   {"apps/deployments", "CU"},
                                                   {"apps/statefulsets", "CU"},
                                                   {"apps/daemonsets", "CU"},
                                                   {"apps/replicasets", "CU"},
                                                   {"batch/jobs", "C"},
                                                   {"batch/cronjobs", "CU"}};
  EXPECT_EQ(operations, want);
}

TEST(PolicyConfigurationTest, MayChangePodsAlone) {
  const api::SchedulingPolicies plugin{.enabled = true, .resources = "Pods"};
  const PolicyCoverage both{.namespaces = {"a"}, .selector = R"({"matchLabels":{"env":"prod"}})"};
  PolicyConfiguration pods = Configuration(both, plugin);
  std::map<std::string, Json> entries = EntriesOf(pods);
  for (const char* name : {"namespaces", "cluster"}) {
    const Json& rules = entries[name]["rules"];
    ASSERT_EQ(rules.size(), 2u) << name;
    EXPECT_EQ(rules[0]["operations"], Json::array({"CREATE"})) << name;
    EXPECT_EQ(rules[0]["resources"], Json::array({"pods"})) << name;
    // Their pods are exempt, because their templates are changed.
    EXPECT_EQ(rules[1]["operations"], Json::array({"CREATE", "UPDATE"})) << name;
    EXPECT_EQ(rules[1]["resources"], Json::array({"daemonsets"})) << name;
  }
  EXPECT_EQ(entries["probe"]["rules"][0]["resources"], Json::array({"deployments"}));
  EXPECT_NE(pods.hash, Configuration(both).hash) << "the change is acknowledged";
}

TEST(PolicyConfigurationTest, TheOptionsOfEachEntry) {
  const api::SchedulingPolicies fail{.enabled = true, .failure_policy = "Fail"};
  std::map<std::string, Json> entries = EntriesOf(Configuration({.everywhere = true}, fail));
  for (auto& [name, webhook] : entries) {
    EXPECT_EQ(webhook["reinvocationPolicy"], "IfNeeded") << name;
    EXPECT_EQ(webhook["matchPolicy"], "Equivalent") << name;
    EXPECT_EQ(webhook["sideEffects"], "None") << name;
    EXPECT_EQ(webhook["timeoutSeconds"], 3) << name;
    EXPECT_EQ(webhook["clientConfig"]["caBundle"], "Q0E=") << name;
    EXPECT_EQ(webhook["clientConfig"]["service"]["name"], "pod-placement-policy-web-hook") << name;
  }
  EXPECT_EQ(entries["cluster"]["failurePolicy"], "Fail");
  EXPECT_EQ(entries["cluster"]["clientConfig"]["service"]["path"], "/policies");
  // The operator's namespace must never wait for the webhook that runs there.
  EXPECT_EQ(entries["probe"]["failurePolicy"], "Ignore");
  entries = EntriesOf(Configuration({.everywhere = true}));
  EXPECT_EQ(entries["cluster"]["failurePolicy"], "Ignore");
}

TEST(PolicyConfigurationTest, TheProbeMatchesTheOperatorsAlone) {
  PolicyConfiguration configuration = Configuration({.everywhere = true});
  Json probe = EntriesOf(configuration)["probe"];
  EXPECT_EQ(probe["clientConfig"]["service"]["path"], "/policies/probe/" + configuration.hash);
  EXPECT_EQ(ValuesOf(probe, kName, "In"), Json::array({"ops"}));
  EXPECT_EQ(probe["objectSelector"]["matchExpressions"][0]["key"],
            "multiarch.openshift.io/policy-probe");
  EXPECT_EQ(probe["rules"].size(), 1u);
  EXPECT_EQ(probe["rules"][0]["resources"], Json::array({"deployments"}));
  EXPECT_EQ(probe["matchConditions"][0]["expression"],
            "request.userInfo.username == "
            "'system:serviceaccount:ops:multiarch-tuning-operator'");
}

TEST(PolicyConfigurationTest, EveryChangeOfAnEntryChangesTheHash) {
  const api::SchedulingPolicies fail{.enabled = true, .failure_policy = "Fail"};
  std::set<std::string> hashes = {
      Configuration({.everywhere = true}).hash, Configuration({.everywhere = true}, fail).hash,
      Configuration({.namespaces = {"a"}}).hash, Configuration({.namespaces = {"a", "b"}}).hash,
      PolicyWebhookConfiguration({.everywhere = true}, {}, "another CA", kOptions).hash};
  EXPECT_EQ(hashes.size(), 5u);
  EXPECT_EQ(Configuration({.everywhere = true}).hash, Configuration({.everywhere = true}).hash);
}

TEST(PolicyConfigurationTest, IsOwnedByTheOperatorsNamespace) {
  Json object = Configuration({.everywhere = true}).object;
  EXPECT_EQ(object["metadata"]["name"], "multiarch-scheduling-policies");
  EXPECT_EQ(object["metadata"]["ownerReferences"][0]["name"], "ops");
}

}  // namespace
}  // namespace operator_
