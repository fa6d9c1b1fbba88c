// SPDX-License-Identifier: Apache-2.0
// DebugServer: says over TLS why a Placement selects the clusters that it selects.
//
//   GET  /debug/placements/NAMESPACE/NAME   about the stored Placement
//   POST /debug/placements/NAMESPACE/NAME   about the Placement in the body, at most 1 MiB, if it
//                                           were there; nothing is written
//
// The client's bearer token must have the right to get, or to create, that Placement. A failure is
// {"error": "..."} with status 400, 401, 403, 404, 405, 413 or 500. Off without an address.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "fleet/hub/debug_access.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/server/https_server.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace fleet {

// What the server answers with. Thread: the server's.
class DebugAnswers {
 public:
  virtual ~DebugAnswers() = default;

  // The answer about a Placement that exists, or about `simulated` in its place, if there is any.
  // Errors: kNotFound (there is none), kInvalid (`simulated` is not a Placement), kUnavailable (not
  // the leader, or the caches are not complete yet).
  virtual kube::Async<kube::Json> Answer(kube::ObjectKey placement,
                                         std::optional<kube::Json> simulated) = 0;
};

struct DebugServerOptions {
  // As HttpsServerOptions::address; empty: off.
  std::string address;
  // The folder of tls.crt and tls.key.
  std::string cert_dir;
};

class DebugServer {
 public:
  // All outlive the server. Errors: those of HttpsServer::New().
  static kube::Result<std::unique_ptr<DebugServer>> New(kube::Executor executor, kube::Clock& clock,
                                                        kube::Client& client, DebugAnswers& answers,
                                                        DebugServerOptions options);

  // 0 if it is off.
  uint16_t port() const { return server_ == nullptr ? 0 : server_->port(); }
  // Serves until Drain() or cancellation.
  boost::asio::awaitable<void> Run();
  // As HttpsServer::Drain(); an error is logged.
  boost::asio::awaitable<void> Drain(kube::Duration grace);

 private:
  DebugServer(kube::Client& client, kube::Clock& clock, DebugAnswers& answers)
      : access_(client, clock), answers_(answers) {}
  kube::Async<kube::HttpReply> Handle(kube::HttpCall call);

  DebugAccess access_;
  DebugAnswers& answers_;
  std::unique_ptr<kube::HttpsServer> server_;
};

}  // namespace fleet
