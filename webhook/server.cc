// SPDX-License-Identifier: Apache-2.0
#include "webhook/server.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <functional>
#include <string>

#include "kube/base/clock.h"
#include "kube/metrics/metrics.h"
#include "kube/server/certificate_metric.h"

DEFINE_string(cert_dir, "/etc/webhook/certs",
              "Folder of tls.crt and tls.key. Changed files are loaded without a restart.");
DEFINE_string(address, ":9443", "The address of the webhook, as host:port; TLS only.");
DEFINE_string(
    drain_delay, "3s",
    "How long to accept new connections after SIGTERM, until the endpoints of the Service "
    "are updated on all nodes.");
DEFINE_validator(drain_delay, [](const char*, const std::string& value) {
  return kube::ParseDuration(value).has_value();
});

namespace webhook {
namespace {

// Of the pods in these requests, the API server hears nothing: failurePolicy decides.
std::function<void(int)> CountRefused(kube::Metrics& metrics) {
  auto counter = [&metrics](int code) -> kube::Counter& {
    return metrics.AddCounter("mto_ppo_wh_refused_requests_total",
                              "Requests to the webhook that were refused or not finished",
                              {{"code", std::to_string(code)}});
  };
  for (int code : {400, 404, 405, 408, 413, 431, 500}) counter(code);
  return [counter](int code) { counter(code).Increment(); };
}

}  // namespace

kube::Result<std::unique_ptr<kube::HttpsServer>> NewServer(kube::Program& program) {
  kube::HttpsServerOptions options;
  options.address = FLAGS_address;
  options.certificate_file = FLAGS_cert_dir + "/tls.crt";
  options.key_file = FLAGS_cert_dir + "/tls.key";
  options.on_refused = CountRefused(program.metrics());
  auto server = kube::HttpsServer::New(program.executor(), program.clock(), options);
  if (!server) return server.error().Prefix("--address, --cert-dir");
  kube::AddCertificateMetric(program.metrics(), "mto_ppo_certificate_end_timestamp_seconds",
                             **server);
  kube::App& app = program.app();
  program.health().AddReadiness("webhook", [&app]() -> kube::Result<> {
    if (app.stopping()) return kube::Error::Unavailable("stopping");
    return kube::Ok();
  });
  return server;
}

kube::Async<> Retire(kube::Program& program, kube::HttpsServer& server) {
  server.Retire();
  kube::Duration delay =
      std::min(*kube::ParseDuration(FLAGS_drain_delay), program.app().grace_left());
  co_return co_await program.clock().Sleep(delay);
}

}  // namespace webhook
