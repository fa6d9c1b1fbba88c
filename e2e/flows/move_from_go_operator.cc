// SPDX-License-Identifier: Apache-2.0
// Migration from the Go operator: it is uninstalled and leaves its ClusterPodPlacementConfig and
// operands behind; this operator is deployed over them.
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using kube::Ok;
using kube::Result;

const std::string kCluster(api::kClusterConfigName);
const std::string kController(api::kControllerName);
const std::string kWebhook(api::kWebhookName);
const std::string kConfiguration(api::kMutatingWebhookConfigurationName);
constexpr const char* kValidating = "multiarch-tuning-operator-validating-webhook-configuration";
// The Go operator's label, which no object of this operator has.
constexpr const char* kItsLabel = "controller";

class MoveFromGoOperatorFlow : public FlowFixture {
 protected:
  std::string ops() { return cluster().operator_namespace(); }

  Json ItsLabels(const std::string& name) {
    return {{"multiarch.openshift.io/operand", "pod-placement-controller"}, {kItsLabel, name}};
  }
  Json ItsDeployment(const std::string& name) {
    DeploymentBuilder deployment = MakeDeployment(name, MakePod("").Image(Image("demo/multi:1")));
    deployment.Namespace(ops())
        .Set("/metadata/labels", ItsLabels(name))
        .Set("/spec/selector/matchLabels", ItsLabels(name))
        .Set("/spec/template/metadata/labels", ItsLabels(name));
    if (name == kController) {
      deployment.Set("/metadata/finalizers",
                     Json::array({std::string(api::kPodPlacementFinalizer)}));
    }
    return deployment.Build();
  }
  Json ItsService(const std::string& name) {
    Json service = {{"apiVersion", "v1"}, {"kind", "Service"}};
    service["metadata"] = {
        {"name", name},
        {"namespace", ops()},
        {"labels", ItsLabels(name)},
        {"annotations", {{"service.beta.openshift.io/serving-cert-secret-name", name}}}};
    service["spec"] = {
        {"selector", ItsLabels(name)},
        {"ports", Json::array({{{"name", "https"}, {"port", 443}, {"targetPort", 9443}},
                               {{"name", "metrics"}, {"port", 8443}, {"targetPort", 8443}}})}};
    return service;
  }
  Json ItsWebhooks(const char* kind, const std::string& configuration, const std::string& name,
                   const std::string& service, const char* policy, Json rule) {
    Json object = {{"apiVersion", "admissionregistration.k8s.io/v1"}, {"kind", kind}};
    object["metadata"] = {{"name", configuration},
                          {"labels", ItsLabels(service)},
                          {"annotations", {{"service.beta.openshift.io/inject-cabundle", "true"}}}};
    Json webhook = {{"name", name},
                    {"admissionReviewVersions", Json::array({"v1"})},
                    {"sideEffects", "None"},
                    {"failurePolicy", policy},
                    {"rules", Json::array({std::move(rule)})}};
    webhook["clientConfig"]["service"] = {
        {"name", service}, {"namespace", ops()}, {"path", "/add-pod-scheduling-gate"}};
    object["webhooks"] = Json::array({std::move(webhook)});
    return object;
  }
  // The state that the Go operator leaves.
  Json ItsClusterConfig() {
    return DefaultClusterConfig()
        .Set("/spec/plugins/execFormatErrorMonitor/enabled", true)
        .Set("/metadata/finalizers", Json::array({std::string(api::kPodPlacementFinalizer),
                                                  std::string(api::kENoExecEventsFinalizer)}))
        .Build();
  }
};

// None of these objects in the operator's namespace has the Go operator's label.
Condition IsReplaced(const Resource& resource, const std::string& name,
                     const std::string& labels_at) {
  return {
      .name = std::string(resource.kind) + " " + name + " is this operator's",
      .holds = [=](Scene& scene) -> Result<> {
        Cluster& cluster = scene.cluster();
        kube::ObjectKey key{resource.namespaced ? cluster.operator_namespace() : "", name};
        auto found = cluster.Run(kube::GetObject(cluster.client(), resource, key));
        if (!found) return found.error();
        Json labels = found->body().value(Json::json_pointer(labels_at), Json::object());
        if (labels.empty() || labels.contains(kItsLabel))
          return kube::Error::NotFound(kube::DumpJson(labels));
        if (kube::DumpJson(found->body()).find("service.beta.openshift.io") == std::string::npos)
          return Ok();
        return kube::Error::NotFound("it has an annotation of the Go operator");
      }};
}

// Deletes it until it is absent: for some time after a webhook configuration is deleted, the API
// server still calls its webhook, and refuses what that would have reviewed.
Condition IsDeleted(const Resource& resource, const std::string& name) {
  return {.name = std::string(resource.kind) + " " + name + " is deleted",
          .holds = [=](Scene& scene) -> Result<> {
            if (Result<> deleted = Delete(resource, name).act(scene); !deleted) return deleted;
            return Absent(resource, name).holds(scene);
          }};
}

// Whether the kernel permits them or not.
Condition ReportsMonitors() {
  return {.name = "the monitors of exec format errors are reported",
          .holds = [](Scene& scene) -> Result<> {
            constexpr char kType[] = "ExecFormatErrorMonitorAvailable";
            if (HasStatusCondition(kClusterConfigs, kCluster, kType, "True").holds(scene))
              return Ok();
            return HasStatusCondition(kClusterConfigs, kCluster, kType, "False").holds(scene);
          }};
}

Condition NoOperandsLeft() {
  return {.name = "no operand is left in the operator's namespace",
          .holds = [](Scene& scene) -> Result<> {
            Cluster& cluster = scene.cluster();
            for (const Resource& resource : {kDeployments, kServices, kServiceAccounts}) {
              kube::ListOptions options{.ns = cluster.operator_namespace()};
              auto found =
                  cluster.Run(kube::ListObjects(cluster.client(), resource, std::move(options)));
              if (!found) return found.error();
              for (const kube::Unstructured& object : found->items) {
                const std::string& name = object.metadata().name();
                if (name == kController || name == kWebhook)
                  return kube::Error::NotFound(name + " is still there");
              }
            }
            return Ok();
          }};
}

TEST_F(MoveFromGoOperatorFlow, LosesNoPodAndLeavesNothing) {
  Flow removed(scene(), "this operator is removed");
  removed.Await(NoConfigAnywhere())
      .Do(Delete(kNamespaces, ops()))
      .Await(Absent(kNamespaces, ops()), std::chrono::seconds(120))
      .Await(Absent(kMutatingWebhookConfigurations, kConfiguration))
      .Await(Absent(kValidatingWebhookConfigurations, kValidating))
      .Await(IsDeleted(kClusterConfigs, kCluster));
  ASSERT_FALSE(removed.failed());

  Json pod_rule = {{"operations", {"CREATE"}},
                   {"apiGroups", {""}},
                   {"apiVersions", {"v1"}},
                   {"resources", {"pods"}}};
  Json config_rule = {{"operations", {"CREATE", "UPDATE", "DELETE"}},
                      {"apiGroups", {std::string(api::kGroup)}},
                      {"apiVersions", {"v1beta1"}},
                      {"resources", {"clusterpodplacementconfigs"}}};
  Json waiting =
      MakePod("waiting")
          .Image(Image("demo/arm64-amd64:1"))
          .Label(std::string(api::kClusterGateLabel), std::string(api::kGated))
          .Set("/spec/schedulingGates", Json::array({{{"name", std::string(api::kClusterGate)}}}))
          .Build();
  Json ns = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ops()}}}};
  const std::string operator_service(api::kOperatorServiceName);
  Flow left(scene(), "what the Go operator left");
  left.Do(Create(kNamespaces, ns))
      .Do(Create(kDeployments, ItsDeployment(kController)))
      .Do(Create(kDeployments, ItsDeployment(kWebhook)))
      .Do(Create(kServices, ItsService(kController)))
      .Do(Create(kServices, ItsService(kWebhook)))
      .Do(Create(kServices, ItsService(operator_service)))
      .Do(Create(kMutatingWebhookConfigurations,
                 ItsWebhooks("MutatingWebhookConfiguration", kConfiguration,
                             "pod-placement-scheduling-gate.multiarch.openshift.io", kWebhook,
                             "Ignore", pod_rule)))
      .Do(Create(kClusterConfigs, ItsClusterConfig()))
      .Do(Create(kValidatingWebhookConfigurations,
                 ItsWebhooks("ValidatingWebhookConfiguration", kValidating,
                             "vclusterpodplacementconfig.example.com", operator_service, "Fail",
                             config_rule)))
      .Do(Create(kPods, waiting));
  ASSERT_FALSE(left.failed());

  auto deployed = TheProcessCluster().DeployOperator();
  ASSERT_TRUE(deployed) << deployed.error();
  auto used = UseClusterConfig(
      DefaultClusterConfig().Set("/spec/plugins/execFormatErrorMonitor/enabled", true));
  ASSERT_TRUE(used) << used.error() << "\n" << scene().Describe("");
  Flow(scene(), "this operator replaces it")
      .Await(Requires("waiting", {"amd64", "arm64"}))
      .Do(Create(MakePod("new").Image(Image("demo/arm64-amd64:1"))))
      .Await(Requires("new", {"amd64", "arm64"}))
      .Await(IsReplaced(kDeployments, kController, "/spec/selector/matchLabels"))
      .Await(IsReplaced(kDeployments, kWebhook, "/spec/selector/matchLabels"))
      .Await(IsReplaced(kServices, kController, "/spec/selector"))
      .Await(IsReplaced(kServices, kWebhook, "/spec/selector"))
      .Await(IsReplaced(kServices, operator_service, "/spec/selector"))
      .Await(IsReplaced(kMutatingWebhookConfigurations, kConfiguration, "/metadata/labels"))
      .Await(IsReplaced(kValidatingWebhookConfigurations, kValidating, "/metadata/labels"))
      .Await(ReportsMonitors())
      .Do(Delete(kClusterConfigs, kCluster))
      .Await(Absent(kClusterConfigs, kCluster))
      .Await(Absent(kMutatingWebhookConfigurations, kConfiguration))
      .Await(NoOperandsLeft());
}

}  // namespace
}  // namespace e2e
