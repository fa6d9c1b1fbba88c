// SPDX-License-Identifier: Apache-2.0
// Admission that a namespace brings along: a mutating webhook that does not answer and refuses what
// it does not see, and a policy that changes the operator's objects.
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr Resource kPolicies{"admissionregistration.k8s.io", "v1", "mutatingadmissionpolicies",
                             "MutatingAdmissionPolicy", false};
constexpr Resource kPolicyBindings{"admissionregistration.k8s.io", "v1",
                                   "mutatingadmissionpolicybindings",
                                   "MutatingAdmissionPolicyBinding", false};
const std::string kOperandPods(api::kOperandLabel);

// An admission rule.
Json Rule(const char* group, const char* resource, Json operations) {
  return {{"apiGroups", {group}},
          {"apiVersions", {"v1"}},
          {"resources", {resource}},
          {"operations", std::move(operations)}};
}

class TenantAdmissionFlow : public FlowFixture {
 protected:
  // Cluster-scoped objects have the name of the scene's namespace.
  void TearDown() override {
    kube::IgnoreError(scene().Delete(kMutatingWebhookConfigurations, scene().ns()),
                      "it may be absent");
    kube::IgnoreError(scene().Delete(kPolicyBindings, scene().ns()), "it may be absent");
    kube::IgnoreError(scene().Delete(kPolicies, scene().ns()), "it may be absent");
    FlowFixture::TearDown();
  }

  Json OnlyThisNamespace() {
    return {{"matchLabels", {{"kubernetes.io/metadata.name", scene().ns()}}}};
  }
  // A webhook without a server.
  Json BrokenWebhook(Json rules, Json object_selector) {
    Json configuration = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                          {"kind", "MutatingWebhookConfiguration"}};
    configuration["metadata"]["name"] = scene().ns();
    Json webhook = {{"name", "tenant.example.com"},
                    {"admissionReviewVersions", {"v1"}},
                    {"sideEffects", "None"},
                    {"failurePolicy", "Fail"},
                    {"timeoutSeconds", 1},
                    {"rules", std::move(rules)},
                    {"namespaceSelector", OnlyThisNamespace()},
                    {"objectSelector", std::move(object_selector)}};
    webhook["clientConfig"]["url"] = "https://127.0.0.1:9/";
    configuration["webhooks"] = Json::array({std::move(webhook)});
    return configuration;
  }
  Json OperandsOnly() {
    return {{"matchExpressions",
             Json::array({{{"key", std::string(api::kOperandLabel)}, {"operator", "Exists"}}})}};
  }
  // The API server applies the configuration: creating `object` in a dry run is refused.
  Condition InForce(const Resource& resource, Json object) {
    return {"the tenant's webhook is in force", [resource, object](Scene& scene) -> Result<> {
              if (scene.CreateInADryRun(resource, object)) return Error::NotFound("a refusal");
              return Ok();
            }};
  }
  Json OperandLikePod() {
    return MakePod("probe").Image("none").Label(std::string(api::kOperandLabel), "none").Build();
  }
  // The resourceVersions of the shard's objects and its webhook configuration.
  std::map<std::string, std::string> Versions() {
    std::map<std::string, std::string> versions;
    for (const Resource& resource : {kDeployments, kServices, kServiceAccounts, kRoles,
                                     kRoleBindings, kNetworkPolicies, kSecrets}) {
      auto objects = scene().List(resource, "app.kubernetes.io/managed-by");
      EXPECT_TRUE(objects) << objects.error();
      for (const Json& object : objects ? *objects : std::vector<Json>())
        versions[std::string(resource.kind) + " " + kube::StringAt(object, "metadata.name")] =
            kube::StringAt(object, "metadata.resourceVersion");
    }
    return versions;
  }
};

TEST_F(TenantAdmissionFlow, AWebhookThatRefusesTheDeploymentsIsReported) {
  Json rules = Json::array(
      {Rule("apps", "deployments", {"CREATE", "UPDATE"}), Rule("", "pods", {"CREATE"})});
  Flow flow(scene(), "a webhook that refuses the shard's Deployments");
  flow.Do(Create(kMutatingWebhookConfigurations, BrokenWebhook(rules, OperandsOnly())))
      .Await(InForce(kPods, OperandLikePod()))
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(HasStatusCondition(kConfigs, "only", "Degraded", "True", "tenant.example.com"))
      .Check(HasStatusCondition(kConfigs, "only", "Available", "False"))
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}))
      .Do(Delete(kMutatingWebhookConfigurations, scene().ns()))
      .Await(ShardReady())
      .Await(HasStatusCondition(kConfigs, "only", "Degraded", "False"));
}

TEST_F(TenantAdmissionFlow, AWebhookThatRefusesTheShardsPodsIsReported) {
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/shardTakeoverAfter", "5s"));
  ASSERT_TRUE(used) << used.error();
  Json rules = Json::array({Rule("", "pods", {"CREATE"})});
  Flow flow(scene(), "a webhook that refuses the shard's pods");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Create(kMutatingWebhookConfigurations, BrokenWebhook(rules, OperandsOnly())))
      .Await(InForce(kPods, OperandLikePod()))
      .Do(DeletePods(kOperandPods))
      .Await(HasStatusCondition(kConfigs, "only", "Degraded", "True", "tenant.example.com"))
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}))
      .Do(Delete(kMutatingWebhookConfigurations, scene().ns()))
      // Kubernetes doubles its delay after each refused pod of a ReplicaSet.
      .Await(ShardReady(), 240s)
      .Await(HasStatusCondition(kConfigs, "only", "Degraded", "False"))
      .Never(ClusterGateRemovedBeforeLocal());
}

// No write can release a pod while all its updates are refused.
TEST_F(TenantAdmissionFlow, PodsAreReleasedWhenAWebhookNoLongerRefusesTheirUpdates) {
  Json rules = Json::array({Rule("", "pods", {"UPDATE"})});
  Json tenants_pods = {{"matchLabels", {{"tenant", "yes"}}}};
  Flow flow(scene(), "a webhook that refuses updates of pods");
  auto refuses_updates =
      Condition{"the tenant's webhook is in force", [](Scene& scene) -> Result<> {
                  auto changed = scene.Patch(
                      kPods, "probe",
                      {{"metadata", {{"annotations", {{"now", std::to_string(std::rand())}}}}}});
                  return changed ? Result<>(Error::NotFound("a refusal")) : Ok();
                }};
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Create(MakePod("probe").Label("tenant", "yes").Image(Image("demo/multi:1"))))
      .Await(Ungated("probe"))
      .Do(Create(kMutatingWebhookConfigurations, BrokenWebhook(rules, tenants_pods)))
      .Await(refuses_updates)
      .Do(Create(MakePod("web").Label("tenant", "yes").Image(Image("demo/multi:1"))))
      .Do(Create(MakePod("other").Image(Image("demo/multi:1"))))
      .Await(Prefers("other", {{"arm64", 10}}))
      .Await(EventAbout("web", std::string(api::kReasonGateRemovalFailed), {"tenant.example.com"}))
      .Check(ClusterGated("web"))
      .Do(Delete(kMutatingWebhookConfigurations, scene().ns()))
      .Await(Prefers("web", {{"arm64", 10}}))
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
}

// Injectors of sidecars and labels do this. The operator writes each object once, not in a loop.
TEST_F(TenantAdmissionFlow, ChangesByAPolicyAreNotFought) {
  Json policy = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                 {"kind", "MutatingAdmissionPolicy"}};
  policy["metadata"]["name"] = scene().ns();
  policy["spec"] = {{"reinvocationPolicy", "IfNeeded"}, {"failurePolicy", "Fail"}};
  policy["spec"]["matchConstraints"]["resourceRules"] = Json::array(
      {Rule("apps", "deployments", {"CREATE", "UPDATE"}), Rule("", "pods", {"CREATE"}),
       Rule("", "services", {"CREATE", "UPDATE"}), Rule("", "secrets", {"CREATE", "UPDATE"}),
       Rule("", "serviceaccounts", {"CREATE", "UPDATE"})});
  policy["spec"]["matchConditions"] =
      Json::array({{{"name", "operands"},
                    {"expression",
                     "has(object.metadata.labels) && 'app.kubernetes.io/managed-by' in "
                     "object.metadata.labels"}}});
  auto apply = [](const std::string& expression) {
    return Json{{"patchType", "ApplyConfiguration"},
                {"applyConfiguration", {{"expression", expression}}}};
  };
  policy["spec"]["mutations"] = Json::array(
      {apply("Object{metadata: Object.metadata{labels: {'tenant': 'yes'}, "
             "annotations: {'tenant': 'yes'}}}"),
       // A field that the operator sets, and a sidecar.
       apply("object.kind == 'Deployment' ? Object{spec: Object.spec{revisionHistoryLimit: 3}} : "
             "Object{}"),
       apply("object.kind == 'Pod' ? Object{spec: Object.spec{containers: "
             "[Object.spec.containers{name: 'sidecar', image: '" +
             Image("demo/multi:1") + "'}]}} : Object{}")});
  Json binding = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                  {"kind", "MutatingAdmissionPolicyBinding"}};
  binding["metadata"]["name"] = scene().ns();
  binding["spec"]["policyName"] = scene().ns();
  binding["spec"]["matchResources"]["namespaceSelector"] = OnlyThisNamespace();

  auto in_force = Condition{
      "the policy is in force", [](Scene& scene) -> Result<> {
        const Json account = kube::MustParseJson(
            R"({"metadata": {"name": "probe", "labels": {"app.kubernetes.io/managed-by": ""}}})");
        Result<Json> created = scene.CreateInADryRun(kServiceAccounts, account);
        if (!created) return created.error();
        const std::string stored = kube::DumpJson(*created);
        if (stored.find("tenant") != std::string::npos) return Ok();
        return Error::NotFound("no change: " + stored);
      }};
  Flow flow(scene(), "a policy that changes the operator's objects");
  flow.Do(Create(kPolicies, policy))
      .Do(Create(kPolicyBindings, binding))
      .Await(in_force)
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}));
  if (flow.failed()) return;
  auto deployment = scene().Get(kDeployments, std::string(api::kShardControllerName));
  ASSERT_TRUE(deployment) << deployment.error();
  EXPECT_EQ(LabelOf(*deployment, "tenant"), "yes");
  EXPECT_EQ(kube::IntAt(*deployment, "spec.revisionHistoryLimit"), 3);
  auto pods = scene().List(kPods, kOperandPods);
  ASSERT_TRUE(pods) << pods.error();
  for (const Json& pod : *pods) EXPECT_EQ(pod["spec"]["containers"].size(), 2u) << pod;

  std::map<std::string, std::string> before = Versions();
  EXPECT_GE(before.size(), 9u);
  flow.Stays(ShardReady(), 2s);
  EXPECT_EQ(Versions(), before);
  // Each was written when it was created, and not since.
  EXPECT_EQ(kube::IntAt(*deployment, "metadata.generation"), 1);
  flow.Do(Delete(kConfigs, "only")).Await(ShardRemoved());
}

}  // namespace
}  // namespace e2e
