// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/cluster_objects.h"

#include "api/known_images.h"
#include "api/names.h"
#include "api/operands.h"
#include "kube/types/kinds.h"
#include "operator/objects/inspection_arguments.h"
#include "operator/objects/metadata.h"
#include "operator/objects/operand.h"

namespace operator_ {
namespace {

using kube::Json;

constexpr std::string_view kGlobalPullSecretRole = "pod-placement-global-pull-secret";

Operand ClusterController(const api::OperandSize& size, const OperandOptions& options) {
  Operand controller{.ns = options.ns,
                     .name = std::string(api::kControllerName),
                     .binary = "cluster-controller",
                     .image = options.controller_image,
                     .args = {"--namespace=" + options.ns, SettingFlag(kPodEventsKey)},
                     .size = size,
                     .protected_metrics = true,
                     .critical = true};
  if (!options.excluded_namespaces.empty()) {
    controller.args.push_back("--excluded-namespaces=" + options.excluded_namespaces.ToString());
  }
  if (options.service_account_tokens) controller.args.push_back("--service-account-tokens");
  AddInspectionArguments(controller, options);
  return controller;
}

Operand ClusterWebhook(const api::OperandSize& size, bool known_images,
                       const OperandOptions& options) {
  Operand webhook{.ns = options.ns,
                  .name = std::string(api::kWebhookName),
                  .binary = "webhook",
                  .image = options.webhook_image,
                  .args = {"--gate=cluster", "--operator-namespace=" + options.ns,
                           "--cert-dir=" + std::string(kCertificateDirectory)},
                  .size = size,
                  .webhook = true,
                  .watches = known_images,
                  .protected_metrics = true,
                  .critical = true};
  if (known_images) webhook.args.emplace_back("--known-images");
  return webhook;
}

// For the controller, in all namespaces.
DesiredObject ClusterBinding(std::string_view role, bool wanted, const OperandOptions& options) {
  Json binding = NewClusterScoped(kube::kClusterRoleBindings, role, options);
  binding["roleRef"] = {{"apiGroup", "rbac.authorization.k8s.io"},
                        {"kind", "ClusterRole"},
                        {"name", std::string(role)}};
  Json controller = {{"kind", "ServiceAccount"},
                     {"name", std::string(api::kControllerName)},
                     {"namespace", options.ns}};
  binding["subjects"] = Json::array({std::move(controller)});
  return {kube::kClusterRoleBindings, std::move(binding), wanted};
}

}  // namespace

bool PlacesKnownImages(const api::ClusterPodPlacementConfigSpec& spec) {
  return spec.known_images == api::kPlaceKnownImages;
}

DesiredObjects ClusterObjects(const api::ClusterPodPlacementConfigSpec& spec,
                              const OperandOptions& options) {
  const api::Operands operands = spec.operands.value_or(api::Operands());
  Operand controller =
      ClusterController(SizeOf(operands.controller, api::kControllerDefaults), options);
  Operand webhook = ClusterWebhook(SizeOf(operands.webhook, api::kWebhookDefaults),
                                   PlacesKnownImages(spec), options);
  return {
      {kube::kConfigMaps, OperandSettings(options.ns, spec)},
      {kube::kServiceAccounts, OperandServiceAccount(controller)},
      {kube::kServiceAccounts, OperandServiceAccount(webhook)},
      {kube::kPodDisruptionBudgets, OperandDisruptionBudget(controller)},
      {kube::kPodDisruptionBudgets, OperandDisruptionBudget(webhook)},
      {kube::kDeployments, OperandDeployment(controller, options)},
      {kube::kDeployments, OperandDeployment(webhook, options)},
      {kube::kServices, OperandService(controller)},
      {kube::kServices, OperandService(webhook)},
      {kube::kNetworkPolicies, OperandNetworkPolicy(controller), options.network_policies},
      {kube::kNetworkPolicies, OperandNetworkPolicy(webhook), options.network_policies},
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

DesiredObjects TemplateRights(const api::TemplatesPlugin& templates,
                              const api::DaemonSetsPlugin& daemon_sets,
                              const OperandOptions& options) {
  return {
      ClusterBinding("pod-placement-suspended-jobs", templates.suspended_jobs, options),
      ClusterBinding("pod-placement-daemon-set-report", daemon_sets.report, options),
      ClusterBinding("pod-placement-daemon-set-templates", daemon_sets.patch_templates, options)};
}

}  // namespace operator_
