// SPDX-License-Identifier: Apache-2.0
#include "kube/server/ops_server.h"

#include <gflags/gflags.h>

DEFINE_string(
    health_address, ":8080",
    "Where to serve /healthz, /readyz and, unless it is protected, /metrics, as host:port "
    "over plain HTTP.");

namespace kube {
namespace {

using namespace std::chrono_literals;

Async<HttpReply> AnswerHealth(HealthRegistry::Report report) {
  co_return HttpReply{report.healthy ? 200 : 503, "text/plain; charset=utf-8",
                      std::move(report.text)};
}

Async<HttpReply> AnswerMetrics(const Metrics& metrics) { co_return MetricsReply(metrics); }

}  // namespace

Result<std::unique_ptr<HttpsServer>> NewOpsServer(Executor executor, Clock& clock,
                                                  const std::string& address,
                                                  const HealthRegistry& health,
                                                  const Metrics* metrics) {
  // Legitimate clients are few and send their request immediately: a probe may displace any
  // connection without a request.
  HttpsServerOptions options{
      .address = address, .max_connections = 64, .max_silence = 0ms, .max_unfinished = 0ms};
  options.limits.body_bytes = 1024;
  Result<std::unique_ptr<HttpsServer>> server =
      HttpsServer::New(std::move(executor), clock, std::move(options));
  if (!server) return server.error().Prefix("--health-address");
  // Liveness: the event loop runs if this is answered at all.
  (*server)->Handle("GET", "/healthz", [](HttpCall) { return AnswerHealth({.text = "ok\n"}); });
  (*server)->Handle("GET", "/readyz",
                    [&health](HttpCall) { return AnswerHealth(health.Readiness()); });
  if (metrics != nullptr) {
    (*server)->Handle("GET", "/metrics", [metrics](HttpCall) { return AnswerMetrics(*metrics); });
  }
  return server;
}

HttpReply MetricsReply(const Metrics& metrics) {
  return {200, "text/plain; version=0.0.4; charset=utf-8", metrics.Render()};
}

}  // namespace kube
