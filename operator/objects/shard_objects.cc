// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/shard_objects.h"

#include "api/names.h"
#include "api/operands.h"
#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"
#include "operator/objects/operand.h"

namespace operator_ {
namespace {

using kube::Json;

Json Rule(Json groups, Json resources, Json verbs) {
  return {{"apiGroups", std::move(groups)},
          {"resources", std::move(resources)},
          {"verbs", std::move(verbs)}};
}

Json ShardRole(const Operand& shard) {
  Json own_lease = Rule(Json::array({"coordination.k8s.io"}), Json::array({"leases"}),
                        Json::array({"get", "update"}));
  own_lease["resourceNames"] = Json::array({shard.name});
  Json announcements =
      Rule(Json::array({"coordination.k8s.io"}), Json::array({"leases"}), Json::array({"get"}));
  announcements["resourceNames"] = Json::array({std::string(api::kAnnouncementsName)});
  Json role = NewObject(kube::kRoles, shard.ns, shard.name);
  role["rules"] = Json::array({
      Rule(Json::array({""}), Json::array({"pods"}),
           Json::array({"get", "list", "watch", "update"})),
      Rule(Json::array({std::string(api::kGroup)}), Json::array({"podplacementconfigs"}),
           Json::array({"list", "watch"})),
      Rule(Json::array({""}), Json::array({"events"}), Json::array({"create"})),
      Rule(Json::array({"coordination.k8s.io"}), Json::array({"leases"}), Json::array({"create"})),
      std::move(own_lease),
      std::move(announcements),
  });
  return role;
}

Json ShardRoleBinding(const Operand& shard) {
  Json binding = NewObject(kube::kRoleBindings, shard.ns, shard.name);
  binding["roleRef"] = {
      {"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", shard.name}};
  binding["subjects"] =
      Json::array({{{"kind", "ServiceAccount"}, {"name", shard.name}, {"namespace", shard.ns}}});
  return binding;
}

Operand ShardController(const std::string& ns, const api::OperandSize& size,
                        const OperandOptions& options) {
  return {.ns = ns,
          .name = std::string(api::kShardControllerName),
          .binary = "shard",
          .image = options.shard_image,
          .args = {"--namespace=" + ns, "--lease-owner=" + options.ns + "/" + options.ns_uid,
                   SettingFlag(kPodEventsKey)},
          .size = size};
}

Operand ShardWebhook(const std::string& ns, const api::OperandSize& size,
                     const OperandOptions& options) {
  return {.ns = ns,
          .name = std::string(api::kShardWebhookName),
          .binary = "webhook",
          .image = options.webhook_image,
          .args = {"--gate=local", "--namespace=" + ns, "--operator-namespace=" + options.ns,
                   "--cert-dir=" + std::string(kCertificateDirectory)},
          .size = size,
          .webhook = true};
}

}  // namespace

DesiredObjects ShardObjects(const std::string& ns, const api::ClusterPodPlacementConfigSpec& spec,
                            const OperandOptions& options) {
  api::OperandSize size =
      SizeOf(spec.operands ? spec.operands->shard : std::nullopt, api::kShardDefaults);
  Operand controller = ShardController(ns, size, options);
  Operand webhook = ShardWebhook(ns, size, options);
  DesiredObjects objects = {
      {kube::kConfigMaps, OperandSettings(ns, spec)},
      {kube::kServiceAccounts, OperandServiceAccount(controller)},
      {kube::kServiceAccounts, OperandServiceAccount(webhook)},
      {kube::kRoles, ShardRole(controller)},
      {kube::kRoleBindings, ShardRoleBinding(controller)},
      {kube::kDeployments, OperandDeployment(controller, options)},
      {kube::kDeployments, OperandDeployment(webhook, options)},
      {kube::kServices, OperandService(webhook)},
      {kube::kNetworkPolicies, OperandNetworkPolicy(controller), options.network_policies},
      {kube::kNetworkPolicies, OperandNetworkPolicy(webhook), options.network_policies},
  };
  for (DesiredObject& object : objects) {
    SetLabel(object.body, kShardNamespaceLabel, ns);
    OwnByNamespace(object.body, options);
  }
  return objects;
}

}  // namespace operator_
