// SPDX-License-Identifier: Apache-2.0
#include "sim/programs/operands.h"

#include <glog/logging.h>

#include <map>
#include <string>
#include <utility>

#include "sim/programs/cluster_controller.h"
#include "sim/programs/gate_webhook.h"
#include "sim/programs/operator.h"
#include "sim/programs/policy_webhook.h"
#include "sim/programs/shard.h"

namespace sim {
namespace {

// By name, without the dashes; "" for one without a value.
using Flags = std::map<std::string, std::string>;

const kube::Json& ContainerOf(const PodPlan& pod) { return pod.spec.at("containers").at(0); }

Flags FlagsOf(const PodPlan& pod) {
  Flags flags;
  for (const std::string arg : ContainerOf(pod).value("args", kube::Json::array())) {
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(2, equals == std::string::npos ? equals : equals - 2);
    flags[name] = equals == std::string::npos ? "" : arg.substr(equals + 1);
  }
  return flags;
}

ServedAs ServedAsOf(const PodPlan& pod) {
  return {pod.key.ns, pod.deployment, IdentityOf(pod).process};
}

// The files of a container that starts now.
std::function<std::string()> CertificateOf(const PodPlan& pod, SecretFiles& files) {
  SecretFiles::Mount mount = files.NewMount({pod.key.ns, pod.deployment});
  return [&files, mount] { return files.Certificate(mount); };
}

Process::Main GateWebhookMain(const PodPlan& pod, OperandWorld world) {
  Flags flags = FlagsOf(pod);
  return [pod, world, flags](Life& life) {
    return RunGateWebhook(
        life, {.shard_namespace = flags.at("gate") == "local" ? flags.at("namespace") : "",
               .operator_namespace = flags.at("operator-namespace"),
               .known_images = flags.contains("known-images"),
               .served_as = ServedAsOf(pod),
               .certificate_pem = CertificateOf(pod, world.secret_files),
               .services = &world.services});
  };
}

Process::Main PolicyWebhookMain(const PodPlan& pod, OperandWorld world) {
  Flags flags = FlagsOf(pod);
  return [pod, world, flags](Life& life) {
    return RunPolicyWebhook(life,
                            {.operator_namespace = flags.at("operator-namespace"),
                             .pod_name = pod.key.name,
                             .only_changed_templates = flags.contains("only-changed-templates"),
                             .require_cluster_policies = flags.contains("require-cluster-policies"),
                             .served_as = ServedAsOf(pod),
                             .certificate_pem = CertificateOf(pod, world.secret_files),
                             .services = &world.services});
  };
}

Process::Main ShardMain(const PodPlan& pod) {
  Flags flags = FlagsOf(pod);
  // "NAMESPACE/UID".
  const std::string& owner = flags.at("lease-owner");
  const size_t slash = owner.find('/');
  ShardOptions options{.ns = flags.at("namespace"),
                       .pod_name = pod.key.name,
                       .operator_namespace = owner.substr(0, slash),
                       .operator_namespace_uid = owner.substr(slash + 1)};
  return [options](Life& life) { return RunShard(life, options); };
}

Process::Main ClusterControllerMain(const PodPlan& pod, OperandWorld world) {
  ClusterControllerOptions options{.ns = FlagsOf(pod).at("namespace"),
                                   .pod_name = pod.key.name,
                                   .registries = &world.registries};
  return [options](Life& life) { return RunClusterController(life, options); };
}

Process::Main OperatorMain(const PodPlan& pod, OperandWorld world) {
  const std::string image = ContainerOf(pod).at("image");
  OperatorOptions options{.ns = pod.key.ns,
                          .pod_name = pod.key.name,
                          .tag = image.substr(image.rfind(':') + 1),
                          .process = IdentityOf(pod).process,
                          .services = &world.services};
  return [options](Life& life) { return RunOperator(life, options); };
}

}  // namespace

ClientIdentity IdentityOf(const PodPlan& pod) {
  const std::string program = ContainerOf(pod).at("name");
  const std::string account = pod.spec.at("serviceAccountName");
  return {.process = program + "/" + pod.key.ns + "/" + pod.key.name,
          .user = "system:serviceaccount:" + pod.key.ns + ":" + account};
}

Process::Main MainOf(const PodPlan& pod, OperandWorld world) {
  const std::string program = ContainerOf(pod).at("name");
  if (program == "webhook") return GateWebhookMain(pod, world);
  if (program == "policy-webhook") return PolicyWebhookMain(pod, world);
  if (program == "shard") return ShardMain(pod);
  if (program == "cluster-controller") return ClusterControllerMain(pod, world);
  if (program == "operator") return OperatorMain(pod, world);
  LOG(FATAL) << "sim/ has no program for the operand " << program;
}

}  // namespace sim
