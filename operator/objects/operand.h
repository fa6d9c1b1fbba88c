// SPDX-License-Identifier: Apache-2.0
// Operand: one Deployment of the operator with the objects that it needs. All operands have the
// same pod template: it fits into a namespace that enforces the `restricted` Pod Security Standard
// and has a ResourceQuota (I8), and requires an architecture that its image was built for.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/operands.h"
#include "kube/types/unstructured.h"
#include "operator/objects/options.h"

namespace operator_ {

// The folder of tls.crt and tls.key in a webhook's container.
inline constexpr std::string_view kCertificateDirectory = "/etc/webhook/certs";

// The same folder for an operand that needs a certificate only for its metrics.
inline constexpr std::string_view kMetricsCertificateDirectory = "/etc/metrics/certs";
// The ConfigMap with the settings of all operands of a namespace, which change without a restart;
// its folder in their containers, and its keys.
inline constexpr std::string_view kSettingsName = "pod-placement-settings";
inline constexpr std::string_view kSettingsDirectory = "/etc/pod-placement/settings";
inline constexpr std::string_view kLogVerbosityKey = "log-verbosity";
inline constexpr std::string_view kPodEventsKey = "pod-events";

// The mount point of the node's folders.
inline constexpr std::string_view kHostDirectory = "/host";

struct Operand {
  std::string ns;
  // The name of the Deployment, its ServiceAccount, its Service and, for a webhook, of the Secret
  // with its certificate.
  std::string name;
  // The value of api::kOperandLabel: "webhook", "policy-webhook", "shard" or "cluster-controller".
  std::string binary;
  std::string image;
  std::vector<std::string> args;
  api::OperandSize size = {};
  // Serves admission on port 9443 with the certificate of Secret `name`. It calls the API only if
  // it `watches`.
  bool webhook = false;
  // A webhook that watches objects of the API: it knows its pod's name, and may connect to any
  // address.
  bool watches = false;
  // Serves its metrics on port 8443, with the certificate of Secret `name`, to clients that the API
  // server allows to read them; it needs the right to ask for that. Other operands serve them on
  // port 8080, like health. An operand that makes no API calls gets no token.
  bool protected_metrics = false;
  // An operand of the cluster: it may preempt other pods.
  bool critical = false;
  // Folders of the node, mounted read-only below kHostDirectory.
  std::set<std::string> host_folders;
  // Annotations of the ServiceAccount, and labels of the pods besides the operator's own.
  std::vector<std::pair<std::string, std::string>> account_annotations;
  std::vector<std::pair<std::string, std::string>> pod_labels;
  // Environment variables: name and value.
  std::vector<std::pair<std::string, std::string>> env;
};

// The ConfigMap kSettingsName. The kubelet updates its files in the containers.
kube::Json OperandSettings(const std::string& ns, const api::ClusterPodPlacementConfigSpec& spec);
// The flag for one of its keys: "--log-verbosity-file=...".
std::string SettingFlag(std::string_view key);
kube::Json OperandServiceAccount(const Operand& operand);
// The port of the metrics; for a webhook also port 443, which is 9443 of the pod.
kube::Json OperandService(const Operand& operand);
// Admits any client to the webhook's port, as the addresses of API servers are not known, and
// monitoring namespaces to the metrics. Probes come from the pod's node, which a NetworkPolicy
// always admits. A controller, or a webhook that watches, may connect to any address, also in a
// namespace that denies that by default: the addresses and ports of API servers and registries are
// not known either.
kube::Json OperandNetworkPolicy(const Operand& operand);
kube::Json OperandDeployment(const Operand& operand, const OperandOptions& options);
// While nodes are drained, one replica may be missing: the only one, too, or no node could be.
kube::Json OperandDisruptionBudget(const Operand& operand);

// "pod-placement-web-hook.ns.svc": the name that the API server expects in the certificate.
std::string ServiceDnsName(const std::string& name, const std::string& ns);

// The names in the certificate of a Service of the cluster's components: that for the API server,
// and one without namespace, for the ServiceMonitors.
std::vector<std::string> ServingNames(std::string_view service, const std::string& ns);

}  // namespace operator_
