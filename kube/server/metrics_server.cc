// SPDX-License-Identifier: Apache-2.0
#include "kube/server/metrics_server.h"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include "kube/server/ops_server.h"
#include "kube/server/token_review.h"

DEFINE_string(metrics_address, "",
              "Where to serve /metrics over TLS, as host:port, to clients whose bearer token the "
              "API server accepts and allows to get /metrics. Empty: /metrics is served to "
              "every client on --health-address.");
DEFINE_string(metrics_cert_dir, "/etc/metrics/certs",
              "Folder of tls.crt and tls.key for --metrics-address. Changed files are loaded "
              "without a restart.");

namespace kube {
namespace {

constexpr std::chrono::milliseconds kReviewTimeout{5'000};

asio::awaitable<AccessVerdict> MayReadMetrics(Client& client, Clock& clock, std::string token) {
  AskedAccess asked{.text = "get the non-resource URL /metrics"};
  asked.attributes["nonResourceAttributes"] = {{"path", "/metrics"}, {"verb", "get"}};
  AccessVerdict verdict =
      co_await ReviewToken(client, clock, std::move(token), std::move(asked), kReviewTimeout);
  co_return verdict;
}

}  // namespace

MetricsServerOptions MetricsServerOptionsFromFlags() {
  return {FLAGS_metrics_address, FLAGS_metrics_cert_dir};
}

const Metrics* PublicMetrics(const Metrics& metrics) {
  return FLAGS_metrics_address.empty() ? &metrics : nullptr;
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::New(Executor executor, Clock& clock,
                                                          Client& client, const Metrics& metrics,
                                                          MetricsServerOptions options) {
  std::unique_ptr<MetricsServer> metrics_server(new MetricsServer(client, clock, metrics));
  if (options.address.empty()) return metrics_server;
  HttpsServerOptions server_options{.address = options.address,
                                    .certificate_file = options.cert_dir + "/tls.crt",
                                    .key_file = options.cert_dir + "/tls.key",
                                    .max_connections = 64};
  server_options.limits.body_bytes = 1024;
  Result<std::unique_ptr<HttpsServer>> server =
      HttpsServer::New(std::move(executor), clock, std::move(server_options));
  if (!server) return server.error().Prefix("--metrics-address, --metrics-cert-dir");
  metrics_server->server_ = std::move(*server);
  MetricsServer* self = metrics_server.get();
  self->server_->Handle("GET", "/metrics",
                        [self](HttpCall call) { return self->Answer(std::move(call)); });
  return metrics_server;
}

MetricsServer::MetricsServer(Client& client, Clock& clock, const Metrics& metrics)
    : metrics_(metrics), access_(clock, [&client, &clock](std::string token) {
        return MayReadMetrics(client, clock, std::move(token));
      }) {}

Async<HttpReply> MetricsServer::Answer(HttpCall call) {
  TokenAccess::Verdict verdict = co_await access_.Check(std::move(call.authorization));
  if (verdict.status != 200) co_return FailureReply(verdict.status, verdict.reason);
  co_return MetricsReply(metrics_);
}

asio::awaitable<void> MetricsServer::Run() {
  if (server_ != nullptr) co_await server_->Run();
}

asio::awaitable<void> MetricsServer::Drain(Duration grace) {
  if (server_ == nullptr) co_return;
  Result<> drained = co_await server_->Drain(grace);
  LOG_IF(WARNING, !drained) << "drain: " << drained.error();
}

}  // namespace kube
