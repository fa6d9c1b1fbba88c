// SPDX-License-Identifier: Apache-2.0
#include "kube/program/protected_metrics.h"

#include "kube/server/metrics_server.h"

namespace kube {

Result<> AddMetricsServer(Program& program) {
  auto server = MetricsServer::New(program.executor(), program.clock(), program.client(),
                                   program.metrics(), MetricsServerOptionsFromFlags());
  if (!server) return server.error();
  program.AddServer("metrics-server", std::move(*server));
  return Ok();
}

}  // namespace kube
