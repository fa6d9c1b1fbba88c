// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/options.h"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <optional>
#include <string>

#include "api/names.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/types/object_name.h"
#include "kube/types/quantity.h"

DEFINE_string(cluster, "",
              "The name of this cluster on the hub: of its ManagedCluster and of its namespace. "
              "Required.");
DEFINE_string(hub_kubeconfig, "",
              "How to reach the hub. Its token and certificates are to be files, which are read "
              "again every minute. Required.");
DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The namespace of the Lease by which one of several replicas works.");
DEFINE_string(
    hub_secret, "",
    "The Secret in --namespace from which --hub-kubeconfig and its token are mounted: the "
    "token is renewed there. Empty: it is not renewed.");
DEFINE_bool(publish_image_facts, false,
            "Publishes on the hub what this cluster knows about images and registries tell "
            "everybody.");
DEFINE_bool(use_image_facts, false,
            "Takes what the hub shares about images: this cluster need not ask registries for it.");
DEFINE_string(operator_namespace, std::string(api::kDefaultOperatorNamespace),
              "The namespace of the operator of this cluster, for both flags about image facts.");
DEFINE_string(hub_namespace, "multiarch-fleet",
              "The namespace of the hub's pods on the hub, for --use-image-facts.");
DEFINE_string(full_cpu, "256", "The free cores of an architecture for which its score is 100.");
DEFINE_string(full_memory, "1Ti", "The free memory of an architecture for which its score is 100.");

namespace fleet {
namespace {

using kube::Error;
using kube::Result;

constexpr double kMaxFull = 1e15;

// A positive quantity times `factor`.
Result<int64_t> FullFlag(const std::string& flag, const std::string& text, double factor) {
  std::optional<double> quantity = kube::ParseQuantity(text);
  double amount = quantity ? *quantity * factor : 0;
  if (amount < 1 || amount > kMaxFull)
    return Error::Invalid("--" + flag + " must be a positive quantity, for example 256 or 1Ti");
  return static_cast<int64_t>(amount);
}

}  // namespace

Result<AgentOptions> OptionsFromFlags() {
  if (!kube::IsObjectName(FLAGS_cluster) || FLAGS_cluster.find('.') != std::string::npos)
    return Error::Invalid("--cluster must be the name of this cluster on the hub");
  if (FLAGS_hub_kubeconfig.empty()) return Error::Invalid("--hub-kubeconfig is required");
  Result<int64_t> milli_cpu = FullFlag("full-cpu", FLAGS_full_cpu, 1000);
  if (!milli_cpu) return milli_cpu.error();
  Result<int64_t> kib = FullFlag("full-memory", FLAGS_full_memory, 1.0 / 1024);
  if (!kib) return kib.error();
  return AgentOptions{.cluster = FLAGS_cluster,
                      .scores = {.full = {.milli_cpu = *milli_cpu, .kib = *kib}},
                      .hub_secret = {FLAGS_namespace, FLAGS_hub_secret},
                      .publish_image_facts = FLAGS_publish_image_facts,
                      .use_image_facts = FLAGS_use_image_facts,
                      .operator_namespace = FLAGS_operator_namespace,
                      .hub_namespace = FLAGS_hub_namespace};
}

const std::string& OwnNamespace() { return FLAGS_namespace; }

Result<std::unique_ptr<kube::Client>> ConnectHub(kube::Program& program) {
  Result<kube::ClientConfig> config = kube::LoadKubeconfig(FLAGS_hub_kubeconfig);
  if (!config) return config.error().Prefix("--hub-kubeconfig");
  LOG_IF(WARNING, !config->token.empty() && config->token_file.empty())
      << "--hub-kubeconfig has a token instead of a tokenFile: a new one is read at the next start";
  auto hub = kube::NewClient(program.executor(), program.clock(), std::move(*config),
                             program.OptionsOfClients());
  if (!hub) return hub.error().Prefix("--hub-kubeconfig");
  return hub;
}

}  // namespace fleet
