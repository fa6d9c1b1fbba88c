// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/cluster_objects.h"

#include "api/names.h"
#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"
#include "operator/objects/operand.h"

namespace operator_ {
namespace {

using kube::Json;

constexpr int kReplicas = 2;
constexpr std::string_view kGlobalPullSecretRole = "pod-placement-global-pull-secret";

Json Alert(const char* name, const std::string& selector, const char* severity, const char* summary,
           const char* description) {
  return {{"alert", name},
          {"expr", "kube_deployment_status_replicas_available{" + selector + "} == 0"},
          {"for", "1m"},
          {"labels", {{"severity", severity}}},
          {"annotations", {{"summary", summary}, {"description", description}}}};
}

std::string DeploymentSelector(std::string_view name) {
  return "deployment=\"" + std::string(name) + "\"";
}

Operand ClusterController(const std::string& log_verbosity, const OperandOptions& options) {
  Operand controller{.ns = options.ns,
                     .name = std::string(api::kControllerName),
                     .binary = "cluster-controller",
                     .image = options.controller_image,
                     .args = {"--namespace=" + options.ns, "--log-verbosity=" + log_verbosity},
                     .replicas = kReplicas,
                     .critical = true,
                     .memory_limit = "256Mi"};
  for (const auto& [flag, path] : options.node_files) {
    controller.args.push_back("--" + flag + "=" + std::string(kHostDirectory) + path);
    // The folder is mounted, as a mounted file would not follow its replacement on the node.
    bool folder = flag.ends_with("-dir");
    controller.host_folders.insert(folder ? path : path.substr(0, path.rfind('/')));
  }
  return controller;
}

Operand ClusterWebhook(const std::string& log_verbosity, const OperandOptions& options) {
  return {.ns = options.ns,
          .name = std::string(api::kWebhookName),
          .binary = "webhook",
          .image = options.webhook_image,
          .args = {"--gate=cluster", "--operator-namespace=" + options.ns,
                   "--cert-dir=" + std::string(kCertificateDirectory),
                   "--log-verbosity=" + log_verbosity},
          .replicas = kReplicas,
          .webhook = true,
          .critical = true};
}

}  // namespace

DesiredObjects ClusterObjects(const std::string& log_verbosity, const OperandOptions& options) {
  Operand controller = ClusterController(log_verbosity, options);
  Operand webhook = ClusterWebhook(log_verbosity, options);
  return {
      {kube::kServiceAccounts, OperandServiceAccount(controller)},
      {kube::kServiceAccounts, OperandServiceAccount(webhook)},
      {kube::kPodDisruptionBudgets, OperandDisruptionBudget(controller)},
      {kube::kPodDisruptionBudgets, OperandDisruptionBudget(webhook)},
      {kube::kDeployments, OperandDeployment(controller, options)},
      {kube::kDeployments, OperandDeployment(webhook, options)},
      {kube::kServices, OperandService(controller)},
      {kube::kServices, OperandService(webhook)},
      {kube::kNetworkPolicies, OperandNetworkPolicy(controller)},
      {kube::kNetworkPolicies, OperandNetworkPolicy(webhook)},
  };
}

DesiredObjects GlobalPullSecretRights(const std::string& secret, const OperandOptions& options) {
  Json role = NewObject(kube::kRoles, options.ns, std::string(kGlobalPullSecretRole));
  Json follow = {{"apiGroups", {""}},
                 {"resources", {"secrets"}},
                 {"resourceNames", {secret}},
                 {"verbs", {"list", "watch"}}};
  role["rules"] = Json::array({std::move(follow)});
  Json binding = NewObject(kube::kRoleBindings, options.ns, std::string(kGlobalPullSecretRole));
  binding["roleRef"] = {{"apiGroup", "rbac.authorization.k8s.io"},
                        {"kind", "Role"},
                        {"name", std::string(kGlobalPullSecretRole)}};
  Json controller = {{"kind", "ServiceAccount"},
                     {"name", std::string(api::kControllerName)},
                     {"namespace", options.ns}};
  binding["subjects"] = Json::array({std::move(controller)});
  return {{kube::kRoles, std::move(role)}, {kube::kRoleBindings, std::move(binding)}};
}

DesiredObject ClusterAlerts(const OperandOptions& options) {
  std::string here = "namespace=\"" + options.ns + "\",";
  Json rule = NewObject(kube::kPrometheusRules, options.ns, "multiarch-tuning-operator-alerts");
  rule["spec"]["groups"] = Json::array(
      {{{"name", "pod-placement.rules"},
        {"rules",
         Json::array({
             Alert("PodPlacementControllerDown", here + DeploymentSelector(api::kControllerName),
                   "critical", "The pod placement controller is not running.",
                   "Pods with the scheduling gate multiarch.openshift.io/scheduling-gate are not "
                   "scheduled. New pods are no longer gated after 2 minutes; gated pods are "
                   "ungated after 10 minutes."),
             Alert("PodPlacementWebhookDown", here + DeploymentSelector(api::kWebhookName),
                   "warning", "The pod placement webhook is not running.",
                   "New pods are scheduled without regard to the architectures of their images."),
             Alert("PodPlacementShardControllerDown", DeploymentSelector(api::kShardControllerName),
                   "warning",
                   "The pod placement controller of namespace {{ $labels.namespace }} is not "
                   "running.",
                   "The cluster's pod placement controller does its work, with a delay. The status "
                   "of the namespace's PodPlacementConfigs gives the reason."),
             Alert("PodPlacementShardWebhookDown", DeploymentSelector(api::kShardWebhookName),
                   "warning",
                   "The pod placement webhook of namespace {{ $labels.namespace }} is not running.",
                   "The cluster's pod placement controller applies the namespace's "
                   "PodPlacementConfigs. Their status gives the reason."),
         })}}});
  return {kube::kPrometheusRules, std::move(rule)};
}

}  // namespace operator_
