// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/operand.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace operator_ {
namespace {

using kube::Json;

const OperandOptions kOptions{.ns = "ops", .ns_uid = "u", .architectures = {"amd64", "arm64"}};

Operand Shard() {
  return {.ns = "shop", .name = "ctl", .binary = "shard", .image = "r.io/shard:1", .args = {"--x"}};
}
Operand Webhook() {
  return {.ns = "shop",
          .name = "hook",
          .binary = "webhook",
          .image = "r.io/webhook:1",
          .webhook = true};
}

Json PodSpecOf(const Operand& operand, const OperandOptions& options = kOptions) {
  return OperandDeployment(operand, options)["spec"]["template"]["spec"];
}

TEST(OperandTest, MeetsTheRestrictedPodSecurityStandard) {
  for (const Operand& operand : {Shard(), Webhook()}) {
    Json pod = PodSpecOf(operand);
    EXPECT_EQ(pod["securityContext"]["runAsNonRoot"], true);
    EXPECT_EQ(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
    ASSERT_EQ(pod["containers"].size(), 1u);
    Json container = pod["containers"][0];
    EXPECT_EQ(container["securityContext"]["allowPrivilegeEscalation"], false);
    EXPECT_EQ(container["securityContext"]["readOnlyRootFilesystem"], true);
    EXPECT_EQ(container["securityContext"]["capabilities"]["drop"], Json::array({"ALL"}));
  }
}

TEST(OperandTest, OnlyTheWebhooksPortIsOpenToAnyClient) {
  for (const Operand& operand : {Shard(), Webhook()}) {
    Json policy = OperandNetworkPolicy(operand);
    EXPECT_EQ(policy["metadata"]["namespace"], "shop");
    EXPECT_EQ(policy["spec"]["podSelector"]["matchLabels"],
              OperandDeployment(operand, kOptions)["spec"]["selector"]["matchLabels"]);
    // A controller calls the API server, also where traffic is denied by default.
    Json types = Json::array({"Ingress"});
    if (!operand.webhook) types.push_back("Egress");
    EXPECT_EQ(policy["spec"]["policyTypes"], types);
    EXPECT_EQ(policy["spec"].contains("egress"), !operand.webhook);
    std::set<int> open;
    for (const Json& rule : policy["spec"]["ingress"]) {
      bool to_all = !rule.contains("from");
      EXPECT_TRUE(to_all || !rule["from"].empty());
      for (const Json& port : rule["ports"]) {
        if (to_all) open.insert(port["port"].get<int>());
      }
    }
    EXPECT_EQ(open, operand.webhook ? std::set<int>{9443} : std::set<int>{}) << operand.name;
  }
}

// A cluster may assign users to namespaces and refuse any other.
TEST(OperandTest, HasNoFixedUser) {
  for (const Operand& operand : {Shard(), Webhook()}) {
    Json pod = PodSpecOf(operand);
    for (const char* fixed : {"runAsUser", "runAsGroup", "fsGroup"}) {
      EXPECT_FALSE(pod["securityContext"].contains(fixed)) << fixed;
    }
  }
  EXPECT_EQ(PodSpecOf(Webhook())["volumes"][0]["secret"]["defaultMode"], 0444);
}

TEST(OperandTest, ACandidateOfLeaderElectionKnowsItsPodsName) {
  Json env = PodSpecOf(Shard())["containers"][0]["env"];
  ASSERT_EQ(env.size(), 1u);
  EXPECT_EQ(env[0]["name"], "POD_NAME");
  EXPECT_EQ(env[0]["valueFrom"]["fieldRef"]["fieldPath"], "metadata.name");
}

TEST(OperandTest, HasRequestsAndLimitsForAResourceQuota) {
  Json resources = PodSpecOf(Shard())["containers"][0]["resources"];
  for (const char* kind : {"requests", "limits"}) {
    EXPECT_TRUE(resources[kind].contains("cpu")) << kind;
    EXPECT_TRUE(resources[kind].contains("memory")) << kind;
  }
}

TEST(OperandTest, RunsOnlyWhereItsImageCan) {
  Json terms =
      PodSpecOf(Shard())["affinity"]["nodeAffinity"]
                        ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  ASSERT_EQ(terms.size(), 1u);
  Json expressions = terms[0]["matchExpressions"];
  ASSERT_EQ(expressions.size(), 2u);
  EXPECT_EQ(
      expressions[0],
      (Json{{"key", "kubernetes.io/os"}, {"operator", "In"}, {"values", Json::array({"linux"})}}));
  EXPECT_EQ(expressions[1]["key"], "kubernetes.io/arch");
  EXPECT_EQ(expressions[1]["values"], Json::array({"amd64", "arm64"}));
}

TEST(OperandTest, AWebhookHasItsCertificateAndNoToken) {
  Json pod = PodSpecOf(Webhook());
  EXPECT_EQ(pod["automountServiceAccountToken"], false);
  EXPECT_EQ(pod["volumes"][0]["secret"]["secretName"], "hook");
  EXPECT_EQ(pod["containers"][0]["volumeMounts"][0]["mountPath"], "/etc/webhook/certs");
  EXPECT_EQ(PodSpecOf(Shard())["automountServiceAccountToken"], true);
  EXPECT_EQ(PodSpecOf(Shard())["volumes"].size(), 1u);  // the settings
}

TEST(OperandTest, ProtectedMetricsAreApartFromHealth) {
  Operand controller = Shard();
  Operand webhook = Webhook();
  controller.protected_metrics = webhook.protected_metrics = true;
  for (const Operand& operand : {controller, webhook}) {
    Json pod = PodSpecOf(operand);
    Json container = pod["containers"][0];
    std::map<std::string, int> ports;
    for (const Json& port : container["ports"]) ports[port["name"]] = port["containerPort"];
    EXPECT_EQ(ports["metrics"], 8443);
    EXPECT_EQ(ports["health"], 8080);
    for (const char* probe : {"readinessProbe", "livenessProbe"})
      EXPECT_EQ(container[probe]["httpGet"]["port"], "health");
    EXPECT_EQ(pod["volumes"][0]["secret"]["secretName"], operand.name);
    // It asks the API server who may read them.
    EXPECT_EQ(pod["automountServiceAccountToken"], true);
    EXPECT_EQ(OperandService(operand)["spec"]["ports"][0]["port"], 8443);
    EXPECT_EQ(OperandNetworkPolicy(operand)["spec"]["ingress"][0]["ports"][0]["port"], 8443);
  }
  const char* verbosity = "--log-verbosity-file=/etc/pod-placement/settings/log-verbosity";
  EXPECT_EQ(PodSpecOf(controller)["containers"][0]["args"],
            Json::array({"--x", verbosity, "--metrics-address=:8443",
                         "--metrics-cert-dir=/etc/metrics/certs"}));
  EXPECT_EQ(PodSpecOf(controller)["containers"][0]["volumeMounts"][0]["mountPath"],
            "/etc/metrics/certs");
  EXPECT_EQ(
      PodSpecOf(webhook)["containers"][0]["args"],
      Json::array({verbosity, "--metrics-address=:8443", "--metrics-cert-dir=/etc/webhook/certs"}));
}

TEST(OperandTest, OnlyTheClustersOperandsMayPreemptPods) {
  EXPECT_FALSE(PodSpecOf(Shard()).contains("priorityClassName"));
  Operand critical = Shard();
  critical.critical = true;
  EXPECT_EQ(PodSpecOf(critical)["priorityClassName"], "system-cluster-critical");
}

TEST(OperandTest, PodsAreSelectedByNameAsANamespaceMayHaveTwoWebhooks) {
  Json deployment = OperandDeployment(Webhook(), kOptions);
  Json selector = deployment["spec"]["selector"]["matchLabels"];
  EXPECT_EQ(selector, (Json{{"app.kubernetes.io/name", "hook"}}));
  Json labels = deployment["spec"]["template"]["metadata"]["labels"];
  EXPECT_EQ(labels["app.kubernetes.io/name"], "hook");
  EXPECT_EQ(labels["multiarch.openshift.io/operand"], "webhook");
  EXPECT_EQ(OperandService(Webhook())["spec"]["selector"], selector);
}

TEST(OperandTest, NamesPullSecrets) {
  OperandOptions options = kOptions;
  options.image_pull_secrets = {"mine"};
  EXPECT_EQ(PodSpecOf(Shard(), options)["imagePullSecrets"], Json::array({Json{{"name", "mine"}}}));
  EXPECT_FALSE(PodSpecOf(Shard()).contains("imagePullSecrets"));
}

TEST(OperandTest, AnUpdateFitsIntoAQuotaThatHasRoomForOnePod) {
  EXPECT_EQ(
      OperandDeployment(Shard(), kOptions)["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"],
      1);
}

TEST(OperandTest, FoldersOfTheNodeAreMountedReadOnly) {
  Operand controller = Shard();
  controller.host_folders = {"/etc/containers", "/etc/containerd/certs.d"};
  Json pod = PodSpecOf(controller);
  ASSERT_EQ(pod["volumes"].size(), 3u);
  EXPECT_EQ(pod["volumes"][1]["hostPath"]["path"], "/etc/containers");
  Json mount = pod["containers"][0]["volumeMounts"][1];
  EXPECT_EQ(mount, (Json{{"name", pod["volumes"][1]["name"]},
                         {"mountPath", "/host/etc/containers"},
                         {"readOnly", true}}));
}

TEST(OperandTest, OpenShiftRunsItRestrictedUnlessItReadsTheNode) {
  Operand controller = Shard();
  const Json annotations = {{"openshift.io/required-scc", "restricted-v2"}};
  Json deployment = OperandDeployment(controller, kOptions);
  EXPECT_EQ(deployment["spec"]["template"]["metadata"]["annotations"], annotations);
  controller.host_folders = {"/etc/containers"};
  deployment = OperandDeployment(controller, kOptions);
  EXPECT_FALSE(deployment["spec"]["template"]["metadata"].contains("annotations"));
}

TEST(NodeFilesTest, AreFlagsAndPlainPaths) {
  auto files = ParseNodeFiles(
      "registries-conf=/etc/containers/registries.conf,certs-dir=/etc/containers/certs.d");
  ASSERT_TRUE(files);
  EXPECT_EQ(files->size(), 2u);
  EXPECT_TRUE(ParseNodeFiles("")->empty());
  for (const char* bad :
       {"kubeconfig=/etc/kubernetes/admin.conf", "policy", "policy=", "policy=etc/policy.json",
        "policy=/etc/../root/x", "policy=/x", "certs-dir=/etc/containers/"}) {
    EXPECT_FALSE(ParseNodeFiles(bad)) << bad;
  }
}

TEST(ParseAnnotationsTest, ReadsKeysAndValues) {
  auto annotations = ParseAnnotations("eks.amazonaws.com/role-arn=arn:aws:iam::1:role/r=1,a=b");
  ASSERT_TRUE(annotations) << annotations.error();
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(
      *annotations,
      (std::vector<Pair>{{"eks.amazonaws.com/role-arn", "arn:aws:iam::1:role/r=1"}, {"a", "b"}}));
  EXPECT_TRUE(ParseAnnotations("")->empty());
  for (const char* bad : {"a", "=b", "a=", "a=b,c"}) EXPECT_FALSE(ParseAnnotations(bad)) << bad;
}

}  // namespace
}  // namespace operator_
