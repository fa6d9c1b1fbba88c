// SPDX-License-Identifier: Apache-2.0
// MetricsServer: /metrics over TLS on --metrics-address, for clients that the API server allows to
// `get` this non-resource URL. Without that flag it serves nothing, and the OpsServer serves
// /metrics to every client.
//
//   auto metrics_server = MetricsServer::New(app.executor(), app.clock(), *client, metrics,
//                                            MetricsServerOptionsFromFlags());
//   app.tasks().Spawn("metrics-server", (*metrics_server)->Run());
//   ...
//   co_await (*metrics_server)->Drain(app.grace_left());
#pragma once

#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/metrics/metrics.h"
#include "kube/server/https_server.h"
#include "kube/server/token_access.h"

namespace kube {

struct MetricsServerOptions {
  // As HttpsServerOptions::address; empty: off.
  std::string address;
  // The folder of tls.crt and tls.key.
  std::string cert_dir;
};

// --metrics-address and --metrics-cert-dir.
MetricsServerOptions MetricsServerOptionsFromFlags();

// `metrics` if every client may read them on --health-address, nullptr if a MetricsServer serves
// them.
const Metrics* PublicMetrics(const Metrics& metrics);

class MetricsServer {
 public:
  // `clock`, `client` and `metrics` outlive the server. Errors: those of HttpsServer::New().
  static Result<std::unique_ptr<MetricsServer>> New(Executor executor, Clock& clock, Client& client,
                                                    const Metrics& metrics,
                                                    MetricsServerOptions options);

  // 0 if it is off.
  uint16_t port() const { return server_ == nullptr ? 0 : server_->port(); }
  // Serves until Drain() or cancellation.
  asio::awaitable<void> Run();
  // As HttpsServer::Drain(); an error is logged.
  asio::awaitable<void> Drain(Duration grace);

 private:
  MetricsServer(Client& client, Clock& clock, const Metrics& metrics);
  Async<HttpReply> Answer(HttpCall call);

  const Metrics& metrics_;
  TokenAccess access_;
  std::unique_ptr<HttpsServer> server_;
};

}  // namespace kube
