// SPDX-License-Identifier: Apache-2.0
// operator: runs the operands that the ClusterPodPlacementConfig and the PodPlacementConfigs ask
// for. Every replica serves the webhooks of both kinds, and those of the features (feature.h); the
// replica that holds the Lease does the rest (leader.h).
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "kube/base/app.h"
#include "kube/base/notifier.h"
#include "kube/base/split.h"
#include "kube/client/client_metrics.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"
#include "kube/controller/controller_metrics.h"
#include "kube/controller/leadership.h"
#include "kube/metrics/metrics.h"
#include "kube/server/certificate_metric.h"
#include "kube/server/health.h"
#include "kube/server/https_server.h"
#include "kube/server/metrics_server.h"
#include "kube/server/ops_server.h"
#include "kube/types/kinds.h"
#include "operator/announcements/announcer.h"
#include "operator/certificates/own_certificate.h"
#include "operator/feature.h"
#include "operator/leader.h"
#include "operator/objects/metadata.h"
#include "operator/objects/options.h"
#include "operator/status/operand_metrics.h"
#include "operator/teardown/delete_configs.h"
#include "operator/teardown/own_namespace_teardown.h"
#include "operator/webhooks/config_webhooks.h"
#include "scheduling-policies/operator/policy_feature.h"

#if defined(__x86_64__)
#define OPERATOR_ARCHITECTURE "amd64"
#elif defined(__aarch64__)
#define OPERATOR_ARCHITECTURE "arm64"
#elif defined(__powerpc64__)
#define OPERATOR_ARCHITECTURE "ppc64le"
#elif defined(__s390x__)
#define OPERATOR_ARCHITECTURE "s390x"
#endif

DEFINE_string(kubeconfig, "",
              "Path of a kubeconfig file; by default $KUBECONFIG, then the pod's service account.");
DEFINE_string(namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's own namespace, which also has the cluster's operands.");
DEFINE_string(webhook_image, "", "Image of the webhooks. Required.");
DEFINE_string(shard_image, "", "Image of the shards' controllers. Required.");
DEFINE_string(controller_image, "", "Image of the cluster controller. Required.");
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
DEFINE_bool(network_policies, true,
            "Whether the operands have NetworkPolicies. Without, existing ones are removed, and "
            "whatever else applies to pods of their namespaces decides who reaches them.");
DEFINE_bool(
    delete_configs, false,
    "Only deletes all PodPlacementConfigs and the ClusterPodPlacementConfig, and waits until "
    "a running operator has ungated all pods and removed its operands. For a Job before the "
    "operator is uninstalled.");
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

using kube::App;
using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

constexpr std::string_view kName = "operator";
constexpr auto kRetryEvery = 2s;
// Less than the time that Helm waits for a hook.
constexpr auto kDeleteConfigsWithin = 240s;
// How long reconciles that are in progress may delay the teardown, which has a few seconds in all.
constexpr kube::Duration kStopLeadingWithin = 1s;

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

Result<OperandOptions> OptionsFromFlags() {
  OperandOptions options{.ns = FLAGS_namespace,
                         .ns_uid = "",
                         .webhook_image = FLAGS_webhook_image,
                         .shard_image = FLAGS_shard_image,
                         .controller_image = FLAGS_controller_image,
                         .architectures = kube::SplitAtCommas(FLAGS_operand_architectures),
                         .image_pull_secrets = kube::SplitAtCommas(FLAGS_image_pull_secrets)};
  if (options.ns.empty()) return Error::Invalid("--namespace is required");
  if (options.webhook_image.empty()) return Error::Invalid("--webhook-image is required");
  if (options.shard_image.empty()) return Error::Invalid("--shard-image is required");
  if (options.controller_image.empty()) return Error::Invalid("--controller-image is required");
  if (FLAGS_shard_upgrades < 0) return Error::Invalid("--shard-upgrades must not be negative");
  if (options.architectures.empty()) return Error::Invalid("--operand-architectures names none");
  Result<std::vector<std::pair<std::string, std::string>>> files = ParseNodeFiles(FLAGS_node_files);
  if (!files) return files.error();
  options.node_files = std::move(*files);
  options.network_policies = FLAGS_network_policies;
  options.proxy_environment = ProxyEnvironment();
  options.certificate_validity = std::chrono::duration_cast<std::chrono::seconds>(
      *kube::ParseDuration(FLAGS_certificate_validity));
  return options;
}

// Reads the operator's Namespace and ensures its certificate; retries until both succeed. Errors:
// kCancelled when the process has to stop or the namespace is being deleted.
Async<> Prepare(App& app, kube::Client& client, OwnCertificate& certificate,
                const OwnNamespaceTeardown& teardown, OperandOptions& options) {
  while (true) {
    kube::ObjectKey key{"", options.ns};
    Result<kube::Unstructured> ns = co_await kube::GetObject(client, kube::kNamespaces, key);
    Result<> ready = Ok();
    if (ns) {
      options.ns_uid = ns->metadata().uid();
      ready = co_await certificate.Refresh();
    } else {
      ready = ns.error().Prefix("read namespace " + options.ns);
    }
    if (ready) co_return Ok();
    if (teardown.due()) co_return Error::Cancelled("namespace " + options.ns + " is being deleted");
    LOG(WARNING) << "cannot start yet: " << ready.error();
    Result<> slept = co_await app.clock().Sleep(kRetryEvery);
    if (!slept) co_return slept.error();
  }
}

// Serves the webhooks, and leads while holding the Lease, until the process has to stop. When the
// operator's namespace is being deleted, it stops leading and ungates all pods. Sets `serving` once
// the webhooks are served; waits on `changed` for `teardown` to be due. Without an error, all tasks
// of the process have ended when it returns, as some of them use its locals.
Async<> Operate(App& app, kube::Client& client, OperandOptions operands, kube::Metrics& metrics,
                OwnNamespaceTeardown& teardown, kube::Notifier& changed, kube::HttpsServer& ops,
                bool& serving) {
  OwnCertificate certificate(client, app.clock(), FLAGS_namespace, FLAGS_cert_dir,
                             operands.certificate_validity);
  Result<> prepared = co_await Prepare(app, client, certificate, teardown, operands);
  if (!prepared && !teardown.due()) co_return prepared.error();

  // In every replica: the webhooks.
  std::unique_ptr<kube::HttpsServer> server;
  kube::Counter& failures =
      metrics.AddCounter("mto_ppo_announcements_failed_total",
                         "The writes of announcements of PodPlacementConfigs that failed");
  Announcer announcer(client, app.clock(), app.tasks(), {.owner = OwnNamespace(operands)},
                      failures);
  ConfigWebhooks webhooks(client, app.clock(), announcer);
  Features features;
  features.push_back(NewPolicyFeature(client, app.clock(), FLAGS_namespace));
  std::unique_ptr<kube::MetricsServer> metrics_server;
  if (prepared) {
    auto protected_metrics = kube::MetricsServer::New(app.executor(), app.clock(), client, metrics,
                                                      kube::MetricsServerOptionsFromFlags());
    if (!protected_metrics) co_return protected_metrics.error();
    metrics_server = std::move(*protected_metrics);
    kube::HttpsServerOptions server_options{.address = FLAGS_address,
                                            .certificate_file = certificate.certificate_file(),
                                            .key_file = certificate.key_file()};
    auto made = kube::HttpsServer::New(app.executor(), app.clock(), std::move(server_options));
    if (!made) co_return made.error().Prefix("--address");
    server = std::move(*made);
    webhooks.AddTo(*server);
    for (const std::unique_ptr<Feature>& feature : features) feature->AddTo(*server);
    kube::AddCertificateMetric(metrics, "mto_ppo_certificate_end_timestamp_seconds", *server);
    app.tasks().Spawn("certificate", certificate.Run());
    app.tasks().Spawn("webhooks", server->Run());
    app.tasks().Spawn("metrics-server", metrics_server->Run());
    serving = true;
  }

  // In one replica: the reconcilers.
  kube::ControllerMetrics shard_metrics(metrics, app.clock(), "shards", kShardWorkers);
  kube::ControllerMetrics cluster_metrics(metrics, app.clock(), "cluster", 1);
  OperandMetrics operand_metrics(metrics, FLAGS_namespace);
  kube::LeaseOptions lease{.ns = FLAGS_namespace,
                           .name = std::string(kManagedBy),
                           .on_change = kube::LeaderMetric(metrics, std::string(kManagedBy))};
  LeaderOptions leader_options{.operands = std::move(operands),
                               .upgrades = {.at_a_time = FLAGS_shard_upgrades,
                                            .order_seed = std::to_string(std::random_device()())},
                               .shard_observer = &shard_metrics,
                               .cluster_observer = &cluster_metrics,
                               .operand_metrics = &operand_metrics};
  kube::Leadership leadership(app, client, std::move(lease));
  kube::Leadership::NewTerm new_term = [&](kube::TaskGroup&) {
    return std::make_unique<Leader>(client, app.clock(), leader_options, certificate, features);
  };
  kube::TaskGroup leading(app.executor());
  if (!teardown.due()) leading.Spawn("leadership", leadership.Run(std::move(new_term)));
  while (!app.stopping() && !teardown.due()) {
    Result<> waited = co_await changed.Wait();
    kube::IgnoreError(waited, "the loop asks whether the program stops");
  }
  if (teardown.due()) {
    Result<> stopped = co_await leading.Stop(app.clock(), kStopLeadingWithin);
    LOG_IF(WARNING, !stopped) << stopped.error();
    Result<> torn_down = co_await teardown.Run();
    LOG_IF(WARNING, !torn_down) << "teardown: " << torn_down.error();
    co_await app.WaitForStop();
  }

  // Drain: the webhooks after the tasks whose writes call them, then the rest.
  Result<> ended = co_await app.EndTasks(leading);
  kube::IgnoreError(ended, "all tasks have ended in any case");
  kube::Duration grace = app.grace_left();
  Result<> drained = Ok();
  if (server != nullptr) drained = co_await server->Drain(grace);
  LOG_IF(WARNING, !drained) << "drain: " << drained.error();
  if (metrics_server != nullptr) co_await metrics_server->Drain(app.grace_left());
  co_await kube::EndTasksAndOpsServer(app, ops);
  co_return Ok();
}

Async<> RunDeleteConfigs(App& app) {
  Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) co_return config.error();
  auto client = kube::NewClient(app.executor(), app.clock(), std::move(*config),
                                {.user_agent = api::UserAgent(kName)});
  if (!client) co_return client.error();
  kube::TimePoint deadline = app.clock().Now() + kDeleteConfigsWithin;
  co_return co_await DeleteConfigs(**client, app.clock(), deadline);
}

Async<> Serve(App& app) {
  if (FLAGS_delete_configs) co_return co_await RunDeleteConfigs(app);
  Result<OperandOptions> operands = OptionsFromFlags();
  if (!operands) co_return operands.error();
  kube::Metrics metrics;
  kube::ClientMetrics client_metrics(metrics);
  Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) co_return config.error();
  kube::ClientOptions client_options{.user_agent = api::UserAgent(kName),
                                     .observer = &client_metrics};
  auto client =
      kube::NewClient(app.executor(), app.clock(), std::move(*config), std::move(client_options));
  if (!client) co_return client.error();

  // Health and metrics start first and stop last, so the kubelet always gets an answer.
  kube::HealthRegistry health;
  bool serving = false;
  health.AddReadiness("webhooks", [&serving]() -> Result<void> {
    return serving ? Ok() : Result<void>(Error::Unavailable("no certificate yet"));
  });
  auto ops = kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health,
                                kube::PublicMetrics(metrics));
  if (!ops) co_return ops.error();
  app.tasks().Spawn("ops-server", (*ops)->Run());

  kube::Notifier changed;
  OwnNamespaceTeardown teardown(**client, app.clock(), FLAGS_namespace);
  teardown.OnDue([&changed] { changed.NotifyAll(); });
  app.tasks().Spawn("own-namespace", teardown.Watch());
  Result<> operated = co_await Operate(app, **client, std::move(*operands), metrics, teardown,
                                       changed, **ops, serving);
  if (!operated) co_await kube::EndTasksAndOpsServer(app, **ops);
  co_return operated;
}

}  // namespace
}  // namespace operator_

int main(int argc, char** argv) {
  kube::AppOptions options{
      operator_::kName,
      "Runs the operands for the ClusterPodPlacementConfig and the PodPlacementConfigs.",
      api::kVersion, argc, argv};
  return kube::RunApp(options, operator_::Serve);
}
