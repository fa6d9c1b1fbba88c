// SPDX-License-Identifier: Apache-2.0
// Operand: one Deployment of ours with what it needs beside it. All operands have the same pod
// template: it fits into a namespace that enforces the `restricted` Pod Security Standard and has a
// ResourceQuota (I8), and never runs on an architecture that its image was not built for.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kube/types/unstructured.h"
#include "operator/objects/options.h"

namespace operator_ {

// Where the webhook finds tls.crt and tls.key.
inline constexpr std::string_view kCertificateDirectory = "/etc/webhook/certs";

// Where folders of the node are.
inline constexpr std::string_view kHostDirectory = "/host";

struct Operand {
  std::string ns;
  // Of the Deployment, its ServiceAccount, its Service and, for a webhook, of the Secret with its
  // certificate.
  std::string name;
  // The value of api::kOperandLabel: "webhook", "shard" or "cluster-controller".
  std::string binary;
  std::string image;
  std::vector<std::string> args;

  int replicas = 1;
  // Serves admission on port 9443, with the certificate of Secret `name`; makes no API calls, so it
  // gets no token.
  bool webhook = false;
  // Belongs to the cluster's operands: may displace other pods, and its replicas keep away from
  // each other.
  bool critical = false;
  std::string memory_limit = "64Mi";
  // Folders of the node, which the container finds read-only below kHostDirectory.
  std::set<std::string> host_folders;
};

kube::Json OperandServiceAccount(const Operand& operand);
// Port 443 to the webhook's 9443 where it is one, and port 8080 for health and metrics.
kube::Json OperandService(const Operand& operand);
// Lets anybody reach the webhook's port, as the addresses of API servers are not known, and
// monitoring namespaces the metrics; nothing else gets in. Probes come from the pod's node, which a
// NetworkPolicy always admits.
kube::Json OperandNetworkPolicy(const Operand& operand);
kube::Json OperandDeployment(const Operand& operand, const OperandOptions& options);
// At least one replica stays up while nodes are drained.
kube::Json OperandDisruptionBudget(const Operand& operand);

// "pod-placement-web-hook.ns.svc": what the API server expects in the certificate.
std::string ServiceDnsName(const std::string& name, const std::string& ns);

}  // namespace operator_
