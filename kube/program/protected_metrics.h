// SPDX-License-Identifier: Apache-2.0
// The server of --metrics-address as a part of a Program (kube/server/metrics_server.h).
//
//   Result<> started = program.StartOps(PublicMetrics(program.metrics()));
//   ...
//   Result<> added = AddMetricsServer(program);
#pragma once

#include "kube/base/error.h"
#include "kube/program/program.h"

namespace kube {

// Asks program.client() who may read the metrics. Without --metrics-address it serves nothing.
// Errors: those of MetricsServer::New().
Result<> AddMetricsServer(Program& program);

}  // namespace kube
