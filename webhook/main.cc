// SPDX-License-Identifier: Apache-2.0
// webhook: adds scheduling gates to new pods, the cluster gate with --gate=cluster, the local gate
// with --gate=local. The request has all that it decides on; only with --metrics-address it calls
// the API server, to ask who may read its metrics.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <string>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/metrics/metrics.h"
#include "kube/server/certificate_metric.h"
#include "kube/server/health.h"
#include "kube/server/https_server.h"
#include "kube/server/metrics_server.h"
#include "kube/server/ops_server.h"
#include "webhook/gate_webhook.h"

DEFINE_string(gate, "cluster", "Which gate to add: cluster, or local with --namespace.");
DEFINE_string(namespace, "",
              "The namespace to serve; required with --gate=local, refused with --gate=cluster.");
DEFINE_string(operator_namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's namespace. Pods in it and in kube-* are never gated.");
DEFINE_string(cert_dir, "/etc/webhook/certs",
              "Folder of tls.crt and tls.key. Changed files are loaded without a restart.");
DEFINE_string(address, ":9443", "The address of the webhook, as host:port; TLS only.");
DEFINE_string(kubeconfig, "",
              "How to reach the API server, for --metrics-address alone; by default $KUBECONFIG, "
              "then the pod's service account.");
DEFINE_string(
    drain_delay, "3s",
    "How long to accept new connections after SIGTERM, until the endpoints of the Service "
    "are updated on all nodes.");
DEFINE_validator(drain_delay, [](const char*, const std::string& value) {
  return kube::ParseDuration(value).has_value();
});

namespace webhook {
namespace {

kube::Result<GateWebhookOptions> OptionsFromFlags() {
  if (FLAGS_gate != "cluster" && FLAGS_gate != "local") {
    return kube::Error::Invalid("--gate: \"" + FLAGS_gate + "\" is neither cluster nor local");
  }
  if (FLAGS_gate == "local" && FLAGS_namespace.empty()) {
    return kube::Error::Invalid("--namespace is required with --gate=local");
  }
  if (FLAGS_gate == "cluster" && !FLAGS_namespace.empty()) {
    return kube::Error::Invalid(
        "--namespace is for --gate=local: --gate=cluster serves all namespaces");
  }
  return GateWebhookOptions{FLAGS_namespace, FLAGS_operator_namespace};
}

// nullptr if nothing needs the API server.
kube::Result<std::unique_ptr<kube::Client>> NewClientFromFlags(kube::App& app) {
  if (kube::MetricsServerOptionsFromFlags().address.empty()) return std::unique_ptr<kube::Client>();
  kube::Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) return config.error();
  return kube::NewClient(app.executor(), app.clock(), std::move(*config),
                         {.user_agent = api::UserAgent("webhook"), .max_connections = 4});
}

kube::Async<> Serve(kube::App& app) {
  kube::Result<GateWebhookOptions> options = OptionsFromFlags();
  if (!options) co_return options.error();

  // Health and metrics.
  kube::Metrics metrics;
  GateWebhook webhook(*options, metrics, app.clock());
  kube::HealthRegistry health;
  health.AddReadiness("webhook", [&app]() -> kube::Result<void> {
    if (app.stopping()) return kube::Error::Unavailable("stopping");
    return kube::Ok();
  });

  auto ops = kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health,
                                kube::PublicMetrics(metrics));
  if (!ops) co_return ops.error();
  kube::Result<std::unique_ptr<kube::Client>> client = NewClientFromFlags(app);
  if (!client) co_return client.error();
  std::unique_ptr<kube::MetricsServer> metrics_server;
  if (*client != nullptr) {
    auto made = kube::MetricsServer::New(app.executor(), app.clock(), **client, metrics,
                                         kube::MetricsServerOptionsFromFlags());
    if (!made) co_return made.error();
    metrics_server = std::move(*made);
  }

  // The webhook.
  kube::HttpsServerOptions server_options;
  server_options.address = FLAGS_address;
  server_options.certificate_file = FLAGS_cert_dir + "/tls.crt";
  server_options.key_file = FLAGS_cert_dir + "/tls.key";
  auto server = kube::HttpsServer::New(app.executor(), app.clock(), server_options);
  if (!server) co_return server.error().Prefix("--address, --cert-dir");
  webhook.AddTo(**server);
  kube::AddCertificateMetric(metrics, "mto_ppo_certificate_end_timestamp_seconds", **server);

  // Work.
  app.tasks().Spawn("ops-server", (*ops)->Run());
  app.tasks().Spawn("webhook", (*server)->Run());
  if (metrics_server != nullptr) app.tasks().Spawn("metrics-server", metrics_server->Run());
  LOG(INFO) << "adds the " << FLAGS_gate << " gate, on port " << (*server)->port()
            << "; health on port " << (*ops)->port();

  kube::Result<> stop = co_await app.WaitForStop();
  if (!stop) co_return stop;

  // Drain. A request that reaches no replica leaves its pod ungated. So first become unready, ask
  // clients to reconnect, and still accept connections until the endpoints are updated on all
  // nodes.
  (*server)->Retire();
  kube::Duration delay = std::min(*kube::ParseDuration(FLAGS_drain_delay), app.grace_left());
  kube::Result<> waited = co_await app.clock().Sleep(delay);
  if (!waited) co_return waited;
  kube::Result<> drained = co_await (*server)->Drain(app.grace_left());
  LOG_IF(WARNING, !drained) << "drain: " << drained.error();
  if (metrics_server != nullptr) co_await metrics_server->Drain(app.grace_left());
  kube::Result<> ops_drained = co_await (*ops)->Drain(app.grace_left());
  LOG_IF(WARNING, !ops_drained) << "drain: " << ops_drained.error();
  kube::Result<> ended = co_await app.EndTasks(app.tasks());
  (void)ended;
  co_return kube::Ok();
}

}  // namespace
}  // namespace webhook

int main(int argc, char** argv) {
  kube::AppOptions options{"webhook", "Adds scheduling gates to new pods.", api::kVersion, argc,
                           argv};
  return kube::RunApp(options, webhook::Serve);
}
