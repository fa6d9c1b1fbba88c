// SPDX-License-Identifier: Apache-2.0
// webhook: changes new objects, in one of several modes (mode.h). With --gate=cluster and
// --gate=local it adds a scheduling gate to pods; the request contains all that it decides on, and
// it calls the API server only with --metrics-address, to ask which users may read its metrics.
// With --policies it adds the criteria of scheduling policies to pods and pod templates.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "api/names.h"
#include "api/user_agent.h"
#include "api/version.h"
#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/client/client_metrics.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/metrics/metrics.h"
#include "kube/server/certificate_metric.h"
#include "kube/server/health.h"
#include "kube/server/https_server.h"
#include "kube/server/metrics_server.h"
#include "kube/server/ops_server.h"
#include "scheduling-policies/webhook/policy_mode.h"
#include "webhook/gate_mode.h"
#include "webhook/mode.h"

DEFINE_string(operator_namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's namespace. Nothing in it and in kube-* is changed.");
DEFINE_string(cert_dir, "/etc/webhook/certs",
              "Folder of tls.crt and tls.key. Changed files are loaded without a restart.");
DEFINE_string(address, ":9443", "The address of the webhook, as host:port; TLS only.");
DEFINE_string(
    kubeconfig, "",
    "How to reach the API server, for modes that call it and for --metrics-address; by default "
    "$KUBECONFIG, then the pod's service account.");
DEFINE_string(
    drain_delay, "3s",
    "How long to accept new connections after SIGTERM, until the endpoints of the Service "
    "are updated on all nodes.");
DEFINE_validator(drain_delay, [](const char*, const std::string& value) {
  return kube::ParseDuration(value).has_value();
});

namespace webhook {
namespace {

// The modes, by their flags: the first that is chosen.
constexpr ChooseMode kModes[] = {
    policy::ChoosePolicyMode,  // scheduling-policies/
    ChooseGateMode,
};

kube::Result<ChosenMode> ModeFromFlags() {
  for (ChooseMode choose : kModes) {
    kube::Result<std::optional<ChosenMode>> chosen = choose(FLAGS_operator_namespace);
    if (!chosen) return chosen.error();
    if (*chosen) return std::move(**chosen);
  }
  return kube::Error::Internal("no mode");
}

kube::Result<std::unique_ptr<kube::Client>> NewClientFromFlags(kube::App& app,
                                                               kube::CallObserver* observer) {
  kube::Result<kube::ClientConfig> config = kube::LoadClientConfig(FLAGS_kubeconfig);
  if (!config) return config.error();
  return kube::NewClient(
      app.executor(), app.clock(), std::move(*config),
      {.user_agent = api::UserAgent("webhook"), .observer = observer, .max_connections = 8});
}

// What all modes have: health, metrics and the TLS server, and their end. A mode adds its paths to
// server() before Start().
class Program {
 public:
  // `client` may be nullptr if nothing needs the API server.
  static kube::Result<std::unique_ptr<Program>> New(kube::App& app, kube::Metrics& metrics,
                                                    kube::HealthRegistry& health,
                                                    kube::Client* client) {
    auto program = std::make_unique<Program>(app);
    auto ops = kube::NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health,
                                  kube::PublicMetrics(metrics));
    if (!ops) return ops.error();
    program->ops_ = std::move(*ops);
    if (client != nullptr) {
      auto made = kube::MetricsServer::New(app.executor(), app.clock(), *client, metrics,
                                           kube::MetricsServerOptionsFromFlags());
      if (!made) return made.error();
      program->metrics_server_ = std::move(*made);
    }
    kube::HttpsServerOptions options;
    options.address = FLAGS_address;
    options.certificate_file = FLAGS_cert_dir + "/tls.crt";
    options.key_file = FLAGS_cert_dir + "/tls.key";
    auto server = kube::HttpsServer::New(app.executor(), app.clock(), options);
    if (!server) return server.error().Prefix("--address, --cert-dir");
    program->server_ = std::move(*server);
    kube::AddCertificateMetric(metrics, "mto_ppo_certificate_end_timestamp_seconds",
                               *program->server_);
    health.AddReadiness("webhook", [&app]() -> kube::Result<void> {
      if (app.stopping()) return kube::Error::Unavailable("stopping");
      return kube::Ok();
    });
    return program;
  }

  explicit Program(kube::App& app) : app_(app) {}
  kube::HttpsServer& server() { return *server_; }

  // Serves until the process is asked to stop, then drains: a request that reaches no replica
  // leaves its object unchanged. So first become unready, ask clients to reconnect, and still
  // accept connections until the endpoints are updated on all nodes. `what`: for the log.
  kube::Async<> Serve(std::string what) {
    app_.tasks().Spawn("ops-server", ops_->Run());
    app_.tasks().Spawn("webhook", server_->Run());
    if (metrics_server_ != nullptr) app_.tasks().Spawn("metrics-server", metrics_server_->Run());
    LOG(INFO) << what << ", on port " << server_->port() << "; health on port " << ops_->port();

    co_await app_.WaitForStop();

    server_->Retire();
    kube::Duration delay = std::min(*kube::ParseDuration(FLAGS_drain_delay), app_.grace_left());
    kube::Result<> waited = co_await app_.clock().Sleep(delay);
    if (!waited) co_return waited;
    kube::Result<> drained = co_await server_->Drain(app_.grace_left());
    LOG_IF(WARNING, !drained) << "drain: " << drained.error();
    if (metrics_server_ != nullptr) co_await metrics_server_->Drain(app_.grace_left());
    co_await kube::EndTasksAndOpsServer(app_, *ops_);
    co_return kube::Ok();
  }

 private:
  kube::App& app_;
  std::unique_ptr<kube::HttpsServer> ops_;
  std::unique_ptr<kube::MetricsServer> metrics_server_;
  std::unique_ptr<kube::HttpsServer> server_;
};

kube::Async<> Serve(kube::App& app) {
  kube::Result<ChosenMode> chosen = ModeFromFlags();
  if (!chosen) co_return chosen.error();

  kube::Metrics metrics;
  kube::HealthRegistry health;
  std::optional<kube::ClientMetrics> client_metrics;
  if (chosen->needs_client) client_metrics.emplace(metrics);
  std::unique_ptr<kube::Client> client;
  if (chosen->needs_client || !kube::MetricsServerOptionsFromFlags().address.empty()) {
    auto made = NewClientFromFlags(app, client_metrics ? &*client_metrics : nullptr);
    if (!made) co_return made.error();
    client = std::move(*made);
  }
  std::unique_ptr<Mode> mode =
      chosen->open(ModeContext{client.get(), app.clock(), metrics, health});
  auto program = Program::New(app, metrics, health, client.get());
  if (!program) co_return program.error();
  mode->AddTo((*program)->server());

  mode->Start(app.tasks());
  kube::Result<> served = co_await (*program)->Serve(std::move(chosen->what));
  kube::Result<> ended = co_await mode->End();
  LOG_IF(WARNING, !ended) << ended.error();
  co_return served;
}

}  // namespace
}  // namespace webhook

int main(int argc, char** argv) {
  kube::AppOptions options{"webhook", "Adds scheduling gates or the criteria of policies.",
                           api::kVersion, argc, argv};
  return kube::RunApp(options, webhook::Serve);
}
