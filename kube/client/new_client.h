// SPDX-License-Identifier: Apache-2.0
// NewClient(): the Client that talks to a real API server.
//
//   Result<ClientConfig> config = LoadClientConfig(FLAGS_kubeconfig);
//   Result<std::unique_ptr<Client>> client = NewClient(executor, clock, *config, {.name =
//   "webhook"});
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

// Told of every HTTP exchange, tries that are repeated included; for rest_client_requests_total and
// its like.
class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // `method` as in HTTP ("GET"); `host` with port; `status` 0 if there was no answer.
  virtual void OnCall(std::string_view method, std::string_view host, int status,
                      Duration latency) = 0;
};

struct ClientOptions {
  // The binary's name, for the User-Agent "multiarch-pod-placement/NAME".
  std::string name = "client";
  // Must outlive the client.
  CallObserver* observer = nullptr;
  // Connections of calls; watches have their own.
  size_t max_connections = 32;
  // The largest answer. One object always fits: etcd keeps none larger than 1.5 MiB, which JSON may
  // make some times as much of. A page of a list that does not is asked for again with fewer
  // objects (see ListPages).
  size_t max_body_bytes = 12 * 1024 * 1024;
  // The largest frame of a watch.
  size_t max_frame_bytes = 12 * 1024 * 1024;
  // The longest silence of a watch. With bookmarks the server speaks every minute.
  std::chrono::milliseconds watch_idle_timeout{300'000};
  // How often a throttled call is tried in all, within its timeout.
  int max_tries = 5;
};

// Reads the credentials, connects to nothing yet. `clock` must outlive the client.
// Errors: kInvalid (server or proxy URL, certificates, keys), kNotFound (a file that the config
// names).
Result<std::unique_ptr<Client>> NewClient(Executor executor, Clock& clock, ClientConfig config,
                                          ClientOptions options = {});

}  // namespace kube
