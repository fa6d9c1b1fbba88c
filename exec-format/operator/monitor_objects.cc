// SPDX-License-Identifier: Apache-2.0
#include "exec-format/operator/monitor_objects.h"

#include <string>
#include <utility>

#include "api/names.h"
#include "api/version.h"
#include "exec-format/names.h"
#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"
#include "operator/objects/operand.h"

namespace exec_format {
namespace {

using kube::Json;
using operator_::DesiredObjects;
using operator_::Operand;
using operator_::OperandOptions;

constexpr int kHealthPort = 8080;
// The ClusterRoles: what a monitor writes in the operator's namespace, what it may do in its own,
// and what the operator reads there.
constexpr std::string_view kFindingsRole = "exec-format-error-findings";
constexpr std::string_view kMonitorRole = kMonitorName;
constexpr std::string_view kReasonsRole = "exec-format-error-monitor-reasons";
// The operator's ServiceAccount.
constexpr std::string_view kOperatorAccount = "multiarch-tuning-operator";

Operand Monitor(const OperandOptions& options) {
  return {.ns = std::string(kMonitorNamespace),
          .name = std::string(kMonitorName),
          .binary = std::string(kMonitorName),
          .image = options.monitor_image};
}

struct Account {
  std::string_view ns;
  std::string_view name;
};

Json Binding(std::string_view ns, std::string_view role, const Account& account) {
  Json binding = operator_::NewObject(kube::kRoleBindings, ns, role);
  binding["roleRef"] = {{"apiGroup", "rbac.authorization.k8s.io"},
                        {"kind", "ClusterRole"},
                        {"name", std::string(role)}};
  Json subject = {{"kind", "ServiceAccount"},
                  {"name", std::string(account.name)},
                  {"namespace", std::string(account.ns)}};
  binding["subjects"] = Json::array({std::move(subject)});
  return binding;
}

Json Namespace(const OperandOptions& options) {
  Json ns = operator_::NewClusterScoped(kube::kNamespaces, kMonitorNamespace, options);
  for (const char* mode : {"enforce", "audit", "warn"})
    operator_::SetLabel(ns, std::string("pod-security.kubernetes.io/") + mode, "privileged");
  // OpenShift would set them again.
  operator_::SetLabel(ns, "security.openshift.io/scc.podSecurityLabelSync", "false");
  return ns;
}

Json FromField(const char* name, const char* field) {
  return {{"name", name},
          {"valueFrom", {{"fieldRef", {{"apiVersion", "v1"}, {"fieldPath", field}}}}}};
}

Json Probe(const char* path, int period) {
  return {{"httpGet", {{"path", path}, {"port", "metrics"}, {"scheme", "HTTP"}}},
          {"periodSeconds", period},
          {"timeoutSeconds", 3},
          {"failureThreshold", 3}};
}

Json Container(const OperandOptions& options) {
  return {
      {"name", std::string(kMonitorName)},
      {"image", options.monitor_image},
      {"imagePullPolicy", "IfNotPresent"},
      {"args",
       {"--namespace=" + options.ns, "--node=$(NODE_NAME)", "--pod=$(POD_NAME)",
        "--pod-namespace=$(POD_NAMESPACE)", "--pod-uid=$(POD_UID)"}},
      {"env",
       {FromField("NODE_NAME", "spec.nodeName"), FromField("POD_NAME", "metadata.name"),
        FromField("POD_NAMESPACE", "metadata.namespace"), FromField("POD_UID", "metadata.uid")}},
      {"ports",
       Json::array({{{"name", "metrics"}, {"containerPort", kHealthPort}, {"protocol", "TCP"}}})},
      // Not ready: the kernel of the node does not permit it.
      {"readinessProbe", Probe("/readyz", 10)},
      {"livenessProbe", Probe("/healthz", 20)},
      {"resources",
       {{"requests", {{"cpu", "5m"}, {"memory", "16Mi"}}},
        {"limits", {{"cpu", "100m"}, {"memory", "64Mi"}}}}},
      // CAP_BPF loads the program, CAP_PERFMON lets it read memory of the kernel. User 0, as the
      // kubelet gives capabilities to no other one; without the rest, it is as any user. SELinux
      // lets no container_t load BPF programs.
      {"securityContext",
       {{"runAsUser", 0},
        {"allowPrivilegeEscalation", false},
        {"readOnlyRootFilesystem", true},
        {"capabilities", {{"drop", {"ALL"}}, {"add", {"BPF", "PERFMON"}}}},
        {"seccompProfile", {{"type", "RuntimeDefault"}}},
        {"seLinuxOptions", {{"type", "spc_t"}}}}},
  };
}

Json PodSpec(const OperandOptions& options) {
  Json on_its_platforms =
      Json::array({{{"key", std::string(api::kOsLabel)}, {"operator", "In"}, {"values", {"linux"}}},
                   {{"key", std::string(api::kArchLabel)},
                    {"operator", "In"},
                    {"values", Json(options.architectures)}}});
  Json spec = {{"serviceAccountName", std::string(kMonitorName)},
               {"automountServiceAccountToken", true},
               {"terminationGracePeriodSeconds", 10},
               // Every node of these platforms, whatever its taints.
               {"tolerations", Json::array({{{"operator", "Exists"}}})},
               {"containers", Json::array({Container(options)})}};
  spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
      ["nodeSelectorTerms"] = Json::array({{{"matchExpressions", std::move(on_its_platforms)}}});
  for (const std::string& secret : options.image_pull_secrets)
    spec["imagePullSecrets"].push_back({{"name", secret}});
  return spec;
}

Json DaemonSet(const OperandOptions& options) {
  Json object = operator_::NewObject(kube::kDaemonSets, kMonitorNamespace, kMonitorName);
  operator_::SetLabel(object, operator_::kNameLabel, kMonitorName);
  operator_::SetLabel(object, api::kOperandLabel, kMonitorName);
  operator_::SetLabel(object, operator_::kVersionLabel, api::kVersion);
  Json selector = {{std::string(operator_::kNameLabel), std::string(kMonitorName)}};
  Json labels = selector;
  labels[std::string(operator_::kManagedByLabel)] = std::string(operator_::kManagedBy);
  labels[std::string(api::kOperandLabel)] = std::string(kMonitorName);
  // OpenShift: no other SecurityContextConstraints allow the capabilities.
  Json annotations = {{"openshift.io/required-scc", "privileged"}};
  object["spec"] = {
      {"selector", {{"matchLabels", std::move(selector)}}},
      {"revisionHistoryLimit", 1},
      {"updateStrategy",
       {{"type", "RollingUpdate"}, {"rollingUpdate", {{"maxUnavailable", "10%"}}}}},
      {"template",
       {{"metadata", {{"labels", std::move(labels)}, {"annotations", std::move(annotations)}}},
        {"spec", PodSpec(options)}}}};
  return object;
}

}  // namespace

DesiredObjects MonitorObjects(const OperandOptions& options) {
  Operand monitor = Monitor(options);
  const Account account{kMonitorNamespace, kMonitorName};
  const Account own{options.ns, kOperatorAccount};
  return {
      {kube::kNamespaces, Namespace(options)},
      {kube::kServiceAccounts, operator_::OperandServiceAccount(monitor)},
      {kube::kRoleBindings, Binding(options.ns, kFindingsRole, account)},
      {kube::kRoleBindings, Binding(kMonitorNamespace, kMonitorRole, account)},
      {kube::kRoleBindings, Binding(kMonitorNamespace, kReasonsRole, own)},
      {kube::kDaemonSets, DaemonSet(options)},
      {kube::kNetworkPolicies, operator_::OperandNetworkPolicy(monitor), options.network_policies},
  };
}

}  // namespace exec_format
