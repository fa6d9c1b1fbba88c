// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/operator/warning_objects.h"

#include <utility>

#include "api/names.h"
#include "api/operands.h"
#include "ephemeral-containers/names.h"
#include "kube/base/base64.h"
#include "kube/types/kinds.h"
#include "operator/objects/inspection_arguments.h"
#include "operator/objects/metadata.h"
#include "operator/objects/operand.h"
#include "operator/objects/pod_conditions.h"
#include "operator/objects/webhook_configurations.h"

namespace operator_ {
namespace {

using kube::Json;

// It inspects images as the cluster controller does, within the same budgets of bytes.
constexpr api::OperandDefaults kDefaults = api::kControllerDefaults;

// The cluster controller's program. Not critical: without it there are no warnings, and nothing
// else is different.
Operand WarningWebhook(const OperandOptions& options) {
  Operand webhook{.ns = options.ns,
                  .name = std::string(ephemeral::kWebhookName),
                  .binary = std::string(ephemeral::kOperand),
                  .image = options.controller_image,
                  .args = {"--ephemeral-container-warnings", "--namespace=" + options.ns,
                           "--cert-dir=" + std::string(kCertificateDirectory)},
                  .size = api::SizeOf({}, kDefaults),
                  .webhook = true,
                  .watches = true,
                  .protected_metrics = true};
  AddInspectionArguments(webhook, options);
  return webhook;
}

Json AddsAContainer() {
  return Condition("adds-a-container",
                   "has(object.spec.ephemeralContainers) && "
                   "(!has(oldObject.spec.ephemeralContainers) || "
                   "size(object.spec.ephemeralContainers) > "
                   "size(oldObject.spec.ephemeralContainers))");
}

}  // namespace

DesiredObjects WarningObjects(const OperandOptions& options) {
  Operand webhook = WarningWebhook(options);
  return {
      {kube::kServiceAccounts, OperandServiceAccount(webhook)},
      {kube::kPodDisruptionBudgets, OperandDisruptionBudget(webhook)},
      {kube::kDeployments, OperandDeployment(webhook, options)},
      {kube::kServices, OperandService(webhook)},
      {kube::kNetworkPolicies, OperandNetworkPolicy(webhook), options.network_policies},
  };
}

DesiredObject WarningConfiguration(const api::ClusterPodPlacementConfig& config,
                                   const std::string& path, const std::string& ca_bundle_pem,
                                   const OperandOptions& options) {
  Json service = {{"namespace", options.ns},
                  {"name", std::string(ephemeral::kWebhookName)},
                  {"path", path},
                  {"port", 443}};
  Json rule = {{"operations", Json::array({"UPDATE"})},
               {"apiGroups", Json::array({""})},
               {"apiVersions", Json::array({"v1"})},
               {"resources", Json::array({"pods/ephemeralcontainers"})},
               {"scope", "Namespaced"}};
  Json conditions = Json::array(
      {NotInAReservedNamespace(),
       Condition("bound-to-a-node", "has(object.spec.nodeName) && object.spec.nodeName != ''"),
       Condition("not-opted-out", "!" + HasKey("object.metadata.labels", api::kExcludeLabel)),
       AddsAContainer()});
  Json webhook = {
      {"name", "ephemeral-containers.multiarch.openshift.io"},
      {"clientConfig",
       {{"service", std::move(service)}, {"caBundle", kube::Base64Encode(ca_bundle_pem)}}},
      {"rules", Json::array({std::move(rule)})},
      {"matchConditions", std::move(conditions)},
      {"namespaceSelector", ClusterNamespaceSelector(config, options)},
      {"objectSelector", Json::object()},
      {"matchPolicy", "Equivalent"},
      {"failurePolicy", "Ignore"},
      {"sideEffects", "None"},
      {"timeoutSeconds", ephemeral::kTimeout.count()},
      {"admissionReviewVersions", Json::array({"v1"})}};
  Json webhooks = Json::array({std::move(webhook)});
  AddIncludedNamespaces(webhooks, options);
  Json object = NewClusterScoped(kube::kValidatingWebhookConfigurations,
                                 ephemeral::kWebhookConfigurationName, options);
  object["webhooks"] = std::move(webhooks);
  return {kube::kValidatingWebhookConfigurations, std::move(object)};
}

}  // namespace operator_
