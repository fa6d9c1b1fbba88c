// SPDX-License-Identifier: Apache-2.0
// OperandOptions: the operator's flags about its operands.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "api/excluded_namespaces.h"
#include "kube/base/error.h"

namespace operator_ {

// Validity of the serving certificate of a webhook, unless a flag sets it.
inline constexpr std::chrono::hours kServingValidity{90 * 24};

struct OperandOptions {
  // The operator's own namespace, with the cluster's operands and the keys of all authorities, and
  // its UID.
  std::string ns;
  std::string ns_uid;

  std::string webhook_image;
  std::string shard_image;
  std::string controller_image;
  // "" if the plugin execFormatErrorMonitor is not installed.
  std::string monitor_image = {};
  // GOARCH names of the architectures that these images run on.
  std::vector<std::string> architectures;
  // Validity of the certificates of all webhooks.
  std::chrono::seconds certificate_validity = kServingValidity;
  // Names of pull secrets for them; each namespace with a shard needs a Secret of that name.
  std::vector<std::string> image_pull_secrets;

  // Whether the operands have NetworkPolicies.
  bool network_policies = true;

  // Namespaces whose pods are placed only if they are labelled for it.
  api::ExcludedNamespaces excluded_namespaces;

  // The operator's proxy environment, HTTP_PROXY and so on, for the operand that calls registries.
  std::vector<std::pair<std::string, std::string>> proxy_environment;

  // Whether credential providers of the nodes get tokens of service accounts, for which the
  // manifests grant the right.
  bool service_account_tokens = false;

  // Patterns of registries of clouds that the cluster controller reads with its own identity.
  std::string cloud_registries;
  // Annotations of its ServiceAccount, by which a cloud knows it.
  std::vector<std::pair<std::string, std::string>> controller_annotations;

  // Files and folders of the nodes that the cluster controller reads, by the controller's flag:
  // {"registries-conf", "/etc/..."}. None by default, as the `restricted` Pod Security Standard
  // forbids such mounts.
  std::vector<std::pair<std::string, std::string>> node_files;
};

// Parses "registries-conf=/etc/containers/registries.conf,containerd-certs-dir=/etc/containerd/..."
// for OperandOptions::node_files. kInvalid for a flag that is not in api/node_file_flags.h, and for
// a path that is not absolute and normalized.
kube::Result<std::vector<std::pair<std::string, std::string>>> ParseNodeFiles(
    const std::string& text);

// Parses "eks.amazonaws.com/role-arn=arn:aws:iam::1:role/r,..." for
// OperandOptions::controller_annotations. kInvalid for an entry without a key or a value.
kube::Result<std::vector<std::pair<std::string, std::string>>> ParseAnnotations(
    const std::string& text);

}  // namespace operator_
