// SPDX-License-Identifier: Apache-2.0
#include "operator/options.h"

#include <gflags/gflags.h>

#include <chrono>
#include <cstdlib>
#include <utility>
#include <vector>

#include "api/excluded_namespaces.h"
#include "api/names.h"
#include "inspection/cloud/cloud_registry.h"
#include "kube/base/clock.h"
#include "kube/base/split.h"

#if defined(__x86_64__)
#define OPERATOR_ARCHITECTURE "amd64"
#elif defined(__aarch64__)
#define OPERATOR_ARCHITECTURE "arm64"
#elif defined(__powerpc64__)
#define OPERATOR_ARCHITECTURE "ppc64le"
#elif defined(__s390x__)
#define OPERATOR_ARCHITECTURE "s390x"
#endif

DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's own namespace, which also has the cluster's operands.");
DEFINE_string(webhook_image, "", "Image of the webhooks. Required.");
DEFINE_string(shard_image, "", "Image of the shards' controllers. Required.");
DEFINE_string(controller_image, "", "Image of the cluster controller. Required.");
DEFINE_string(monitor_image, "",
              "Image of the monitor of exec format errors, for the plugin execFormatErrorMonitor.");
DEFINE_string(operand_architectures, OPERATOR_ARCHITECTURE,
              "Architectures of these images, comma separated GOARCH names.");
DEFINE_string(image_pull_secrets, "",
              "Pull secrets for these images, comma separated; each namespace with a shard needs "
              "a Secret of that name.");
DEFINE_string(node_files, "",
              "Files of the nodes that the cluster controller reads, as FLAG=PATH,...: "
              "registries-conf, certs-dir, "
              "policy, containerd-certs-dir, credential-provider-config, "
              "credential-provider-bin-dir. They are mounted "
              "as hostPath volumes, which the namespace's Pod Security Standard must allow.");
DEFINE_bool(service_account_tokens, false,
            "Whether credential providers of --node-files with tokenAttributes get tokens of the "
            "pods' service accounts. Needs the option service-account-tokens, which sets it.");
DEFINE_string(cloud_registries, "",
              "Registries of ECR, Artifact Registry or ACR that the cluster controller reads with "
              "its own identity in that cloud, as patterns of hosts, comma separated.");
DEFINE_string(controller_annotations, "",
              "Annotations of the cluster controller's ServiceAccount, by which a cloud knows it, "
              "as KEY=VALUE,...");
DEFINE_string(excluded_namespaces, "",
              "Namespaces whose pods are placed only if the namespace has the label "
              "multiarch.openshift.io/include-pod-placement, as PREFIX*, comma separated. On "
              "OpenShift: openshift-*,hypershift-*.");
DEFINE_bool(network_policies, true,
            "Whether the operands have NetworkPolicies. Without, existing ones are removed, and "
            "whatever else applies to pods of their namespaces decides who reaches them.");
DEFINE_string(certificate_validity, std::to_string(operator_::kServingValidity.count()) + "h",
              "How long a new certificate of a webhook is valid; it is renewed after two thirds of "
              "that. At least 1m.");
DEFINE_validator(certificate_validity, [](const char*, const std::string& value) {
  kube::Result<kube::Duration> parsed = kube::ParseDuration(value);
  return parsed && *parsed >= std::chrono::minutes(1) && *parsed <= std::chrono::hours(10 * 8760);
});
DEFINE_int32(shard_upgrades, 4,
             "Namespaces whose shards are upgraded at the same time. An upgrade stops when half of "
             "the last ones fail. 0: all at once, without a stop.");
DEFINE_string(address, ":9443", "Address of the operator's own webhooks, host:port, with TLS.");
DEFINE_string(cert_dir, "/tmp/webhook-certs",
              "Folder for the webhooks' certificate, for this process alone.");

namespace operator_ {
namespace {

using kube::Error;
using kube::Result;

// The variables of a proxy that OLM, or the administrator, has set on the operator.
std::vector<std::pair<std::string, std::string>> ProxyEnvironment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const char* name :
       {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) variables.emplace_back(name, value);
  }
  return variables;
}

}  // namespace

Result<OperatorOptions> OptionsFromFlags() {
  OperandOptions operands{.ns = FLAGS_namespace,
                          .ns_uid = "",
                          .webhook_image = FLAGS_webhook_image,
                          .shard_image = FLAGS_shard_image,
                          .controller_image = FLAGS_controller_image,
                          .monitor_image = FLAGS_monitor_image,
                          .architectures = kube::SplitAtCommas(FLAGS_operand_architectures),
                          .image_pull_secrets = kube::SplitAtCommas(FLAGS_image_pull_secrets)};
  if (operands.ns.empty()) return Error::Invalid("--namespace is required");
  if (operands.webhook_image.empty()) return Error::Invalid("--webhook-image is required");
  if (operands.shard_image.empty()) return Error::Invalid("--shard-image is required");
  if (operands.controller_image.empty()) return Error::Invalid("--controller-image is required");
  if (FLAGS_shard_upgrades < 0) return Error::Invalid("--shard-upgrades must not be negative");
  if (operands.architectures.empty()) return Error::Invalid("--operand-architectures names none");
  Result<std::vector<std::pair<std::string, std::string>>> files = ParseNodeFiles(FLAGS_node_files);
  if (!files) return files.error();
  operands.node_files = std::move(*files);
  operands.service_account_tokens = FLAGS_service_account_tokens;
  auto clouds = inspection::CloudRegistries::Parse(FLAGS_cloud_registries);
  if (!clouds) return clouds.error().Prefix("--cloud-registries");
  operands.cloud_registries = FLAGS_cloud_registries;
  auto annotations = ParseAnnotations(FLAGS_controller_annotations);
  if (!annotations) return annotations.error().Prefix("--controller-annotations");
  operands.controller_annotations = std::move(*annotations);
  Result<api::ExcludedNamespaces> excluded =
      api::ExcludedNamespaces::Parse(FLAGS_excluded_namespaces);
  if (!excluded) return excluded.error().Prefix("--excluded-namespaces");
  operands.excluded_namespaces = std::move(*excluded);
  operands.network_policies = FLAGS_network_policies;
  operands.proxy_environment = ProxyEnvironment();
  operands.certificate_validity = std::chrono::duration_cast<std::chrono::seconds>(
      *kube::ParseDuration(FLAGS_certificate_validity));
  return OperatorOptions{.operands = std::move(operands),
                         .shard_upgrades = FLAGS_shard_upgrades,
                         .address = FLAGS_address,
                         .cert_dir = FLAGS_cert_dir};
}

}  // namespace operator_
