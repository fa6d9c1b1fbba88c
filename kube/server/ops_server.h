// SPDX-License-Identifier: Apache-2.0
// OpsServer: /healthz, /readyz and /metrics of a process, over plain HTTP on --health-address.
// Every binary has one; it starts first and stops last, so that the kubelet always gets an answer.
#pragma once

#include <gflags/gflags_declare.h>

#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/metrics/metrics.h"
#include "kube/server/health.h"
#include "kube/server/https_server.h"

DECLARE_string(health_address);

namespace kube {

// `health` and `metrics` must outlive the server. Run, Drain and port() as of any HttpsServer.
Result<std::unique_ptr<HttpsServer>> NewOpsServer(Executor executor, Clock& clock,
                                                  const std::string& address,
                                                  const HealthRegistry& health,
                                                  const Metrics& metrics);

}  // namespace kube
