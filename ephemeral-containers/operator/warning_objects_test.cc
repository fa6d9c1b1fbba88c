// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/operator/warning_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "api/excluded_namespaces.h"
#include "api/testing/make_config.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"
#include "operator/objects/desired_object.h"
#include "operator/objects/options.h"

namespace operator_ {
namespace {

using kube::Json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr char kName[] = "pod-placement-ephemeral-containers-web-hook";

OperandOptions Options() {
  return {.ns = "ops",
          .ns_uid = "u",
          .controller_image = "r.io/controller:1",
          .architectures = {"amd64"},
          .excluded_namespaces = {},
          .proxy_environment = {{"HTTPS_PROXY", "p"}},
          .cloud_registries = "1.dkr.ecr.eu-west-1.amazonaws.com",
          .node_files = {{"registries-conf", "/etc/containers/registries.conf"}}};
}

Json Find(const DesiredObjects& objects, const kube::Resource& resource) {
  for (const DesiredObject& object : objects) {
    if (object.resource.kind == resource.kind) return object.body;
  }
  return nullptr;
}

Json Configuration(const OperandOptions& options, const Json& selector = nullptr) {
  api::MakeClusterConfig make;
  if (!selector.is_null()) make.Set("/spec/namespaceSelector", selector);
  auto config = api::ClusterPodPlacementConfig::FromJson(make.Build());
  return WarningConfiguration(*config, "/secret", "CA", options).body;
}

TEST(WarningObjectsTest, TheWebhookRunsTheControllersImageAndNeverPlacesPods) {
  DesiredObjects objects = WarningObjects(Options());
  for (const DesiredObject& object : objects) EXPECT_EQ(object.Key().name, kName);
  Json deployment = Find(objects, kube::kDeployments);
  EXPECT_EQ(deployment["spec"]["replicas"], 2);
  const Json& pod = deployment["spec"]["template"]["spec"];
  EXPECT_EQ(pod["serviceAccountName"], kName);
  // It is worth no other pod.
  EXPECT_FALSE(pod.contains("priorityClassName"));
  const Json& container = pod["containers"][0];
  EXPECT_EQ(container["image"], "r.io/controller:1");
  std::vector<std::string> args = container["args"];
  EXPECT_THAT(args, Contains("--ephemeral-container-warnings"));
  EXPECT_THAT(args, Contains("--namespace=ops"));
  // As the controller inspects images.
  EXPECT_THAT(args, Contains("--registries-conf=/host/etc/containers/registries.conf"));
  EXPECT_THAT(args, Contains("--cloud-registries=1.dkr.ecr.eu-west-1.amazonaws.com"));
  EXPECT_THAT(kube::DumpJson(container["env"]), HasSubstr("HTTPS_PROXY"));
  EXPECT_EQ(container["resources"]["limits"]["memory"], "256Mi");
  EXPECT_EQ(Find(objects, kube::kPodDisruptionBudgets)["spec"]["minAvailable"], 1);
}

// The operator could bind it to anybody.
TEST(WarningObjectsTest, TheOperatorDoesNotBindItsRole) {
  EXPECT_EQ(Find(WarningObjects(Options()), kube::kClusterRoleBindings), nullptr);
}

// The last object to be removed shows that the removal is not complete.
TEST(WarningObjectsTest, TheServiceAccountIsTheFirstToBeCreated) {
  EXPECT_EQ(WarningObjects(Options()).front().resource.kind, kube::kServiceAccounts.kind);
}

TEST(WarningConfigurationTest, AFailureBlocksNothing) {
  Json object = Configuration(Options());
  ASSERT_EQ(object["webhooks"].size(), 1u);
  const Json& webhook = object["webhooks"][0];
  EXPECT_EQ(webhook["failurePolicy"], "Ignore");
  EXPECT_EQ(webhook["sideEffects"], "None");
  EXPECT_EQ(webhook["matchPolicy"], "Equivalent");
  EXPECT_EQ(webhook["timeoutSeconds"], 5);
  EXPECT_EQ(webhook["clientConfig"]["service"]["name"], kName);
  EXPECT_EQ(webhook["clientConfig"]["service"]["path"], "/secret");
  ASSERT_EQ(webhook["rules"].size(), 1u);
  EXPECT_EQ(webhook["rules"][0]["resources"], Json::array({"pods/ephemeralcontainers"}));
  EXPECT_EQ(webhook["rules"][0]["operations"], Json::array({"UPDATE"}));
}

TEST(WarningConfigurationTest, NamespacesAreThoseWhosePodsMayBeGated) {
  Json selector = {{"matchLabels", {{"team", "a"}}}};
  Json webhook = Configuration(Options(), selector)["webhooks"][0];
  EXPECT_EQ(webhook["namespaceSelector"]["matchLabels"]["team"], "a");
  std::string text = kube::DumpJson(webhook["namespaceSelector"]);
  EXPECT_THAT(text, HasSubstr("\"ops\""));
  EXPECT_THAT(text, HasSubstr("kube-system"));
  EXPECT_THAT(text, HasSubstr("exclude-pod-placement"));
  std::string conditions = kube::DumpJson(webhook["matchConditions"]);
  EXPECT_THAT(conditions, HasSubstr("startsWith('kube-')"));
  EXPECT_THAT(conditions, HasSubstr("not-opted-out"));

  OperandOptions options = Options();
  options.excluded_namespaces = *api::ExcludedNamespaces::Parse("openshift-*");
  Json webhooks = Configuration(options)["webhooks"];
  ASSERT_EQ(webhooks.size(), 2u);
  std::set<std::string> names;
  for (const Json& each : webhooks) names.insert(each["name"].get<std::string>());
  EXPECT_EQ(names.size(), 2u);
  EXPECT_THAT(kube::DumpJson(webhooks[0]["matchConditions"]),
              HasSubstr("!(request.namespace.startsWith('openshift-'))"));
  EXPECT_THAT(kube::DumpJson(webhooks[1]["namespaceSelector"]), HasSubstr("include-pod-placement"));
}

}  // namespace
}  // namespace operator_
