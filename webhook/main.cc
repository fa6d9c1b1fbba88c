// SPDX-License-Identifier: Apache-2.0
// webhook: changes new objects in one of three modes. With --gate=cluster and --gate=local it adds
// a scheduling gate to pods; the request contains all that it decides on, and it calls the API
// server only with --metrics-address, to ask which users may read its metrics. With --policies it
// adds the criteria of scheduling policies to pods and pod templates, and watches these policies.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
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
#include "kube/types/object_name.h"
#include "scheduling-policies/webhook/policy_replica.h"
#include "scheduling-policies/webhook/policy_webhook.h"
#include "webhook/gate_webhook.h"

DEFINE_string(gate, "cluster", "Which gate to add: cluster, or local with --namespace.");
DEFINE_string(namespace, "",
              "The namespace to serve; required with --gate=local, refused with --gate=cluster.");
DEFINE_bool(policies, false,
            "Apply scheduling policies, instead of adding gates. Needs the environment variable "
            "POD_NAME, the name of this pod.");
DEFINE_bool(only_changed_templates, false,
            "With --policies: an update gets the criteria only if it changes the pod template.");
DEFINE_string(operator_namespace, std::string(api::kDefaultOperatorNamespace),
              "The operator's namespace. Nothing in it and in kube-* is changed.");
DEFINE_string(cert_dir, "/etc/webhook/certs",
              "Folder of tls.crt and tls.key. Changed files are loaded without a restart.");
DEFINE_string(address, ":9443", "The address of the webhook, as host:port; TLS only.");
DEFINE_string(kubeconfig, "",
              "How to reach the API server, for --policies and --metrics-address alone; by default "
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

bool IsSet(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

kube::Result<GateWebhookOptions> GateOptionsFromFlags() {
  if (IsSet("only_changed_templates"))
    return kube::Error::Invalid("--only-changed-templates is for --policies");
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

kube::Result<policy::PolicyWebhookOptions> PolicyOptionsFromFlags() {
  for (const char* flag : {"gate", "namespace"}) {
    if (IsSet(flag))
      return kube::Error::Invalid(std::string("--policies adds no gate: it refuses --") + flag);
  }
  if (!kube::IsObjectName(FLAGS_operator_namespace))
    return kube::Error::Invalid("--operator-namespace must name a namespace with --policies");
  return policy::PolicyWebhookOptions{FLAGS_operator_namespace, FLAGS_only_changed_templates};
}

// The name of this replica. A host name does not do: the operator compares it with pods.
kube::Result<std::string> PodName() {
  const char* name = std::getenv("POD_NAME");
  if (name == nullptr || !kube::IsObjectName(name))
    return kube::Error::Invalid("--policies: the environment variable POD_NAME must name this pod");
  return std::string(name);
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

kube::Async<> ServeGates(kube::App& app) {
  kube::Result<GateWebhookOptions> options = GateOptionsFromFlags();
  if (!options) co_return options.error();

  kube::Metrics metrics;
  kube::HealthRegistry health;
  std::unique_ptr<kube::Client> client;
  if (!kube::MetricsServerOptionsFromFlags().address.empty()) {
    auto made = NewClientFromFlags(app, nullptr);
    if (!made) co_return made.error();
    client = std::move(*made);
  }
  GateWebhook webhook(*options, metrics, app.clock());
  auto program = Program::New(app, metrics, health, client.get());
  if (!program) co_return program.error();
  webhook.AddTo((*program)->server());
  std::string what = "adds the " + FLAGS_gate + " gate";
  kube::Result<> served = co_await (*program)->Serve(std::move(what));
  co_return served;
}

kube::Async<> ServePolicies(kube::App& app) {
  kube::Result<policy::PolicyWebhookOptions> options = PolicyOptionsFromFlags();
  if (!options) co_return options.error();
  kube::Result<std::string> pod = PodName();
  if (!pod) co_return pod.error();

  kube::Metrics metrics;
  kube::HealthRegistry health;
  kube::ClientMetrics client_metrics(metrics);
  auto client = NewClientFromFlags(app, &client_metrics);
  if (!client) co_return client.error();
  policy::PolicyReplica replica(**client, app.clock(), FLAGS_operator_namespace, *pod);
  policy::PolicyWebhook webhook(*options, replica, **client, metrics, app.clock());
  health.AddReadiness("policies", [&replica] { return replica.InForce(); });
  auto program = Program::New(app, metrics, health, client->get());
  if (!program) co_return program.error();
  webhook.AddTo((*program)->server());

  replica.Start(app.tasks());
  std::string what = "applies scheduling policies";
  kube::Result<> served = co_await (*program)->Serve(std::move(what));
  // The operator waits for this replica as long as it answers reviews.
  kube::Result<> ended = co_await replica.End();
  LOG_IF(WARNING, !ended) << ended.error();
  co_return served;
}

kube::Async<> Serve(kube::App& app) {
  if (FLAGS_policies) return ServePolicies(app);
  return ServeGates(app);
}

}  // namespace
}  // namespace webhook

int main(int argc, char** argv) {
  kube::AppOptions options{"webhook", "Adds scheduling gates or the criteria of policies.",
                           api::kVersion, argc, argv};
  return kube::RunApp(options, webhook::Serve);
}
