// SPDX-License-Identifier: Apache-2.0
// Program: what all programs that serve have in common: the client for --kubeconfig, health and
// metrics on --health-address, leadership, and the drain.
//
//   Async<> Serve(Program& program) {
//     Result<> connected = program.Connect();
//     if (!connected) co_return connected.error();
//     PodLabeler labeler(program.client(), program.clock(), program.metrics());
//     program.health().AddReadiness("cache", [&] { return labeler.Ready(); });
//     Result<> started = program.StartOps(&program.metrics());
//     if (!started) co_return started.error();
//     Leadership::NewTerm new_term = [&](TaskGroup&, Client& client) {
//       return labeler.NewTerm(client);
//     };
//     co_await program.Lead({.ns = "system", .name = "pod-labeler"}, std::move(new_term));
//     co_return co_await program.Drain();  // before the destruction of `labeler`
//   }
//   int main(int argc, char** argv) {
//     return kube::RunProgram({.name = "pod-labeler", .summary = "Labels pods.", .version = "1.0",
//                              .argc = argc, .argv = argv}, "pod-labeler/1.0", Serve);
//   }
//
// Signals, the grace of a shutdown and exit codes are those of App. Thread: one, of RunProgram().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/client/client_metrics.h"
#include "kube/client/new_client.h"
#include "kube/controller/leader_election.h"
#include "kube/controller/leadership.h"
#include "kube/metrics/metrics.h"
#include "kube/server/health.h"
#include "kube/server/https_server.h"

namespace kube {

struct ConnectOptions {
  size_t max_connections = ClientOptions().max_connections;
  // Whether metrics() count the calls.
  bool count_calls = true;
};

class Program {
 public:
  // `user_agent`: of its clients. `app` outlives this.
  Program(App& app, std::string user_agent);

  App& app() { return app_; }
  Executor executor() { return app_.executor(); }
  Clock& clock() { return app_.clock(); }
  Metrics& metrics() { return metrics_; }
  HealthRegistry& health() { return health_; }

  // Creates client(), for the API server that --kubeconfig names. Errors: those of NewClient() and
  // LoadClientConfig().
  Result<> Connect(ConnectOptions options = {});
  // Only after Connect().
  Client& client() { return *client_; }
  // For clients of other API servers: the program's user agent, and metrics of the calls.
  ClientOptions OptionsOfClients();

  // Starts /healthz and /readyz, and /metrics unless `metrics` is nullptr. Started first and
  // drained last: probes get an answer during startup and shutdown. Errors: kInvalid, kUnavailable.
  Result<> StartOps(const Metrics* metrics);
  // Only after StartOps().
  uint16_t ops_port() const { return ops_->port(); }

  // Tasks that end before the servers are drained, such as those whose writes call these servers.
  TaskGroup& work() { return work_; }
  // Tasks that end after the servers are drained.
  TaskGroup& tasks() { return app_.tasks(); }

  // Runs `server`, which Drain() drains, the last one first. `name`: of its task.
  HttpsServer& AddServer(std::string name, std::unique_ptr<HttpsServer> server);
  // The same for a class with an HttpsServer, whose Drain() logs its errors.
  template <class Server>
  Server& AddServer(std::string name, std::unique_ptr<Server> server) {
    std::shared_ptr<Server> added = std::move(server);
    tasks().Spawn(std::move(name), added->Run());
    drains_.push_back([added](Duration grace) { return added->Drain(grace); });
    return *added;
  }

  // Works in terms of leadership until the program is asked to stop; the metric of `lease` says
  // whether this process leads.
  asio::awaitable<void> Lead(LeaseOptions lease, Leadership::NewTerm new_term);

  // Ends the program in order: work(), the servers, tasks(), then health and metrics. Errors are
  // logged.
  Async<> Drain();

 private:
  App& app_;
  std::string user_agent_;
  Metrics metrics_;
  ClientMetrics client_metrics_;
  std::unique_ptr<Client> client_;
  HealthRegistry health_;
  TaskGroup work_;
  std::unique_ptr<HttpsServer> ops_;
  std::vector<std::function<asio::awaitable<void>(Duration grace)>> drains_;
};

// RunApp() with a Program, which is destroyed after `serve` has returned.
int RunProgram(const AppOptions& options, std::string user_agent,
               std::function<Async<>(Program&)> serve);

}  // namespace kube
