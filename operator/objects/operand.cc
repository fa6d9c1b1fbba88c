// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/operand.h"

#include "api/names.h"
#include "api/version.h"
#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"

namespace operator_ {
namespace {

using kube::Json;

// Namespaces with one of these labels may read metrics. The second is what OpenShift's monitoring
// has.
constexpr std::pair<const char*, const char*> kMonitoring[] = {
    {"multiarch.openshift.io/metrics", "allowed"},
    {"network.openshift.io/policy-group", "monitoring"},
    {"kubernetes.io/metadata.name", "monitoring"}};

constexpr int kHealthPort = 8080;
constexpr int kProtectedMetricsPort = 8443;

int MetricsPort(const Operand& operand) {
  return operand.protected_metrics ? kProtectedMetricsPort : kHealthPort;
}

bool HasCertificate(const Operand& operand) { return operand.webhook || operand.protected_metrics; }

std::string_view CertificateFolder(const Operand& operand) {
  return operand.webhook ? kCertificateDirectory : kMetricsCertificateDirectory;
}

bool IsClient(const Operand& operand) { return !operand.webhook || operand.watches; }

bool HasToken(const Operand& operand) { return IsClient(operand) || operand.protected_metrics; }

Json Selector(const Operand& operand) { return {{std::string(kNameLabel), operand.name}}; }

Json NewOperandObject(const kube::Resource& resource, const Operand& operand) {
  Json object = NewObject(resource, operand.ns, operand.name);
  SetLabel(object, kNameLabel, operand.name);
  SetLabel(object, api::kOperandLabel, operand.binary);
  return object;
}

Json Probe(const Operand& operand, const char* path, int delay, int period) {
  const char* port = operand.protected_metrics ? "health" : "metrics";
  Json probe = {{"httpGet", {{"path", path}, {"port", port}, {"scheme", "HTTP"}}},
                {"periodSeconds", period},
                {"timeoutSeconds", 3},
                {"failureThreshold", 3}};
  // The API server drops a zero, and the object would not be what was applied (owned_fields.h).
  if (delay > 0) probe["initialDelaySeconds"] = delay;
  return probe;
}

Json Affinity(const Operand& operand, const OperandOptions& options) {
  Json expressions = Json::array();
  expressions.push_back(
      {{"key", std::string(api::kOsLabel)}, {"operator", "In"}, {"values", {"linux"}}});
  expressions.push_back({{"key", std::string(api::kArchLabel)},
                         {"operator", "In"},
                         {"values", Json(options.architectures)}});
  Json affinity;
  affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
      Json::array({{{"matchExpressions", expressions}}});
  if (operand.critical || operand.size.replicas > 1) {
    Json term = {{"topologyKey", "kubernetes.io/hostname"},
                 {"labelSelector", {{"matchLabels", Selector(operand)}}}};
    affinity["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
        Json::array({{{"weight", 100}, {"podAffinityTerm", term}}});
  }
  return affinity;
}

Json ArgumentsOf(const Operand& operand) {
  Json args = operand.args;
  args.push_back(SettingFlag(kLogVerbosityKey));
  if (operand.protected_metrics) {
    args.push_back("--metrics-address=:" + std::to_string(kProtectedMetricsPort));
    args.push_back("--metrics-cert-dir=" + std::string(CertificateFolder(operand)));
  }
  return args;
}

Json ContainerOf(const Operand& operand) {
  Json ports = Json::array(
      {{{"name", "metrics"}, {"containerPort", MetricsPort(operand)}, {"protocol", "TCP"}}});
  if (operand.protected_metrics)
    ports.push_back({{"name", "health"}, {"containerPort", kHealthPort}, {"protocol", "TCP"}});
  if (operand.webhook)
    ports.push_back({{"name", "webhook"}, {"containerPort", 9443}, {"protocol", "TCP"}});
  Json container = {
      {"name", operand.binary},
      {"image", operand.image},
      {"imagePullPolicy", "IfNotPresent"},
      {"args", ArgumentsOf(operand)},
      {"ports", ports},
      {"readinessProbe", Probe(operand, "/readyz", 0, 2)},
      {"livenessProbe", Probe(operand, "/healthz", 10, 20)},
      {"resources",
       {{"requests", {{"cpu", operand.size.cpu_request}, {"memory", operand.size.memory_request}}},
        {"limits", {{"cpu", operand.size.cpu_limit}, {"memory", operand.size.memory_limit}}}}},
      {"securityContext",
       {{"allowPrivilegeEscalation", false},
        {"readOnlyRootFilesystem", true},
        {"capabilities", {{"drop", {"ALL"}}}}}},
  };
  // The identity in leader election, and the name of the Lease of a webhook's replica.
  if (IsClient(operand)) {
    container["env"] = Json::array(
        {{{"name", "POD_NAME"},
          {"valueFrom", {{"fieldRef", {{"apiVersion", "v1"}, {"fieldPath", "metadata.name"}}}}}}});
  }
  if (HasCertificate(operand)) {
    container["volumeMounts"].push_back({{"name", "certificate"},
                                         {"mountPath", std::string(CertificateFolder(operand))},
                                         {"readOnly", true}});
  }
  for (const auto& [name, value] : operand.env)
    container["env"].push_back({{"name", name}, {"value", value}});
  int number = 0;
  for (const std::string& folder : operand.host_folders) {
    container["volumeMounts"].push_back({{"name", "host-" + std::to_string(number++)},
                                         {"mountPath", std::string(kHostDirectory) + folder},
                                         {"readOnly", true}});
  }
  container["volumeMounts"].push_back(
      {{"name", "settings"}, {"mountPath", std::string(kSettingsDirectory)}, {"readOnly", true}});
  return container;
}

Json PodSpec(const Operand& operand, const OperandOptions& options) {
  Json spec = {
      {"serviceAccountName", operand.name},
      {"automountServiceAccountToken", HasToken(operand)},
      {"terminationGracePeriodSeconds", 30},
      {"affinity", Affinity(operand, options)},
      // No runAsUser: the image has a numeric user, and clusters that assign users to namespaces
      // (OpenShift) would refuse a fixed one.
      {"securityContext",
       {{"runAsNonRoot", true}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
      {"containers", Json::array({ContainerOf(operand)})},
  };
  if (operand.critical) spec["priorityClassName"] = "system-cluster-critical";
  if (HasCertificate(operand)) {
    // 0444: readable for whatever user the container runs as.
    spec["volumes"].push_back({{"name", "certificate"},
                               {"secret", {{"secretName", operand.name}, {"defaultMode", 0444}}}});
  }
  int number = 0;
  for (const std::string& folder : operand.host_folders) {
    // No type: the folder need not exist on every node.
    spec["volumes"].push_back({{"name", "host-" + std::to_string(number++)},
                               {"hostPath", {{"path", folder}, {"type", ""}}}});
  }
  // Optional: without it, the operand starts with default settings.
  spec["volumes"].push_back(
      {{"name", "settings"},
       {"configMap",
        {{"name", std::string(kSettingsName)}, {"optional", true}, {"defaultMode", 0444}}}});
  for (const std::string& secret : options.image_pull_secrets) {
    spec["imagePullSecrets"].push_back({{"name", secret}});
  }
  return spec;
}

}  // namespace

Json OperandSettings(const std::string& ns, const api::ClusterPodPlacementConfigSpec& spec) {
  Json settings = NewObject(kube::kConfigMaps, ns, kSettingsName);
  settings["data"] = {{std::string(kLogVerbosityKey), spec.log_verbosity},
                      {std::string(kPodEventsKey), spec.pod_events}};
  return settings;
}

std::string SettingFlag(std::string_view key) {
  return "--" + std::string(key) + "-file=" + std::string(kSettingsDirectory) + "/" +
         std::string(key);
}

Json OperandServiceAccount(const Operand& operand) {
  Json account = NewOperandObject(kube::kServiceAccounts, operand);
  account["automountServiceAccountToken"] = false;
  for (const auto& [key, value] : operand.account_annotations)
    account["metadata"]["annotations"][key] = value;
  return account;
}

Json OperandService(const Operand& operand) {
  Json service = NewOperandObject(kube::kServices, operand);
  Json ports = Json::array({{{"name", "metrics"},
                             {"port", MetricsPort(operand)},
                             {"targetPort", "metrics"},
                             {"protocol", "TCP"}}});
  if (operand.webhook) {
    ports.push_back(
        {{"name", "webhook"}, {"port", 443}, {"targetPort", "webhook"}, {"protocol", "TCP"}});
  }
  service["spec"] = {{"selector", Selector(operand)}, {"ports", ports}};
  return service;
}

Json OperandNetworkPolicy(const Operand& operand) {
  Json policy = NewOperandObject(kube::kNetworkPolicies, operand);
  Json from = Json::array();
  for (const auto& [label, value] : kMonitoring) {
    from.push_back({{"namespaceSelector", {{"matchLabels", {{label, value}}}}}});
  }
  Json metrics = {{"ports", Json::array({{{"protocol", "TCP"}, {"port", MetricsPort(operand)}}})},
                  {"from", std::move(from)}};
  Json ingress = Json::array({std::move(metrics)});
  if (operand.webhook)
    ingress.push_back({{"ports", Json::array({{{"protocol", "TCP"}, {"port", 9443}}})}});
  policy["spec"] = {{"podSelector", {{"matchLabels", Selector(operand)}}},
                    {"policyTypes", Json::array({"Ingress"})},
                    {"ingress", std::move(ingress)}};
  if (IsClient(operand)) {
    policy["spec"]["policyTypes"].push_back("Egress");
    policy["spec"]["egress"] = Json::array({Json::object()});
  }
  return policy;
}

Json OperandDeployment(const Operand& operand, const OperandOptions& options) {
  Json deployment = NewOperandObject(kube::kDeployments, operand);
  SetLabel(deployment, kVersionLabel, api::kVersion);
  Json labels = Selector(operand);
  labels[std::string(kManagedByLabel)] = std::string(kManagedBy);
  labels[std::string(api::kOperandLabel)] = operand.binary;
  for (const auto& [label, value] : operand.pod_labels) labels[label] = value;
  // A shard's old pod may be deleted before the new one runs: otherwise an update would never end
  // where a quota has no room for both. The API server ignores the webhook in that gap.
  Json surge = {{"maxSurge", 1}, {"maxUnavailable", operand.critical ? 0 : 1}};
  deployment["spec"] = {
      {"replicas", operand.size.replicas},
      {"revisionHistoryLimit", 1},
      {"progressDeadlineSeconds", 120},
      {"selector", {{"matchLabels", Selector(operand)}}},
      {"strategy", {{"type", "RollingUpdate"}, {"rollingUpdate", surge}}},
      {"template", {{"metadata", {{"labels", labels}}}, {"spec", PodSpec(operand, options)}}},
  };
  // OpenShift runs the pods with this SecurityContextConstraints, also where others would match. It
  // has no hostPath volumes.
  if (operand.host_folders.empty()) {
    deployment["spec"]["template"]["metadata"]["annotations"]["openshift.io/required-scc"] =
        "restricted-v2";
  }
  return deployment;
}

Json OperandDisruptionBudget(const Operand& operand) {
  Json budget = NewOperandObject(kube::kPodDisruptionBudgets, operand);
  budget["spec"] = {{"minAvailable", operand.size.replicas - 1},
                    {"selector", {{"matchLabels", Selector(operand)}}}};
  return budget;
}

std::string ServiceDnsName(const std::string& name, const std::string& ns) {
  return name + "." + ns + ".svc";
}

std::vector<std::string> ServingNames(std::string_view service, const std::string& ns) {
  bool of_operator = service == api::kOperatorServiceName;
  return {ServiceDnsName(std::string(service), ns),
          std::string(of_operator ? kManagedBy : service)};
}

}  // namespace operator_
