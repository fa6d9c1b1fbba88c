// SPDX-License-Identifier: Apache-2.0
// operator: runs what the ClusterPodPlacementConfig and the PodPlacementConfigs ask for. Every replica answers the API
// server's questions about both kinds; the one that holds the Lease does the rest (see leader.h).
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "api/names.h"
#include "api/version.h"
#include "kube/admission/health.h"
#include "kube/admission/metrics.h"
#include "kube/admission/ops_server.h"
#include "kube/admission/server.h"
#include "kube/base/app.h"
#include "kube/client/client_metrics.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"
#include "kube/controller/controller_metrics.h"
#include "kube/controller/leader_election.h"
#include "operator/announcer.h"
#include "operator/config_webhooks.h"
#include "operator/leader.h"
#include "operator/objects/kinds.h"
#include "operator/objects/metadata.h"
#include "operator/objects/options.h"
#include "operator/own_certificate.h"

#if defined(__x86_64__)
#define OPERATOR_ARCHITECTURE "amd64"
#elif defined(__aarch64__)
#define OPERATOR_ARCHITECTURE "arm64"
#elif defined(__powerpc64__)
#define OPERATOR_ARCHITECTURE "ppc64le"
#elif defined(__s390x__)
#define OPERATOR_ARCHITECTURE "s390x"
#endif

DEFINE_string(kubeconfig, "", "How to reach the API server; by default $KUBECONFIG, then the pod's service account.");
DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's own namespace, where the cluster's operands run.");
DEFINE_string(webhook_image, "", "Image of the webhooks. Required.");
DEFINE_string(shard_image, "", "Image of the shards' controllers. Required.");
DEFINE_string(controller_image, "", "Image of the cluster's controller. Required.");
DEFINE_string(operand_architectures, OPERATOR_ARCHITECTURE,
              "Architectures that these images run on, comma separated GOARCH names.");
DEFINE_string(image_pull_secrets, "",
              "Pull secrets of these images, comma separated; each namespace with a shard needs its own of that name.");
DEFINE_string(address, ":9443", "Where to serve the operator's own webhooks, as host:port over TLS.");
DEFINE_string(cert_dir, "/tmp/webhook-certs", "Folder for this process alone, where its certificate is kept.");

namespace operator_ {
namespace {

using kube::App;
using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

constexpr std::string_view kName = "operator";
constexpr auto kRetryEvery = 2s;
// How long a call that is under way may take when the Lease is lost: a call's own timeout.
constexpr auto kEndOfTerm = 35s;

std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> items;
  std::istringstream in(text);
  for (std::string item; std::getline(in, item, ',');) {
    if (!item.empty()) items.push_back(item);
  }
  return items;
}

Result<OperandOptions> OptionsFromFlags() {
  OperandOptions options{.ns = FLAGS_namespace,
                         .ns_uid = "",
                         .webhook_image = FLAGS_webhook_image,
                         .shard_image = FLAGS_shard_image,
                         .controller_image = FLAGS_controller_image,
                         .architectures = SplitList(FLAGS_operand_architectures),
                         .image_pull_secrets = SplitList(FLAGS_image_pull_secrets)};
  if (options.ns.empty()) return Error::Invalid("--namespace is required");
  if (options.webhook_image.empty()) return Error::Invalid("--webhook-image is required");
  if (options.shard_image.empty()) return Error::Invalid("--shard-image is required");
  if (options.controller_image.empty()) return Error::Invalid("--controller-image is required");
  if (options.architectures.empty()) return Error::Invalid("--operand-architectures names none");
  return options;
}

std::string Identity() {
  // In a cluster the host's name is the pod's; the process id tells several on one host apart.
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  return std::string(host) + "_" + std::to_string(getpid());
}

// The operator's Namespace and certificate, whatever time the API server takes to give them.
Async<> Prepare(App& app, kube::Client& client, OwnCertificate& certificate, OperandOptions& options) {
  while (true) {
    kube::ObjectKey key{"", options.ns};
    Result<kube::Unstructured> ns = co_await kube::GetObject(client, kNamespaces, key);
    Result<> ready = Ok();
    if (ns) {
      options.ns_uid = ns->metadata().uid();
      ready = co_await certificate.Refresh();
    } else {
      ready = ns.error().Prefix("read namespace " + options.ns);
    }
    if (ready) co_return Ok();
    LOG(WARNING) << "cannot start yet: " << ready.error();
    Result<> slept = co_await app.clock().Sleep(kRetryEvery);
    if (!slept) co_return slept.error();
  }
}

// One term: waits for the Lease, leads while it is ours, and ends what it began.
// Returns: Ok when the process is to stop or the Lease was lost; an Error if work of this term could not be ended, so that
// only the end of the process does.
Async<> LeadOnce(App& app, kube::Client& client, LeaderOptions options, const OwnCertificate& certificate,
                 kube::LeaderElector& elector) {
  Result<> acquired = co_await elector.Acquire();
  if (app.stopping() || !acquired) co_return Ok();
  LOG(INFO) << "leads";
  Leader leader(client, app.clock(), std::move(options), certificate);
  kube::TaskGroup workers(app.executor());
  // An API server that is away keeps the start waiting; the Lease is to be renewed, or lost, meanwhile.
  workers.Spawn("leader", leader.Run(workers));
  Result<> held = co_await elector.Hold();
  LOG_IF(WARNING, !app.stopping() && !held) << "leads no more: " << held.error();

  // What is under way is finished, then the next leader need not wait.
  kube::Duration grace = app.stopping() ? app.grace_left() : kEndOfTerm;
  Result<> stopped = co_await workers.Stop(app.clock(), grace);
  Result<> released = co_await elector.Release();
  LOG_IF(WARNING, !released) << "release the Lease: " << released.error();
  co_return stopped;
}

// Answers the API server, and leads when it is our turn, until the process is to stop. `serving` tells when it answers.
Async<> Operate(App& app, kube::Client& client, OperandOptions operands, kube::Metrics& metrics, bool& serving) {
  OwnCertificate certificate(client, app.clock(), FLAGS_namespace, FLAGS_cert_dir);
  Result<> prepared = co_await Prepare(app, client, certificate, operands);
  if (app.stopping()) co_return Ok();
  if (!prepared) co_return prepared.error();

  // The webhooks, in every replica.
  kube::HttpsServerOptions server_options{.address = FLAGS_address,
                                          .certificate_file = certificate.certificate_file(),
                                          .key_file = certificate.key_file()};
  auto server = kube::HttpsServer::New(app.executor(), app.clock(), std::move(server_options));
  if (!server) co_return server.error().Prefix("--address");
  Announcer announcer(client, app.clock(), FLAGS_namespace);
  ConfigWebhooks webhooks(client, announcer);
  webhooks.AddTo(**server);
  kube::TaskGroup tasks(app.executor());
  tasks.Spawn("certificate", certificate.Run());
  tasks.Spawn("webhooks", (*server)->Run());
  serving = true;

  // The rest, in one of them.
  kube::ControllerMetrics shard_metrics(metrics, app.clock(), "shards", kShardWorkers);
  kube::ControllerMetrics cluster_metrics(metrics, app.clock(), "cluster", 1);
  kube::LeaseOptions lease{.ns = FLAGS_namespace,
                           .name = std::string(kManagedBy),
                           .identity = Identity(),
                           .on_change = kube::LeaderMetric(metrics, std::string(kManagedBy))};
  kube::LeaderElector elector(client, app.clock(), std::move(lease));
  LeaderOptions leader_options{.operands = std::move(operands),
                               .shard_observer = &shard_metrics,
                               .cluster_observer = &cluster_metrics};
  Result<> led = Ok();
  while (led && !app.stopping()) led = co_await LeadOnce(app, client, leader_options, certificate, elector);

  // Drain: the webhooks last.
  kube::Duration grace = app.grace_left();
  Result<> drained = co_await (*server)->Drain(grace);
  LOG_IF(WARNING, !drained) << "drain: " << drained.error();
  grace = app.grace_left();
  Result<> ended = co_await tasks.Stop(app.clock(), grace);
  LOG_IF(WARNING, !ended) << ended.error();
  co_return led;
}

Async<> Serve(App& app) {
  Result<OperandOptions> operands = OptionsFromFlags();
  if (!operands) co_return operands.error();
  kube::Metrics metrics;
  kube::ClientMetrics client_metrics(metrics);
  Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) co_return config.error();
  kube::ClientOptions client_options{.name = std::string(kName), .observer = &client_metrics};
  auto client = kube::NewClient(app.executor(), app.clock(), std::move(*config), std::move(client_options));
  if (!client) co_return client.error();

  // Health and metrics begin first and end last, so that the kubelet always gets an answer.
  kube::HealthRegistry health;
  bool serving = false;
  health.AddReadiness("webhooks", [&serving]() -> Result<void> {
    return serving ? Ok() : Result<void>(Error::Unavailable("no certificate yet"));
  });
  auto ops = kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health, metrics);
  if (!ops) co_return ops.error().Prefix("--health-address");
  app.tasks().Spawn("ops-server", (*ops)->Run());

  Result<> operated = co_await Operate(app, **client, std::move(*operands), metrics, serving);
  kube::Duration grace = app.grace_left();
  Result<> ended = co_await app.tasks().Stop(app.clock(), grace);
  LOG_IF(WARNING, !ended) << ended.error();
  co_return operated;
}

}  // namespace
}  // namespace operator_

int main(int argc, char** argv) {
  kube::AppOptions options{operator_::kName,
                           "Runs what the ClusterPodPlacementConfig and the PodPlacementConfigs ask for.", api::kVersion,
                           argc, argv};
  return kube::RunApp(options, operator_::Serve);
}
