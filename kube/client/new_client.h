// SPDX-License-Identifier: Apache-2.0
// NewClient(): a Client for a real API server.
//
//   Result<ClientConfig> config = LoadClientConfig(FLAGS_kubeconfig);
//   Result<std::unique_ptr<Client>> client =
//       NewClient(executor, clock, *config, {.user_agent = "my-controller/1.0"});
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/client/client_config.h"

namespace kube {

// Called for each HTTP exchange, retries included; for rest_client_requests_total and similar
// metrics.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // `method` as in HTTP ("GET"); `host` with port; `status` 0 without a response.
  virtual void OnCall(std::string_view method, std::string_view host, int status,
                      Duration latency) = 0;
};

struct ClientOptions {
  // The API server also takes the part before the "/" as field manager of updates and patches.
  std::string user_agent = "kube-client";
  // Must outlive the client.
  CallObserver* observer = nullptr;
  // Connections for calls; each watch has its own connection.
  size_t max_connections = 32;
  // The largest response. Every single object fits: etcd stores at most 1.5 MiB, JSON multiplies
  // that by a small factor. ListPages requests a larger page of a list again with fewer objects.
  size_t max_body_bytes = 12 * 1024 * 1024;
  // The largest frame of a watch.
  size_t max_frame_bytes = 12 * 1024 * 1024;
  // The longest time without bytes on a watch. The server sends a bookmark about every minute.
  std::chrono::milliseconds watch_idle_timeout{300'000};
  // Attempts for a throttled call, within its timeout.
  int max_attempts = 5;
};

// Reads the credentials, does not connect yet. `clock` must outlive the client.
// Errors: kInvalid (server or proxy URL, certificates, keys), kNotFound (a file of the config).
Result<std::unique_ptr<Client>> NewClient(Executor executor, Clock& clock, ClientConfig config,
                                          ClientOptions options = {});

}  // namespace kube
