// SPDX-License-Identifier: Apache-2.0
// Gating by policy, and the switch from and to webhooks.
#include "operator/testing/gating.h"

#include <gmock/gmock.h>

#include "api/names.h"
#include "kube/testing/make_pod.h"
#include "operator/objects/gating_policies.h"
#include "operator/preferring_namespaces.h"
#include "placement/gate.h"

namespace operator_ {
namespace {

using kube::core::Pod;
using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::chrono_literals;

class GatingTest : public testing::Test {
 protected:
  void SetUp() override {
    h_.SetNamespace("shop", {});
    h_.StartOperator();
  }
  bool HasDeployment(const std::string& ns, std::string_view name) {
    return h_.Exists(kube::kDeployments, {ns, std::string(name)});
  }
  // Cluster and namespace "shop", gated by policies.
  void BringUpByPolicy() {
    h_.CreateClusterConfigByPolicy();
    ASSERT_TRUE(h_.Await([&] { return HasDeployment("ops", api::kControllerName); }));
    h_.RollOut("ops", api::kControllerName);
    ASSERT_TRUE(h_.Await([&] { return h_.ClusterCondition("Available").starts_with("True"); }));
    h_.CreateConfig("shop", "a", 1);
    ASSERT_TRUE(h_.Await([&] { return HasDeployment("shop", api::kShardControllerName); }));
    h_.RollOut("shop", api::kShardControllerName);
    ASSERT_TRUE(
        h_.Await([&] { return h_.Condition("shop", "a", "Available").starts_with("True"); }));
  }
  void BringUpByWebhook() {
    ASSERT_TRUE(h_.BringUpCluster());
    ASSERT_TRUE(h_.BringUp("shop"));
  }
  std::string GatedBy(const std::string& ns, const std::string& name) {
    std::optional<kube::Json> config = h_.api.GetJson(Harness::kConfigs, {ns, name});
    return config ? kube::StringAt(*config, "status.gatedBy") : "";
  }
  bool ShopGatedByPolicy(const std::string& config = "a") {
    return h_.HasPolicy(kLocalGatePolicyName) && GatedBy("shop", config) == "Policy";
  }
  bool GatedByPolicy() { return h_.HasPolicy(kClusterGatePolicyName) && ShopGatedByPolicy(); }
  bool GatedByWebhook() { return h_.ClusterConfigured() && h_.WebhookConfiguration("shop"); }
  bool WebhooksRemoved() {
    return h_.WebhookRemoved("ops", api::kWebhookName) &&
           h_.WebhookRemoved("shop", api::kShardWebhookName) &&
           !h_.SecretExists({"ops", "pod-placement-shard-ca-shop"});
  }
  // Passes time until `end`; at each moment, both gates are added.
  bool AwaitWhileGated(const std::function<bool()>& end) {
    return h_.Await([&] {
      EXPECT_TRUE(h_.HasPolicy(kClusterGatePolicyName) || h_.ClusterConfigured());
      EXPECT_TRUE(ShopGatedByPolicy() || h_.WebhookConfiguration("shop"));
      return end();
    });
  }
  std::string Controllers() {
    std::string text;
    kube::Json config = *h_.api.GetJson(Harness::kConfigs, {"shop", "a"});
    for (const kube::Json& controller : config["status"]["controllers"])
      text += kube::StringAt(controller, "kind") + " ";
    return text;
  }

  GatingHarness h_;
};

TEST_F(GatingTest, ByWebhookNothingIsAskedOrWatched) {
  BringUpByWebhook();
  h_.Pass(60s);
  EXPECT_THAT(h_.Policies(), IsEmpty());
  EXPECT_EQ(h_.gating_policy_client.probes, 0);
  EXPECT_EQ(h_.api.CountCalls("WATCH /apis/admissionregistration.k8s.io/v1/mutatingadmission"), 0);
}

TEST_F(GatingTest, ByPolicyThereIsNoWebhook) {
  BringUpByPolicy();
  h_.Pass(30s);
  EXPECT_TRUE(GatedByPolicy());
  EXPECT_TRUE(h_.HasPolicy(kPreferencesGatePolicyName));
  EXPECT_FALSE(GatedByWebhook());
  EXPECT_TRUE(WebhooksRemoved());
  EXPECT_EQ(h_.api.CountCalls(std::string("services/") + std::string(api::kWebhookName)), 0);
  // The certificate of the controller's metrics.
  EXPECT_TRUE(h_.SecretExists({"ops", std::string(api::kControllerName)}));
  EXPECT_EQ(h_.ClusterCondition("Progressing"), "False AllComponentsReady");
  EXPECT_EQ(h_.ClusterCondition("Degraded"), "False AsExpected");
  EXPECT_EQ(h_.ClusterCondition("PodPlacementWebhookNotRolledOut"), "False GatedByPolicy");
  EXPECT_EQ(h_.ClusterCondition("MutatingWebhookConfigurationNotAvailable"), "False GatedByPolicy");
  EXPECT_EQ(h_.Condition("shop", "a", "Progressing"), "False AsExpected");
  EXPECT_EQ(Controllers(), "Controller ");
}

TEST_F(GatingTest, NoPolicyIsWrittenBeforeItsControllerRuns) {
  h_.CreateClusterConfigByPolicy();
  h_.CreateConfig("shop", "a", 1);
  ASSERT_TRUE(h_.Await([&] { return HasDeployment("shop", api::kShardControllerName); }));
  h_.Pass(30s);
  EXPECT_THAT(h_.Policies(), ElementsAre(std::string(kGatingProbeName),
                                         std::string(kGatingProbeName) + "-binding"));
  EXPECT_EQ(h_.ClusterCondition("Available"), "False NotAllComponentsReady");
}

TEST_F(GatingTest, ASwitchToPolicyLeavesNoMomentWithoutGates) {
  BringUpByWebhook();
  h_.gating_policy_client.applies = false;
  h_.SetGating("Policy");
  h_.Pass(20s);
  EXPECT_TRUE(GatedByWebhook());
  EXPECT_FALSE(GatedByPolicy()) << "the API server does not apply the probe";
  h_.gating_policy_client.applies = true;
  ASSERT_TRUE(AwaitWhileGated([&] { return GatedByPolicy(); }));
  EXPECT_TRUE(AwaitWhileGated(
      [&] { return h_.ClusterCondition("Progressing") == "True SwitchingGating"; }));
  EXPECT_EQ(h_.Condition("shop", "a", "Progressing"), "True SwitchingGating");
  EXPECT_EQ(h_.ClusterCondition("Available"), "True AllComponentsReady");
  // The API server may still call the webhooks.
  ASSERT_TRUE(AwaitWhileGated([&] { return !h_.ClusterConfigured(); }));
  EXPECT_TRUE(HasDeployment("ops", api::kWebhookName));
  ASSERT_TRUE(AwaitWhileGated([&] { return !h_.WebhookConfiguration("shop"); }));
  EXPECT_TRUE(HasDeployment("shop", api::kShardWebhookName));
  ASSERT_TRUE(AwaitWhileGated([&] { return WebhooksRemoved(); }));
  h_.Pass(15s);
  EXPECT_EQ(h_.ClusterCondition("Progressing"), "False AllComponentsReady");
  EXPECT_EQ(h_.Condition("shop", "a", "Available"), "True AsExpected");
  EXPECT_EQ(Controllers(), "Controller ");
}

// The policy gates for a config when its status says so.
TEST_F(GatingTest, AWebhookConfigurationStaysUntilTheStatusOfItsConfigsIsWritten) {
  BringUpByWebhook();
  h_.CreateConfig("shop", "b", 2);
  ASSERT_TRUE(h_.Await([&] { return GatedBy("shop", "b") == "Webhook"; }));
  h_.api.FailNext(kube::Error::Unavailable("503"), "podplacementconfigs/b/status", 8);
  h_.SetGating("Policy");
  ASSERT_TRUE(AwaitWhileGated([&] {
    EXPECT_TRUE(ShopGatedByPolicy("b") || h_.WebhookConfiguration("shop"));
    return WebhooksRemoved();
  }));
}

// A certificate that is due starts a reconcile, and that of a removed webhook is never read again:
// without an end of it, time does not pass.
TEST_F(GatingTest, TheCertificateOfARemovedWebhookIsForgotten) {
  BringUpByWebhook();
  h_.SetGating("Policy");
  ASSERT_TRUE(AwaitWhileGated([&] { return !h_.WebhookConfiguration("shop"); }));
  const kube::ObjectKey webhook{"shop", std::string(api::kShardWebhookName)};
  for (const kube::Resource& resource :
       {kube::kDeployments, kube::kServices, kube::kServiceAccounts, kube::kPodDisruptionBudgets,
        kube::kNetworkPolicies, kube::kSecrets})
    if (h_.Exists(resource, webhook)) h_.api.DeleteJson(resource, webhook);
  h_.api.DeleteJson(kube::kSecrets, {"ops", "pod-placement-shard-ca-shop"});
  h_.Pass(90min);
  EXPECT_EQ(h_.Condition("shop", "a", "Available"), "True AsExpected");
}

// They change the policies of the cluster, each time.
TEST_F(GatingTest, TenantsWhoCreateConfigsDoNotDelayTheSwitchOfTheCluster) {
  BringUpByWebhook();
  h_.SetGating("Policy");
  for (int i = 0; i < 10; ++i) {
    h_.CreateConfig("new-" + std::to_string(i), "a", 1);
    h_.Pass(4s);
  }
  EXPECT_FALSE(h_.ClusterConfigured());
}

TEST_F(GatingTest, ASwitchToWebhookLeavesNoMomentWithoutGates) {
  BringUpByPolicy();
  h_.SetGating("Webhook");
  ASSERT_TRUE(AwaitWhileGated([&] {
    return HasDeployment("ops", api::kWebhookName) && HasDeployment("shop", api::kShardWebhookName);
  }));
  h_.Pass(30s);
  EXPECT_TRUE(GatedByPolicy());
  EXPECT_FALSE(h_.ClusterConfigured());
  EXPECT_EQ(h_.ClusterCondition("Available"), "True AllComponentsReady");
  EXPECT_EQ(h_.Condition("shop", "a", "Available"), "True AsExpected");
  h_.RollOutCluster();
  h_.RollOutShard("shop");
  ASSERT_TRUE(AwaitWhileGated([&] { return GatedByWebhook(); }));
  EXPECT_TRUE(GatedByPolicy());
  ASSERT_TRUE(AwaitWhileGated([&] { return h_.Policies().empty(); }));
  h_.Pass(15s);
  EXPECT_EQ(h_.ClusterCondition("Progressing"), "False AllComponentsReady");
  EXPECT_EQ(Controllers(), "Controller Webhook ");
}

// At each step of both switches, another operator takes over.
TEST_F(GatingTest, ARestartInTheMiddleGoesOn) {
  BringUpByWebhook();
  h_.SetGating("Policy");
  for (const auto& done : std::vector<std::function<bool()>>{
           [&] { return GatedByPolicy(); }, [&] { return !GatedByWebhook(); },
           [&] { return !h_.ClusterConfigured() && !h_.WebhookConfiguration("shop"); },
           [&] { return WebhooksRemoved(); }}) {
    ASSERT_TRUE(AwaitWhileGated(done));
    h_.StopOperator();
    h_.StartOperator();
  }
  h_.Pass(30s);
  EXPECT_TRUE(GatedByPolicy());
  h_.SetGating("Webhook");
  bool rolled_out = false;
  for (const auto& done : std::vector<std::function<bool()>>{
           [&] {
             return HasDeployment("ops", api::kWebhookName) &&
                    HasDeployment("shop", api::kShardWebhookName);
           },
           [&] { return GatedByWebhook(); }, [&] { return h_.Policies().empty(); }}) {
    ASSERT_TRUE(AwaitWhileGated(done));
    h_.StopOperator();
    h_.StartOperator();
    if (std::exchange(rolled_out, true)) continue;
    h_.RollOutCluster();
    h_.RollOutShard("shop");
  }
  h_.Pass(30s);
  EXPECT_TRUE(GatedByWebhook());
  EXPECT_THAT(h_.Policies(), IsEmpty());
}

TEST_F(GatingTest, ARestartedOperatorWritesNothingThatIsRight) {
  BringUpByPolicy();
  h_.Pass(60s);
  h_.StopOperator();
  int writes = h_.Writes();
  h_.StartOperator();
  h_.Pass(30s);
  EXPECT_EQ(h_.Writes(), writes);
}

TEST_F(GatingTest, WhereItIsNotServedWebhooksStay) {
  BringUpByWebhook();
  h_.gating_policy_client.serves = false;
  h_.SetGating("Policy");
  ASSERT_TRUE(h_.Await(
      [&] { return h_.ClusterCondition("Degraded") == "True GatingByPolicyNotSupported"; }));
  EXPECT_THAT(h_.ClusterMessage("Degraded"), testing::HasSubstr("Kubernetes 1.36"));
  h_.Pass(30s);
  EXPECT_TRUE(GatedByWebhook());
  EXPECT_EQ(h_.ClusterCondition("Available"), "True AllComponentsReady");
  EXPECT_EQ(h_.api.CountCalls("WATCH /apis/admissionregistration.k8s.io/v1/mutatingadmission"), 0);
  // The API server is upgraded.
  h_.gating_policy_client.serves = true;
  ASSERT_TRUE(h_.Await([&] { return h_.ClusterCondition("Degraded") == "False AsExpected"; }));
  EXPECT_TRUE(h_.Await([&] { return WebhooksRemoved(); }));
  EXPECT_TRUE(GatedByPolicy());
}

TEST_F(GatingTest, ANewClusterWithoutPoliciesGetsWebhooks) {
  h_.StopOperator();
  h_.gating_policy_client.serves = false;
  h_.StartOperator();
  h_.CreateClusterConfigByPolicy();
  ASSERT_TRUE(h_.Await([&] { return HasDeployment("ops", api::kWebhookName); }));
  h_.RollOutCluster();
  ASSERT_TRUE(h_.Await([&] { return h_.ClusterConfigured(); }));
  EXPECT_EQ(h_.ClusterCondition("Degraded"), "True GatingByPolicyNotSupported");
  EXPECT_EQ(h_.ClusterCondition("Available"), "True AllComponentsReady");
}

TEST_F(GatingTest, AnApiServerThatDoesNotApplyPoliciesGetsWebhooks) {
  h_.gating_policy_client.applies = false;
  h_.CreateClusterConfigByPolicy();
  h_.Pass(20s);
  EXPECT_FALSE(HasDeployment("ops", api::kWebhookName)) << "it may take a moment";
  ASSERT_TRUE(h_.Await([&] { return HasDeployment("ops", api::kWebhookName); }));
  EXPECT_EQ(h_.ClusterCondition("Degraded"), "True GatingByPolicyNotInForce");
}

TEST_F(GatingTest, ARefusedProbeIsNamed) {
  h_.gating_policy_client.refuse = true;
  h_.CreateClusterConfigByPolicy();
  ASSERT_TRUE(
      h_.Await([&] { return h_.ClusterCondition("Degraded") == "True GatingByPolicyNotInForce"; }));
  EXPECT_THAT(h_.ClusterMessage("Degraded"), testing::HasSubstr("no, says a policy"));
}

TEST_F(GatingTest, AMissingRightIsNamed) {
  h_.CreateClusterConfig();
  h_.api.FailNext(kube::Error::FromHttpStatus(
                      403, "Forbidden",
                      "mutatingadmissionpolicies.admissionregistration.k8s.io is forbidden: User "
                      "\"o\" cannot list resource \"mutatingadmissionpolicies\" in API group "
                      "\"admissionregistration.k8s.io\" at the cluster scope"),
                  "/mutatingadmissionpolicies", 1);
  h_.SetGating("Policy");
  ASSERT_TRUE(h_.Await([&] { return h_.ClusterCondition("Degraded") == "True RightsMissing"; }));
  h_.Pass(30s);
  EXPECT_TRUE(h_.Await([&] { return h_.ClusterCondition("Degraded") == "False AsExpected"; }));
}

TEST_F(GatingTest, PoliciesDoNotDependOnTheConfigs) {
  BringUpByPolicy();
  h_.Pass(30s);
  std::vector<std::string> policies = h_.Policies();
  EXPECT_EQ(policies.size(), 8u);
  for (int i = 1; i < 20; ++i) h_.CreateConfig("shop", "b" + std::to_string(i), i + 1);
  ASSERT_TRUE(h_.Await([&] { return ShopGatedByPolicy("b19"); }));
  EXPECT_EQ(h_.Policies(), policies);
  // A deleted policy comes back.
  h_.api.DeleteJson(kube::kMutatingAdmissionPolicyBindings,
                    {"", std::string(kLocalGatePolicyName)});
  EXPECT_TRUE(h_.Await([&] { return h_.HasPolicy(kLocalGatePolicyName); }));
  // A prefers-nothing cluster needs no second policy of its own.
  for (int i = 1; i < 20; ++i) h_.DeleteConfig("shop", "b" + std::to_string(i));
  h_.DeleteConfig("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  EXPECT_TRUE(h_.HasPolicy(kPreferencesGatePolicyName)) << "its namespace is kept for a while";
  h_.Pass(PreferringNamespaces::kKept);
  EXPECT_TRUE(h_.Await([&] { return !h_.HasPolicy(kPreferencesGatePolicyName); }));
  EXPECT_TRUE(h_.HasPolicy(kClusterGatePolicyName));
}

TEST_F(GatingTest, AConfigThatIsNotInForceGatesNothing) {
  BringUpByPolicy();
  h_.CreateConfig("shop", "late", 1);
  h_.Pass(15s);
  EXPECT_EQ(h_.Condition("shop", "late", "Degraded"), "True PriorityConflict");
  EXPECT_EQ(GatedBy("shop", "late"), "None");
  EXPECT_EQ(GatedBy("shop", "a"), "Policy");
}

TEST_F(GatingTest, ANamespaceWithRulesHasAWebhook) {
  BringUpByPolicy();
  kube::Json config = *h_.api.GetJson(Harness::kConfigs, {"shop", "a"});
  kube::Json platform = {{"architecture", "arm64"}, {"weight", 5}};
  kube::Json rule = {{"name", "large"}, {"expression", "true"}};
  rule["platforms"] = kube::Json::array({platform});
  config["spec"]["celRules"] = kube::Json::array({rule});
  h_.api.UpdateJson(Harness::kConfigs, config);
  ASSERT_TRUE(AwaitWhileGated([&] { return HasDeployment("shop", api::kShardWebhookName); }));
  h_.Pass(20s);
  EXPECT_EQ(GatedBy("shop", "a"), "Policy") << "its webhook does not run";
  h_.RollOutShard("shop");
  ASSERT_TRUE(AwaitWhileGated([&] { return GatedBy("shop", "a") == "Webhook"; }));
  EXPECT_TRUE(h_.WebhookConfiguration("shop"));
  EXPECT_TRUE(h_.HasPolicy(kClusterGatePolicyName));
  EXPECT_FALSE(HasDeployment("ops", api::kWebhookName));
  h_.Pass(15s);
  EXPECT_EQ(h_.Condition("shop", "a", "Available"), "True AsExpected");
  // And back.
  config = *h_.api.GetJson(Harness::kConfigs, {"shop", "a"});
  config["spec"].erase("celRules");
  h_.api.UpdateJson(Harness::kConfigs, config);
  ASSERT_TRUE(AwaitWhileGated([&] { return GatedBy("shop", "a") == "Policy"; }));
  ASSERT_TRUE(AwaitWhileGated([&] { return h_.WebhookRemoved("shop", api::kShardWebhookName); }));
}

TEST_F(GatingTest, ANamespaceThatIsNoLongerSelectedIsNotGated) {
  BringUpByPolicy();
  kube::Json config = *h_.api.GetJson(Harness::kClusterConfigs, {"", "cluster"});
  config["spec"]["namespaceSelector"] = {{"matchLabels", {{"team", "a"}}}};
  h_.api.UpdateJson(Harness::kClusterConfigs, config);
  ASSERT_TRUE(h_.Await([&] { return GatedBy("shop", "a") == "None"; }));
  EXPECT_TRUE(HasDeployment("shop", api::kShardControllerName)) << "it releases its pods first";
  ASSERT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
}

TEST_F(GatingTest, ATeardownLeavesNoPolicyAndNoGatedPod) {
  BringUpByPolicy();
  h_.api.Create<Pod>(
      kube::MakePod("web").Namespace("shop").Gate(api::kClusterGate).Gate(api::kLocalGate));
  h_.RollOut("shop", api::kShardControllerName, /*runs=*/false);
  h_.RollOut("ops", api::kControllerName, /*runs=*/false);
  h_.DeleteConfig("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return h_.ShardRemoved("shop"); }));
  h_.api.DeleteJson(Harness::kClusterConfigs, {"", "cluster"});
  ASSERT_TRUE(h_.Await([&] { return h_.ClusterRemoved(); }));
  h_.Pass(5s);
  EXPECT_THAT(h_.Policies(), IsEmpty());
  EXPECT_FALSE(placement::HasGate(*h_.api.Get<Pod>({"shop", "web"}), api::kClusterGate));
  EXPECT_FALSE(h_.Exists(Harness::kClusterConfigs, {"", "cluster"}));
}

// The last object of a teardown is one that the next operator sees.
TEST_F(GatingTest, ATeardownThatFailsGoesOnInTheNextOperator) {
  BringUpByPolicy();
  h_.api.FailNext(kube::Error::Unavailable("503"), "DELETE /api/v1/namespaces/shop/configmaps",
                  1000);
  h_.DeleteConfig("shop", "a");
  ASSERT_TRUE(h_.Await([&] { return h_.CallIndex("shop/configmaps/pod-placement-settings") > 0; }));
  h_.Pass(40s);
  h_.StopOperator();
  h_.api.Create<kube::core::Secret>([] {
    kube::core::Secret secret;
    secret.mutable_metadata()->set_namespace_("shop");
    secret.mutable_metadata()->set_name(std::string(api::kShardWebhookName));
    return secret;
  }());
  h_.StartOperator();
  EXPECT_TRUE(h_.Await([&] {
    return !h_.SecretExists({"shop", std::string(api::kShardWebhookName)});
  }));
}

TEST_F(GatingTest, ALongOutageOfTheControllerStopsGating) {
  BringUpByPolicy();
  h_.RollOut("ops", api::kControllerName, /*runs=*/false);
  h_.Pass(60s);
  EXPECT_TRUE(h_.HasPolicy(kClusterGatePolicyName));
  h_.Pass(70s);
  EXPECT_FALSE(h_.HasPolicy(kClusterGatePolicyName));
  EXPECT_TRUE(ShopGatedByPolicy());
  EXPECT_EQ(h_.ClusterCondition("Available"), "False NotAllComponentsReady");
  h_.RollOut("ops", api::kControllerName);
  EXPECT_TRUE(h_.Await([&] { return h_.HasPolicy(kClusterGatePolicyName); }));
}

}  // namespace
}  // namespace operator_
