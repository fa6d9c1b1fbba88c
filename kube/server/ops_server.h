// SPDX-License-Identifier: Apache-2.0
// OpsServer: serves /healthz, /readyz and /metrics of a process over plain HTTP on
// --health-address. Start it first and drain it last: probes and scrapes then work during startup
// and shutdown, as in a Program (kube/program).
//
//   HealthRegistry health;
//   auto ops = NewOpsServer(app.executor(), app.clock(), FLAGS_health_address, health, &metrics);
//   app.tasks().Spawn("ops-server", (*ops)->Run());
#pragma once

#include <gflags/gflags_declare.h>

#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/metrics/metrics.h"
#include "kube/server/health.h"
#include "kube/server/http_message.h"
#include "kube/server/https_server.h"

DECLARE_string(health_address);

namespace kube {

// `health` and `metrics` must outlive the server. Without `metrics` it serves no /metrics: see
// metrics_server.h.
Result<std::unique_ptr<HttpsServer>> NewOpsServer(Executor executor, Clock& clock,
                                                  const std::string& address,
                                                  const HealthRegistry& health,
                                                  const Metrics* metrics);

// The answer to GET /metrics.
HttpReply MetricsReply(const Metrics& metrics);

}  // namespace kube
