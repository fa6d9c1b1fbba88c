// SPDX-License-Identifier: Apache-2.0
// agent: the part of a fleet that runs in each member cluster. Publishes the cluster's status and
// scores on the hub and applies what the hub rolls out. It only makes outbound calls. The replica
// that holds the Lease works (see agent.h).
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <string>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "fleet/agent/agent.h"
#include "fleet/agent/work_objects.h"
#include "fleet/api/quantity.h"
#include "kube/base/app.h"
#include "kube/client/client_metrics.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/controller/controller_metrics.h"
#include "kube/controller/leadership.h"
#include "kube/metrics/metrics.h"
#include "kube/server/health.h"
#include "kube/server/ops_server.h"
#include "kube/types/object_name.h"

DEFINE_string(cluster, "",
              "The name of this cluster on the hub: of its ManagedCluster and of its namespace. "
              "Required.");
DEFINE_string(hub_kubeconfig, "",
              "How to reach the hub. Its token and certificates are to be files, which are read "
              "again every minute. Required.");
DEFINE_string(kubeconfig, "",
              "How to reach the API server of this cluster; by default $KUBECONFIG, then the pod's "
              "service account.");
DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The namespace of the Lease by which one of several replicas works.");
DEFINE_string(
    hub_secret, "",
    "The Secret in --namespace from which --hub-kubeconfig and its token are mounted: the "
    "token is renewed there. Empty: it is not renewed.");
DEFINE_string(full_cpu, "256", "The free cores of an architecture for which its score is 100.");
DEFINE_string(full_memory, "1Ti", "The free memory of an architecture for which its score is 100.");

namespace fleet {
namespace {

using kube::App;
using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr std::string_view kName = "fleet-agent";
constexpr std::string_view kLeaseName = "multiarch-fleet-agent";
constexpr double kMaxFull = 1e15;

// A positive quantity times `factor`.
Result<int64_t> FullFlag(const std::string& flag, const std::string& text, double factor) {
  std::optional<double> quantity = ParseQuantity(text);
  double amount = quantity ? *quantity * factor : 0;
  if (amount < 1 || amount > kMaxFull)
    return Error::Invalid("--" + flag + " must be a positive quantity, for example 256 or 1Ti");
  return static_cast<int64_t>(amount);
}

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
                      .hub_secret = {FLAGS_namespace, FLAGS_hub_secret}};
}

Async<> Serve(App& app) {
  Result<AgentOptions> options = OptionsFromFlags();
  if (!options) co_return options.error();

  // The two API servers.
  kube::Metrics metrics;
  kube::ClientMetrics client_metrics(metrics);
  kube::ClientOptions client_options{.user_agent = api::UserAgent(std::string(kName)),
                                     .observer = &client_metrics};
  Result<kube::ClientConfig> hub_config = kube::LoadKubeconfig(FLAGS_hub_kubeconfig);
  if (!hub_config) co_return hub_config.error().Prefix("--hub-kubeconfig");
  LOG_IF(WARNING, !hub_config->token.empty() && hub_config->token_file.empty())
      << "--hub-kubeconfig has a token instead of a tokenFile: a new one is read at the next start";
  auto hub = kube::NewClient(app.executor(), app.clock(), std::move(*hub_config), client_options);
  if (!hub) co_return hub.error().Prefix("--hub-kubeconfig");
  Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) co_return config.error();
  auto member = kube::NewClient(app.executor(), app.clock(), std::move(*config), client_options);
  if (!member) co_return member.error();

  // Health and metrics.
  kube::HealthRegistry health;
  auto ops =
      kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health, &metrics);
  if (!ops) co_return ops.error();
  app.tasks().Spawn("ops-server", (*ops)->Run());

  // Work, while this replica holds the Lease.
  kube::ControllerMetrics observer(metrics, app.clock(), std::string(kName), 1);
  kube::Leadership leadership(app, **member,
                              {.ns = FLAGS_namespace,
                               .name = std::string(kLeaseName),
                               .on_change = kube::LeaderMetric(metrics, std::string(kLeaseName))});
  kube::Leadership::NewTerm new_term = [&](kube::TaskGroup&) {
    return std::make_unique<Agent>(**hub, **member, app.clock(), *options, &observer);
  };
  co_await leadership.Run(std::move(new_term));

  // Drain.
  co_await kube::EndTasksAndOpsServer(app, **ops);
  co_return Ok();
}

}  // namespace
}  // namespace fleet

int main(int argc, char** argv) {
  return kube::RunApp(
      {.name = fleet::kName,
       .summary = "Publishes a member cluster on the hub of a fleet and applies what it rolls out.",
       .version = api::kVersion,
       .argc = argc,
       .argv = argv},
      fleet::Serve);
}
