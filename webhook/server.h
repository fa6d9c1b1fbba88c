// SPDX-License-Identifier: Apache-2.0
// The TLS server that all modes share: --address, --cert-dir, --drain-delay.
#pragma once

#include <memory>

#include "kube/base/async.h"
#include "kube/program/program.h"
#include "kube/server/https_server.h"

namespace webhook {

// Not started yet. Adds the metrics of its certificate and of refused
// requests, and a readiness check that fails once the program
// is stopping. Errors: those of HttpsServer::New().
kube::Result<std::unique_ptr<kube::HttpsServer>> NewServer(kube::Program& program);

// The beginning of the drain: a request that reaches no replica leaves its object unchanged.
// Therefore the server first asks its clients to reconnect, and still accepts connections until the
// endpoints are updated on all nodes. Errors: kCancelled.
kube::Async<> Retire(kube::Program& program, kube::HttpsServer& server);

}  // namespace webhook
