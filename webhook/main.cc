// SPDX-License-Identifier: Apache-2.0
// webhook: adds scheduling gates to new pods - the cluster's with --gate=cluster, a shard's with
// --gate=local. It needs no access to the API server: everything that it decides is in the request.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <string>

#include "api/names.h"
#include "api/version.h"
#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/metrics/metrics.h"
#include "kube/server/health.h"
#include "kube/server/https_server.h"
#include "kube/server/ops_server.h"
#include "webhook/gate_webhook.h"

DEFINE_string(gate, "cluster", "Which gate to add: cluster, or local with --namespace.");
DEFINE_string(namespace, "",
              "The shard's namespace; required with --gate=local, refused with --gate=cluster.");
DEFINE_string(operator_namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's namespace; its pods and those of kube-* are never gated.");
DEFINE_string(cert_dir, "/etc/webhook/certs",
              "Folder of tls.crt and tls.key; new ones are taken up as they come.");
DEFINE_string(address, ":9443", "Where to serve the webhook, as host:port over TLS.");
DEFINE_string(drain_delay, "3s",
              "How long to go on serving after SIGTERM, while the cluster learns that this replica "
              "is leaving.");
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
        "--namespace is for --gate=local: the cluster's webhook serves all namespaces");
  }
  return GateWebhookOptions{FLAGS_namespace, FLAGS_operator_namespace};
}

kube::Async<> Main(kube::App& app) {
  kube::Result<GateWebhookOptions> options = OptionsFromFlags();
  if (!options) co_return options.error();

  kube::Metrics metrics;
  GateWebhook webhook(*options, metrics, app.clock());
  kube::HealthRegistry health;
  health.AddReadiness("webhook", [&app]() -> kube::Result<void> {
    if (app.stopping()) return kube::Error::Unavailable("stopping");
    return kube::Ok();
  });

  auto ops = kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health, metrics);
  if (!ops) co_return ops.error();
  kube::HttpsServerOptions server_options;
  server_options.address = FLAGS_address;
  server_options.certificate_file = FLAGS_cert_dir + "/tls.crt";
  server_options.key_file = FLAGS_cert_dir + "/tls.key";
  auto server = kube::HttpsServer::New(app.executor(), app.clock(), server_options);
  if (!server) co_return server.error().Prefix("--address, --cert-dir");
  webhook.AddTo(**server);

  app.tasks().Spawn("ops", (*ops)->Run());
  app.tasks().Spawn("webhook", (*server)->Run());
  LOG(INFO) << "adds the " << FLAGS_gate << " gate, on port " << (*server)->port()
            << "; health on port " << (*ops)->port();

  kube::Result<> stop = co_await app.WaitForStop();
  if (!stop) co_return stop;

  // A review that finds nobody leaves its pod ungated, so leave without haste: no longer ready,
  // existing clients sent elsewhere one by one, new ones served until the endpoints have changed
  // everywhere.
  (*server)->Retire();
  kube::Duration delay = std::min(*kube::ParseDuration(FLAGS_drain_delay), app.grace_left());
  kube::Result<> waited = co_await app.clock().Sleep(delay);
  if (!waited) co_return waited;
  kube::Result<> drained = co_await (*server)->Drain(app.grace_left());
  LOG_IF(WARNING, !drained) << "drain: " << drained.error();
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
  return kube::RunApp(options, webhook::Main);
}
