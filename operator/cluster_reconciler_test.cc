// SPDX-License-Identifier: Apache-2.0
#include "operator/cluster_reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "api/known_images.h"
#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/call_kind.h"
#include "kube/testing/make_pod.h"
#include "kube/types/coordination.pb.h"
#include "kube/types/list_at.h"
#include "operator/preferring_namespaces.h"
#include "operator/testing/harness.h"
#include "placement/gate.h"
#include "watches/announcements.h"

namespace operator_ {
namespace {

using kube::Error;
using kube::Json;
using kube::MakePod;
using kube::core::Pod;
using testing::ElementsAre;
using testing::Pair;
using namespace std::chrono_literals;

const kube::ObjectKey kConfiguration{"", std::string(api::kMutatingWebhookConfigurationName)};

class ClusterReconcilerTest : public testing::Test {
 protected:
  void SetUp() override { h_.StartOperator(); }
  bool IsGated(const std::string& ns, const std::string& name, std::string_view gate) {
    return placement::HasGate(*h_.api.Get<Pod>({ns, name}), gate);
  }
  // Where pods that require an architecture are gated too; null if nowhere.
  Json GatedNamespaces() {
    Json webhooks =
        (*h_.api.GetJson(kube::kMutatingWebhookConfigurations, kConfiguration))["webhooks"];
    // The last one is for the probe.
    return webhooks.size() == 2
               ? Json()
               : webhooks[1]["namespaceSelector"]["matchExpressions"].back()["values"];
  }
  bool ConfigDeleted() { return !h_.Exists(Harness::kClusterConfigs, {"", "cluster"}); }
  void DeleteConfig() { h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"}); }

  Harness h_;
};

TEST_F(ClusterReconcilerTest, NothingRunsWithoutAConfig) {
  h_.Pass(5s);
  EXPECT_TRUE(h_.ClusterRemoved());
}

TEST_F(ClusterReconcilerTest, TheConfigBringsUpTheOperands) {
  h_.CreateClusterConfig();
  ASSERT_TRUE(h_.Await([&] {
    return h_.Exists(kube::kDeployments, {"ops", std::string(api::kWebhookName)});
  }));
  h_.Pass(2s);
  // No pod is gated for a controller that never came up.
  EXPECT_FALSE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration));
  EXPECT_EQ(h_.ClusterCondition("Available"), "False NotAllComponentsReady");
  EXPECT_EQ(h_.ClusterCondition("MutatingWebhookConfigurationNotAvailable"), "True NotConfigured");
  h_.RollOutCluster();
  ASSERT_TRUE(
      h_.Await([&] { return h_.ClusterCondition("Available") == "True AllComponentsReady"; }));
  EXPECT_TRUE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration));
  EXPECT_EQ(h_.ClusterCondition("PodPlacementControllerNotRolledOut"), "False AsExpected");
  EXPECT_EQ(h_.ClusterCondition("Deprovisioning"), "False NotDeleted");
  Json finalizers =
      (*h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"}))["metadata"]["finalizers"];
  EXPECT_EQ(finalizers, Json::array({"finalizers.multiarch.openshift.io/pod-placement",
                                     "finalizers.multiarch.openshift.io/no-pod-placement-config"}));
}

TEST_F(ClusterReconcilerTest, ReplicasAndResourcesOfTheConfigAreRolledOut) {
  ASSERT_TRUE(h_.BringUpCluster());
  const kube::ObjectKey key{"ops", std::string(api::kControllerName)};
  auto deployment = [&] { return *h_.api.GetJson(kube::kDeployments, key); };
  const Json before = deployment()["spec"];
  auto set = [&](Json spec) {
    Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    config["spec"] = std::move(spec);
    h_.api.UpdateJson(Harness::kClusterConfigs, config);
  };
  Json limits = {{"cpu", "1"}, {"memory", "512Mi"}};
  set({{"operands", {{"controller", {{"replicas", 3}, {"resources", {{"limits", limits}}}}}}}});
  ASSERT_TRUE(h_.Await([&] {
    Json spec = deployment()["spec"];
    return spec["replicas"] == 3 &&
           spec["template"]["spec"]["containers"][0]["resources"]["limits"] == limits;
  }));
  set(Json::object());
  EXPECT_TRUE(h_.Await([&] { return deployment()["spec"] == before; }));
}

TEST_F(ClusterReconcilerTest, TheControllerMayChangeTemplatesWhileAPluginIsOn) {
  const kube::ObjectKey jobs{"", "pod-placement-suspended-jobs"};
  const kube::ObjectKey daemon_sets{"", "pod-placement-daemon-set-report"};
  ASSERT_TRUE(h_.BringUpCluster());
  EXPECT_TRUE(h_.api.ListJson(kube::kClusterRoleBindings).empty());
  auto use = [&](Json plugins) {
    Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    config["spec"]["plugins"] = std::move(plugins);
    h_.api.UpdateJson(Harness::kClusterConfigs, config);
  };
  use({{"templates", {{"suspendedJobs", true}}}});
  EXPECT_TRUE(h_.Await([&] { return h_.Exists(kube::kClusterRoleBindings, jobs); }));
  EXPECT_FALSE(h_.Exists(kube::kClusterRoleBindings, daemon_sets));
  use({{"daemonSets", {{"report", true}}}});
  EXPECT_TRUE(h_.Await([&] {
    return h_.Exists(kube::kClusterRoleBindings, daemon_sets) &&
           !h_.Exists(kube::kClusterRoleBindings, jobs);
  }));
  DeleteConfig();
  EXPECT_TRUE(h_.Await([&] { return !h_.Exists(kube::kClusterRoleBindings, daemon_sets); }));
}

// The rights for templates are optional: neither gating nor the other rights wait for one.
TEST_F(ClusterReconcilerTest, ARightForTemplatesThatIsRefusedDelaysNothing) {
  const std::string bindings = "clusterrolebindings/pod-placement-";
  h_.api.FailNext(Error::Invalid("roleRef is immutable"), bindings + "suspended-jobs", 1'000);
  h_.api.FailNext(Error::FromHttpStatus(403, "Forbidden", "no"), bindings + "daemon-set-report",
                  1'000);
  Json config = api::MakeClusterConfig().Build();
  config["spec"]["plugins"] = {{"templates", {{"suspendedJobs", true}}},
                               {"daemonSets", {{"report", true}, {"patchTemplates", true}}}};
  h_.api.CreateJson(Harness::kClusterConfigs, config);
  ASSERT_TRUE(h_.Await([&] {
    return h_.Exists(kube::kDeployments, {"ops", std::string(api::kWebhookName)});
  }));
  h_.RollOutCluster();
  EXPECT_TRUE(h_.Await([&] {
    return h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration) &&
           h_.Exists(kube::kClusterRoleBindings, {"", "pod-placement-daemon-set-templates"});
  }));
  EXPECT_EQ(h_.ClusterCondition("Available"), "True AllComponentsReady");
}

TEST_F(ClusterReconcilerTest, ARightForTemplatesThatIsNotReadyIsAppliedSoon) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.api.FailNext(Error::Unavailable("503"), "clusterrolebindings", 3);
  Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  config["spec"]["plugins"] = {{"daemonSets", {{"report", true}}}};
  h_.api.UpdateJson(Harness::kClusterConfigs, config);
  h_.Pass(60s);
  EXPECT_TRUE(h_.Exists(kube::kClusterRoleBindings, {"", "pod-placement-daemon-set-report"}));
}

// An operator whose role is older, or was restricted by an administrator.
TEST_F(ClusterReconcilerTest, TheConfigIsDeletedWithoutTheRightToRemoveThoseForTemplates) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.api.FailNext(Error::FromHttpStatus(403, "Forbidden", "no"), "clusterrolebindings", 1'000);
  DeleteConfig();
  EXPECT_TRUE(h_.Await([&] { return ConfigDeleted(); }));
  EXPECT_TRUE(h_.ClusterRemoved());
}

TEST_F(ClusterReconcilerTest, TheControllerMayWatchTheGlobalPullSecretAndNoOther) {
  const kube::ObjectKey rights{"ops", "pod-placement-global-pull-secret"};
  ASSERT_TRUE(h_.BringUpCluster());
  EXPECT_FALSE(h_.Exists(kube::kRoles, rights));
  auto name_secret = [&](Json spec) {
    Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    config["spec"] = std::move(spec);
    h_.api.UpdateJson(Harness::kClusterConfigs, config);
  };
  auto named = [&] {
    std::optional<Json> role = h_.api.GetJson(kube::kRoles, rights);
    return role ? kube::DumpJson((*role)["rules"][0]["resourceNames"]) : "";
  };
  name_secret({{"globalPullSecretRef", {{"name", "one"}}}});
  ASSERT_TRUE(
      h_.Await([&] { return named() == R"(["one"])" && h_.Exists(kube::kRoleBindings, rights); }));
  name_secret({{"globalPullSecretRef", {{"name", "two"}}}});
  EXPECT_TRUE(h_.Await([&] { return named() == R"(["two"])"; }));
  name_secret(Json::object());
  EXPECT_TRUE(h_.Await(
      [&] { return !h_.Exists(kube::kRoles, rights) && !h_.Exists(kube::kRoleBindings, rights); }));
  name_secret({{"globalPullSecretRef", {{"name", "one"}}}});
  ASSERT_TRUE(h_.Await([&] { return named() == R"(["one"])"; }));
  DeleteConfig();
  EXPECT_TRUE(h_.Await(
      [&] { return ConfigDeleted() && h_.ClusterRemoved() && !h_.Exists(kube::kRoles, rights); }));
}

TEST_F(ClusterReconcilerTest, DeletionWaitsForPodPlacementConfigs) {
  ASSERT_TRUE(h_.BringUpCluster());
  ASSERT_TRUE(h_.BringUp("shop"));
  DeleteConfig();
  ASSERT_TRUE(h_.Await([&] { return h_.ClusterCondition("Deprovisioning") == "True Deleted"; }));
  h_.Pass(30s);
  EXPECT_TRUE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration));
  EXPECT_FALSE(h_.ShardRemoved("shop"));
  h_.DeleteConfig("shop", "a");
  EXPECT_TRUE(h_.Await([&] { return ConfigDeleted(); }));
  EXPECT_TRUE(h_.Await([&] { return h_.ClusterRemoved() && h_.ShardRemoved("shop"); }));
}

// An API server that has just started may not know the kind when it deletes a namespace.
TEST_F(ClusterReconcilerTest, DeletionWaitsForNoConfigOfANamespaceThatIsGone) {
  ASSERT_TRUE(h_.BringUpCluster());
  ASSERT_TRUE(h_.BringUp("shop"));
  h_.api.Delete<kube::core::Namespace>({"", "shop"});
  DeleteConfig();
  EXPECT_TRUE(h_.Await([&] { return ConfigDeleted(); }));
  EXPECT_TRUE(h_.Await([&] { return h_.ClusterRemoved(); }));
}

TEST_F(ClusterReconcilerTest, DeletionDrainsThePodsBeforeTheControllerIsDeleted) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.api.Create<Pod>(MakePod("web").Namespace("any").Phase("Pending").Gate(api::kClusterGate));
  DeleteConfig();
  h_.Pass(10s);
  EXPECT_FALSE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration));
  EXPECT_TRUE(h_.Exists(kube::kDeployments, {"ops", std::string(api::kControllerName)}));
  EXPECT_TRUE(IsGated("any", "web", api::kClusterGate));
  EXPECT_FALSE(ConfigDeleted());
  h_.api.Update<Pod>(MakePod("web").Namespace("any").Phase("Pending"));
  EXPECT_TRUE(h_.Await([&] { return ConfigDeleted() && h_.ClusterRemoved(); }));
}

TEST_F(ClusterReconcilerTest, PodsAreUngatedAtOnceIfTheControllerIsDown) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.RollOut("ops", api::kControllerName, /*runs=*/false);
  h_.api.Create<Pod>(MakePod("web").Namespace("any").Phase("Pending").Gate(api::kClusterGate));
  h_.api.Create<Pod>(MakePod("both")
                         .Namespace("any")
                         .Phase("Pending")
                         .Gate(api::kClusterGate)
                         .Gate(api::kLocalGate));
  h_.Pass(1s);
  DeleteConfig();
  h_.Pass(3s);
  EXPECT_FALSE(IsGated("any", "web", api::kClusterGate));
  // I1: not the cluster gate alone. A shard may still be at work on it.
  EXPECT_TRUE(IsGated("any", "both", api::kClusterGate));
  EXPECT_TRUE(h_.Await([&] { return ConfigDeleted() && h_.ClusterRemoved(); }));
  EXPECT_FALSE(IsGated("any", "both", api::kClusterGate));
  EXPECT_FALSE(IsGated("any", "both", api::kLocalGate));
}

TEST_F(ClusterReconcilerTest, UnusableNamedObjectsAreDegraded) {
  ASSERT_TRUE(h_.BringUpCluster());
  auto degraded = [this] {
    Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    for (const Json& condition : config["status"]["conditions"]) {
      if (condition["type"] == "Degraded" && condition["status"] == "True")
        return condition["message"].get<std::string>();
    }
    return std::string();
  };
  auto reports = [&](const std::string& text) {
    return h_.Await([&] { return degraded().find(text) != std::string::npos; });
  };
  EXPECT_EQ(degraded(), "");
  Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  config["spec"]["registriesConfigMapRef"]["name"] = "regs";
  config["spec"]["caBundleConfigMapRef"]["name"] = "bundle";
  config["spec"]["globalPullSecretRef"]["name"] = "pull";
  h_.api.UpdateJson(Harness::kClusterConfigs, config);
  ASSERT_TRUE(reports("registriesConfigMapRef: ConfigMap ops/regs does not exist")) << degraded();
  EXPECT_TRUE(reports("caBundleConfigMapRef: ConfigMap ops/bundle does not exist")) << degraded();
  EXPECT_TRUE(reports("globalPullSecretRef: Secret ops/pull does not exist")) << degraded();

  auto metadata = [](const char* name) {
    kube::meta::ObjectMeta meta;
    meta.set_name(name);
    meta.set_namespace_("ops");
    return meta;
  };
  kube::core::ConfigMap registries;
  *registries.mutable_metadata() = metadata("regs");
  (*registries.mutable_data())["registries.conf"] =
      "[[registry]]\nlocation = \"r.io\"\nblocked = 1\n";
  (*registries.mutable_data())["policy.json"] = "{\n";
  h_.api.Create(registries);
  kube::core::ConfigMap bundle;
  *bundle.mutable_metadata() = metadata("bundle");
  (*bundle.mutable_data())["ca-bundle.crt"] =
      "\n-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----\n";
  h_.api.Create(bundle);
  kube::core::Secret secret;
  *secret.mutable_metadata() = metadata("pull");
  secret.set_type("kubernetes.io/dockerconfigjson");
  (*secret.mutable_data())[".dockerconfigjson"] = "{\"auths\": hunter2}";
  h_.api.Create(secret);
  ASSERT_TRUE(reports("ConfigMap ops/regs key registries.conf line 3: blocked: not true or false"))
      << degraded();
  EXPECT_TRUE(reports("key policy.json: line 2, column 1: not valid JSON")) << degraded();
  EXPECT_TRUE(
      reports("ConfigMap ops/bundle key ca-bundle.crt line 2: certificate 1 cannot be read"))
      << degraded();
  EXPECT_TRUE(reports("Secret ops/pull key .dockerconfigjson line 1, column 11: not valid JSON"))
      << degraded();
  EXPECT_EQ(degraded().find("hunter2"), std::string::npos) << degraded();

  (*registries.mutable_data())["registries.conf"] = "";
  registries.mutable_data()->erase("policy.json");
  h_.api.Update(registries);
  config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  config["spec"].erase("caBundleConfigMapRef");
  config["spec"].erase("globalPullSecretRef");
  h_.api.UpdateJson(Harness::kClusterConfigs, config);
  EXPECT_TRUE(h_.Await([&] { return degraded().empty(); })) << degraded();
}

// Named objects are not watched; the certificates need not be read as often.
TEST_F(ClusterReconcilerTest, OnlyNamedObjectsAreReadAgainAndAgain) {
  ASSERT_TRUE(h_.BringUpCluster());
  kube::core::ConfigMap registries;
  registries.mutable_metadata()->set_name("regs");
  registries.mutable_metadata()->set_namespace_("ops");
  h_.api.Create(registries);
  Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  config["spec"]["registriesConfigMapRef"]["name"] = "regs";
  h_.api.UpdateJson(Harness::kClusterConfigs, config);
  h_.Pass(30s);
  size_t begin = h_.api.calls().size();
  h_.Pass(60s);
  EXPECT_THAT(kube::CountKinds(h_.api.calls(), begin), ElementsAre(Pair("get configmaps", 6)));

  // An operand that is not available may lack its certificate.
  h_.RollOut("ops", api::kWebhookName, /*runs=*/false);
  h_.api.Delete<kube::core::Secret>({"ops", std::string(api::kWebhookName)});
  EXPECT_TRUE(h_.Await([&] { return h_.SecretExists({"ops", std::string(api::kWebhookName)}); }));
}

// A cluster with the objects of a Go operator that was uninstalled.
class FromTheGoOperatorTest : public ClusterReconcilerTest {
 protected:
  void SetUp() override {
    Json deployment = Object("apps/v1", "Deployment", "ops", std::string(api::kControllerName));
    deployment["metadata"]["finalizers"] = Json::array({std::string(api::kPodPlacementFinalizer)});
    deployment["spec"]["selector"]["matchLabels"] = {{"controller", "pod-placement-controller"}};
    h_.api.CreateJson(kube::kDeployments, deployment);
    Json service = Object("v1", "Service", "ops", std::string(api::kWebhookName));
    service["spec"]["selector"] = {{"controller", "pod-placement-web-hook"}};
    h_.api.CreateJson(kube::kServices, service);
    Json configuration = Object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration",
                                "", std::string(api::kMutatingWebhookConfigurationName));
    configuration["metadata"]["annotations"] = {
        {"service.beta.openshift.io/inject-cabundle", "true"}};
    h_.api.CreateJson(kube::kMutatingWebhookConfigurations, configuration);
    Json validating = Object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
                             "", "multiarch-tuning-operator-validating-webhook-configuration");
    validating["webhooks"] = Json::array({{{"name", "theirs.example.com"}}});
    validating["metadata"]["annotations"] = {{"theirs", "true"}};
    h_.api.CreateJson(kube::kValidatingWebhookConfigurations, validating);
    h_.CreateClusterConfig();
    Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    config["metadata"]["finalizers"] = Json::array(
        {std::string(api::kPodPlacementFinalizer), std::string(api::kENoExecEventsFinalizer)});
    h_.api.UpdateJson(Harness::kClusterConfigs, config);
    h_.api.Create<Pod>(MakePod("web").Namespace("any").Phase("Pending").Gate(api::kClusterGate));
  }
  static Json Object(const char* api_version, const char* kind, const std::string& ns,
                     const std::string& name) {
    Json object = {{"apiVersion", api_version}, {"kind", kind}, {"metadata", {{"name", name}}}};
    if (!ns.empty()) object["metadata"]["namespace"] = ns;
    object["metadata"]["labels"] = {{"multiarch.openshift.io/operand", "pod-placement-controller"}};
    return object;
  }
};

TEST_F(FromTheGoOperatorTest, ItsObjectsAreReplacedAndItsConfigCanBeDeleted) {
  h_.StartOperator();
  const kube::ObjectKey controller{"ops", std::string(api::kControllerName)};
  auto is_ours = [](const std::optional<Json>& object) {
    return object && (*object)["metadata"]["labels"].contains("app.kubernetes.io/managed-by");
  };
  ASSERT_TRUE(h_.Await([&] { return is_ours(h_.api.GetJson(kube::kDeployments, controller)); }));
  EXPECT_FALSE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration))
      << "not before the operands run";
  Json deployment = *h_.api.GetJson(kube::kDeployments, controller);
  EXPECT_FALSE(deployment["spec"]["selector"]["matchLabels"].contains("controller"));
  EXPECT_FALSE(deployment["metadata"].contains("finalizers"));
  h_.Pass(1s);
  h_.RollOutCluster();
  ASSERT_TRUE(
      h_.Await([&] { return h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration); }));
  Json configuration = *h_.api.GetJson(kube::kMutatingWebhookConfigurations, kConfiguration);
  EXPECT_FALSE(configuration["metadata"]["annotations"].contains(
      "service.beta.openshift.io/inject-cabundle"));
  Json service = *h_.api.GetJson(kube::kServices, {"ops", std::string(api::kWebhookName)});
  EXPECT_FALSE(service["spec"]["selector"].contains("controller"));
  Json validating =
      *h_.api.GetJson(kube::kValidatingWebhookConfigurations,
                      {"", "multiarch-tuning-operator-validating-webhook-configuration"});
  EXPECT_FALSE(validating["metadata"]["annotations"].contains("theirs"));

  DeleteConfig();
  EXPECT_TRUE(h_.Await([&] { return ConfigDeleted() && h_.ClusterRemoved(); }));
  EXPECT_FALSE(IsGated("any", "web", api::kClusterGate));
}

TEST_F(FromTheGoOperatorTest, AConfigThatIsAlreadyBeingDeletedLeavesNoObject) {
  DeleteConfig();
  h_.StartOperator();
  EXPECT_TRUE(h_.Await([&] { return ConfigDeleted(); }));
  EXPECT_FALSE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration));
  EXPECT_FALSE(h_.Exists(kube::kDeployments, {"ops", std::string(api::kControllerName)}));
  EXPECT_FALSE(IsGated("any", "web", api::kClusterGate));
}

// I4: where a shard may set preferences, the cluster controller must be able to make up for it.
TEST_F(ClusterReconcilerTest, PodsThatRequireTheirArchitectureAreGatedWhereAConfigMayChangePods) {
  ASSERT_TRUE(h_.BringUpCluster());
  auto namespaces = [this] { return GatedNamespaces(); };
  EXPECT_EQ(namespaces(), Json());
  // Not only once its shard runs.
  h_.CreateConfig("shop", "a", 1);
  ASSERT_TRUE(h_.Await([&] { return namespaces() == Json::array({"shop"}); }));
  h_.CreateConfig("shop", "b", 2);
  h_.CreateConfig("db", "a", 1);
  ASSERT_TRUE(h_.Await([&] { return namespaces() == Json::array({"db", "shop"}); }));
  h_.DeleteConfig("shop", "a");
  auto set_plugins = [&](Json plugins) {
    Json config = *h_.api.GetJson(Harness::kConfigs, {"db", "a"});
    config["spec"]["plugins"] = std::move(plugins);
    h_.api.UpdateJson(Harness::kConfigs, config);
    h_.Pass(2 * PreferringNamespaces::kKept);
  };
  set_plugins({{"architectureTolerations", {{"enabled", true}}}});
  EXPECT_EQ(namespaces(), Json::array({"db", "shop"}));
  set_plugins(Json::object());
  ASSERT_TRUE(h_.Await([&] { return namespaces() == Json::array({"shop"}); }));
  h_.DeleteConfig("shop", "b");
  h_.Pass(PreferringNamespaces::kKept);
  EXPECT_TRUE(h_.Await([&] { return namespaces() == Json(); }));
}

// I4: the validating webhook waits for this before the first config is stored.
TEST_F(ClusterReconcilerTest, AnAnnouncedPreferenceCountsAsAConfig) {
  ASSERT_TRUE(h_.BringUpCluster());
  kube::coordination::Lease lease;
  lease.mutable_metadata()->set_namespace_("shop");
  lease.mutable_metadata()->set_name(std::string(api::kAnnouncementsName));
  auto announce = [&](std::string_view annotation) {
    (*lease.mutable_metadata()->mutable_annotations())[std::string(annotation)] = "true";
  };
  announce("of-others");
  h_.api.Create(lease);
  h_.Pass(5s);
  EXPECT_EQ(GatedNamespaces(), Json());
  announce(api::kPreferencesAnnouncedAnnotation);
  announce(watches::AnnotationKey("uid"));
  lease.mutable_metadata()->mutable_annotations()->at(watches::AnnotationKey("uid")) = "1 2 a";
  if (h_.api.Get<kube::coordination::Lease>(kube::KeyOf(lease))) {
    h_.api.Update(lease);
  } else {
    h_.api.Create(lease);
  }
  EXPECT_TRUE(h_.Await([&] { return GatedNamespaces() == Json::array({"shop"}); }));
  h_.api.Delete<kube::coordination::Lease>(kube::KeyOf(lease));
  h_.Pass(PreferringNamespaces::kKept);
  EXPECT_TRUE(h_.Await([&] { return GatedNamespaces() == Json(); }));
}

TEST_F(ClusterReconcilerTest, PodsArePlacedOnlyByWebhooksThatKnowHow) {
  ASSERT_TRUE(h_.BringUpCluster());
  auto path = [&] {
    Json stored = *h_.api.GetJson(kube::kMutatingWebhookConfigurations, kConfiguration);
    return kube::StringAt(stored["webhooks"][0], "clientConfig.service.path");
  };
  auto set = [&](std::string_view known_images) {
    Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    config["spec"]["knownImages"] = known_images;
    h_.api.UpdateJson(Harness::kClusterConfigs, config);
  };
  set(api::kPlaceKnownImages);
  const kube::ObjectKey key{"ops", std::string(api::kWebhookName)};
  ASSERT_TRUE(h_.Await([&] {
    Json deployment = *h_.api.GetJson(kube::kDeployments, key);
    return kube::DumpJson(deployment).find("--known-images") != std::string::npos;
  }));
  h_.Pass(2s);
  EXPECT_EQ(path(), api::kClusterGatePath) << "the old replicas would not answer";
  h_.RollOutCluster();
  ASSERT_TRUE(h_.Await([&] { return path() == api::kPlacePath; }));
  // A replica that is missing for a time is one of these.
  h_.RollOut("ops", api::kWebhookName, /*runs=*/false);
  h_.Pass(2s);
  EXPECT_EQ(path(), api::kPlacePath);
  set(api::kGateKnownImages);
  EXPECT_TRUE(h_.Await([&] { return path() == api::kClusterGatePath; }));
}

// As the Go operator has it: their objects are deleted before the config is gone.
TEST_F(ClusterReconcilerTest, WithMonitorsTheConfigHasTheirFinalizer) {
  ASSERT_TRUE(h_.BringUpCluster());
  auto has_it = [&] {
    const Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
    const Json& all = kube::ListAt(config, "metadata.finalizers");
    return std::find(all.begin(), all.end(), std::string(api::kENoExecEventsFinalizer)) !=
           all.end();
  };
  EXPECT_FALSE(has_it());
  Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  config["spec"]["plugins"]["execFormatErrorMonitor"]["enabled"] = true;
  h_.api.UpdateJson(Harness::kClusterConfigs, config);
  EXPECT_TRUE(h_.Await(has_it));
  DeleteConfig();
  EXPECT_TRUE(h_.Await([&] { return ConfigDeleted() && h_.ClusterRemoved(); }));
}

TEST_F(ClusterReconcilerTest, ForeignFinalizersStay) {
  ASSERT_TRUE(h_.BringUpCluster());
  Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  config["metadata"]["finalizers"].push_back("example.com/mine");
  h_.api.UpdateJson(Harness::kClusterConfigs, config);
  DeleteConfig();
  ASSERT_TRUE(h_.Await([&] { return h_.ClusterRemoved(); }));
  h_.Pass(5s);
  Json left =
      (*h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"}))["metadata"]["finalizers"];
  EXPECT_EQ(left, Json::array({"example.com/mine"}));
}

TEST_F(ClusterReconcilerTest, AnotherOperatorFinishesTheTeardown) {
  for (auto after : {0ms, 1000ms, 2500ms}) {
    ASSERT_TRUE(h_.BringUpCluster());
    DeleteConfig();
    h_.Pass(after);
    h_.StopOperator();
    h_.StartOperator();
    EXPECT_TRUE(h_.Await([&] { return ConfigDeleted() && h_.ClusterRemoved(); })) << after.count();
  }
}

// I3
TEST_F(ClusterReconcilerTest, AControllerOutageStopsGatingAndThenUngatesPods) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.api.Create<Pod>(MakePod("web").Namespace("any").Phase("Pending").Gate(api::kClusterGate));
  h_.RollOut("ops", api::kControllerName, /*runs=*/false);
  h_.Pass(60s);
  EXPECT_TRUE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration));
  h_.Pass(90s);
  EXPECT_FALSE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration));
  EXPECT_TRUE(IsGated("any", "web", api::kClusterGate));
  h_.Pass(9min);
  EXPECT_FALSE(IsGated("any", "web", api::kClusterGate));
  // When the controller works again, so does the gating.
  h_.RollOut("ops", api::kControllerName);
  EXPECT_TRUE(
      h_.Await([&] { return h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration); }));
}

// A PodPlacementConfig that was reviewed before, and is stored while the teardown runs.
TEST_F(ClusterReconcilerTest, AConfigThatIsStoredLateCancelsTheTeardown) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.api.Create<Pod>(MakePod("web").Namespace("any").Phase("Pending").Gate(api::kClusterGate));
  DeleteConfig();
  ASSERT_TRUE(
      h_.Await([&] { return !h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration); }));
  h_.CreateConfig("shop", "late", 1);
  ASSERT_TRUE(
      h_.Await([&] { return h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration); }));
  h_.Pass(60s);
  EXPECT_TRUE(IsGated("any", "web", api::kClusterGate)) << "the controller works";
  h_.DeleteConfig("shop", "late");
  ASSERT_TRUE(
      h_.Await([&] { return !h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration); }));
  h_.Pass(5s);
  EXPECT_TRUE(IsGated("any", "web", api::kClusterGate)) << "the controller has time to drain it";
  EXPECT_TRUE(h_.Await([&] { return ConfigDeleted() && h_.ClusterRemoved(); }));
  EXPECT_FALSE(IsGated("any", "web", api::kClusterGate));
}

// I7: an API server stores a pod up to its request timeout after the webhook patched it.
TEST_F(ClusterReconcilerTest, APodThatIsStoredAfterTheTeardownIsUngated) {
  for (bool restart : {false, true}) {
    ASSERT_TRUE(h_.BringUpCluster());
    DeleteConfig();
    // Nobody waits for it.
    ASSERT_TRUE(h_.Await([&] { return ConfigDeleted() && h_.ClusterRemoved(); }));
    h_.Pass(30s);
    if (restart) h_.StopOperator();
    const std::string late = restart ? "b" : "a";
    h_.api.Create<Pod>(MakePod(late)
                           .Namespace("any")
                           .Phase("Pending")
                           .Gate(api::kClusterGate)
                           .Gate(api::kLocalGate));
    if (restart) h_.StartOperator();
    EXPECT_TRUE(h_.Await([&] { return !IsGated("any", late, api::kClusterGate); })) << restart;
    EXPECT_FALSE(IsGated("any", late, api::kLocalGate)) << restart;
  }
  h_.Pass(80s);
  const int lists = h_.api.CountCalls("GET /api/v1/pods?");
  h_.Pass(5min);
  EXPECT_EQ(h_.api.CountCalls("GET /api/v1/pods?"), lists) << "it looks for a bounded time";
}

// Its controller places them.
TEST_F(ClusterReconcilerTest, NoPodIsUngatedForATeardownThatWasFollowedByANewConfig) {
  ASSERT_TRUE(h_.BringUpCluster());
  DeleteConfig();
  ASSERT_TRUE(h_.Await([&] { return ConfigDeleted() && h_.ClusterRemoved(); }));
  // The watch shows the new config late.
  bool late = true;
  h_.api.BeforeEach([&](const std::string& call) {
    if (late && call.find("/clusterpodplacementconfigs?") != std::string::npos)
      h_.api.FailNext(Error::Unavailable("503"), "/clusterpodplacementconfigs?");
  });
  h_.api.CloseWatches();
  h_.Pass(1s);
  h_.CreateClusterConfig();
  h_.api.Create<Pod>(MakePod("web").Namespace("any").Phase("Pending").Gate(api::kClusterGate));
  h_.Pass(60s);
  EXPECT_TRUE(IsGated("any", "web", api::kClusterGate));
  h_.StopOperator();
  late = false;
  h_.StartOperator();
  h_.Pass(60s);
  EXPECT_TRUE(IsGated("any", "web", api::kClusterGate));
}

// As a policy engine does.
TEST_F(ClusterReconcilerTest, APodWhoseWriteIsRefusedDelaysTheTeardownForABoundedTime) {
  ASSERT_TRUE(h_.BringUpCluster());
  for (const char* name : {"a", "b"}) {
    h_.api.Create<Pod>(MakePod(name)
                           .Namespace("any")
                           .Phase("Pending")
                           .Gate(api::kClusterGate)
                           .Gate(api::kLocalGate));
  }
  h_.api.FailNext(Error::FromHttpStatus(403, "Forbidden", "no, says the policy"),
                  "PUT /api/v1/namespaces/any/pods/a", 1000000);
  DeleteConfig();
  h_.Pass(40s);
  EXPECT_FALSE(IsGated("any", "b", api::kClusterGate));
  EXPECT_FALSE(IsGated("any", "b", api::kLocalGate));
  EXPECT_EQ(h_.ClusterCondition("Deprovisioning"), "True Deleted");
  EXPECT_NE(
      h_.ClusterMessage("Deprovisioning").find("any/a (PermissionDenied: no, says the policy)"),
      std::string::npos)
      << h_.ClusterMessage("Deprovisioning");
  h_.Pass(40s);
  EXPECT_GE(h_.api.CountCalls("PUT /api/v1/namespaces/any/pods/a"), 10);
  EXPECT_TRUE(h_.Await([&] { return ConfigDeleted() && h_.ClusterRemoved(); }));
  h_.Pass(5s);
  EXPECT_EQ(h_.api.CountCalls("POST /api/v1/namespaces/any/events"), 1);
}

TEST_F(ClusterReconcilerTest, AClientThatKeepsCreatingGatedPodsDelaysTheTeardownForABoundedTime) {
  ASSERT_TRUE(h_.BringUpCluster());
  DeleteConfig();
  for (int i = 0; i < 1200 && !(ConfigDeleted() && h_.ClusterRemoved()); ++i) {
    h_.api.Create<Pod>(
        MakePod("p" + std::to_string(i)).Namespace("any").Phase("Pending").Gate(api::kClusterGate));
    h_.Pass(100ms);
  }
  EXPECT_TRUE(ConfigDeleted() && h_.ClusterRemoved());
}

TEST_F(ClusterReconcilerTest, AnObjectThatCannotBeDeletedBlocksNoOther) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.api.FailNext(Error::PermissionDenied("no"),
                  "DELETE /api/v1/namespaces/ops/services/pod-placement-controller", 3);
  DeleteConfig();
  ASSERT_TRUE(h_.Await([&] { return h_.api.ListJson(kube::kDeployments, "ops").empty(); }));
  EXPECT_FALSE(ConfigDeleted());
  EXPECT_TRUE(h_.Await([&] { return ConfigDeleted() && h_.ClusterRemoved(); }));
}

TEST_F(ClusterReconcilerTest, WithoutAControllerAPodWhoseWriteIsRefusedBlocksNoOther) {
  ASSERT_TRUE(h_.BringUpCluster());
  for (const char* name : {"a", "b"}) {
    h_.api.Create<Pod>(MakePod(name).Namespace("any").Phase("Pending").Gate(api::kClusterGate));
  }
  // There is no shard either.
  h_.api.Create<Pod>(MakePod("local").Namespace("any").Phase("Pending").Gate(api::kLocalGate));
  h_.api.FailNext(Error::PermissionDenied("no"), "PUT /api/v1/namespaces/any/pods/a", 1000000);
  h_.RollOut("ops", api::kControllerName, /*runs=*/false);
  h_.Pass(11min);
  EXPECT_FALSE(IsGated("any", "b", api::kClusterGate));
  EXPECT_FALSE(IsGated("any", "local", api::kLocalGate));
  int lists = h_.api.CountCalls("GET /api/v1/pods?");
  h_.Pass(5min);
  // Not every reconcile lists all pods of the cluster.
  EXPECT_LE(h_.api.CountCalls("GET /api/v1/pods?"), lists + 6);
}

// The times in a status come from another machine's clock.
TEST_F(ClusterReconcilerTest, TheClockOfTheControllerManagerDoesNotCount) {
  for (auto ahead : {-10min, 10min}) {
    ASSERT_TRUE(h_.BringUpCluster()) << ahead.count();
    h_.controller_manager_ahead = ahead;
    h_.api.Create<Pod>(MakePod("web").Namespace("any").Phase("Pending").Gate(api::kClusterGate));
    h_.RollOut("ops", api::kControllerName, /*runs=*/false);
    h_.Pass(60s);
    EXPECT_TRUE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration)) << ahead.count();
    EXPECT_TRUE(IsGated("any", "web", api::kClusterGate)) << ahead.count();
    h_.Pass(90s);
    EXPECT_FALSE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration)) << ahead.count();
    EXPECT_TRUE(IsGated("any", "web", api::kClusterGate)) << ahead.count();
    h_.Pass(9min);
    EXPECT_FALSE(IsGated("any", "web", api::kClusterGate)) << ahead.count();
    h_.api.Delete<Pod>({"any", "web"});
    DeleteConfig();
    ASSERT_TRUE(h_.Await([&] { return ConfigDeleted() && h_.ClusterRemoved(); }));
    h_.controller_manager_ahead = 0min;
  }
}

// After an outage all nodes seem to be away for a while, and how long the controller really was is
// not known.
TEST_F(ClusterReconcilerTest, TimeWithoutAnApiServerDoesNotCount) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.api.Create<Pod>(MakePod("web").Namespace("any").Phase("Pending").Gate(api::kClusterGate));
  h_.RollOut("ops", api::kControllerName, /*runs=*/false);
  h_.Pass(60s);
  h_.api.Stop();
  h_.Pass(12min);
  h_.api.Start();
  h_.Pass(80s);
  EXPECT_TRUE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration));
  EXPECT_TRUE(IsGated("any", "web", api::kClusterGate));
}

TEST_F(ClusterReconcilerTest, AnAvailableControllerCountsBeforeTheWatchShowsIt) {
  ASSERT_TRUE(h_.BringUpCluster());
  h_.RollOut("ops", api::kControllerName, /*runs=*/false);
  h_.Pass(60s);
  // The watch brings no event from now on.
  h_.api.FailNext(Error::Unavailable("503"), "WATCH /apis/apps/v1/deployments", 1000000);
  h_.api.CloseWatches();
  h_.Pass(1s);
  h_.RollOut("ops", api::kControllerName, /*runs=*/true);
  h_.Pass(120s);
  EXPECT_TRUE(h_.Exists(kube::kMutatingWebhookConfigurations, kConfiguration));
}

TEST_F(ClusterReconcilerTest, TheOperatorsOwnWebhooksAreRegistered) {
  ASSERT_TRUE(h_.Await([&] {
    return h_.Exists(kube::kValidatingWebhookConfigurations,
                     {"", "multiarch-tuning-operator-validating-webhook-configuration"});
  }));
  kube::ObjectKey crd{"", "clusterpodplacementconfigs.multiarch.openshift.io"};
  ASSERT_TRUE(h_.Await([&] {
    return kube::StringAt(*h_.api.GetJson(kube::kCustomResourceDefinitions, crd),
                          "spec.conversion.strategy") == "Webhook";
  }));
  EXPECT_EQ(kube::StringAt(*h_.api.GetJson(kube::kCustomResourceDefinitions, crd),
                           "spec.conversion.webhook.clientConfig.service.namespace"),
            "ops");
  EXPECT_EQ(kube::StringAt(*h_.api.GetJson(kube::kCustomResourceDefinitions, crd), "spec.scope"),
            "Cluster");
}

}  // namespace
}  // namespace operator_
