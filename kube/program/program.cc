// SPDX-License-Identifier: Apache-2.0
#include "kube/program/program.h"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include "kube/client/kubeconfig.h"
#include "kube/controller/controller_metrics.h"
#include "kube/server/ops_server.h"

DEFINE_string(
    kubeconfig, "",
    "How to reach the cluster's API server; by default $KUBECONFIG, then the pod's service "
    "account.");

namespace kube {
namespace {

asio::awaitable<void> DrainServer(std::shared_ptr<HttpsServer> server, Duration grace) {
  Result<> drained = co_await server->Drain(grace);
  LOG_IF(WARNING, !drained) << "drain: " << drained.error();
}

Async<> RunWith(App& app, std::string user_agent, std::function<Async<>(Program&)> serve) {
  Program program(app, std::move(user_agent));
  co_return co_await serve(program);
}

}  // namespace

Program::Program(App& app, std::string user_agent)
    : app_(app),
      user_agent_(std::move(user_agent)),
      client_metrics_(metrics_),
      work_(app.executor()) {}

ClientOptions Program::OptionsOfClients() {
  return {.user_agent = user_agent_, .observer = &client_metrics_};
}

Result<> Program::Connect(ConnectOptions options) {
  Result<ClientConfig> config = LoadClientConfig(FLAGS_kubeconfig);
  if (!config) return config.error();
  ClientOptions client_options = OptionsOfClients();
  client_options.max_connections = options.max_connections;
  if (!options.count_calls) client_options.observer = nullptr;
  auto client = NewClient(executor(), clock(), std::move(*config), std::move(client_options));
  if (!client) return client.error();
  client_ = std::move(*client);
  return Ok();
}

Result<> Program::StartOps(const Metrics* metrics) {
  auto ops = NewOpsServer(executor(), clock(), FLAGS_health_address, health_, metrics);
  if (!ops) return ops.error();
  ops_ = std::move(*ops);
  tasks().Spawn("ops-server", ops_->Run());
  return Ok();
}

HttpsServer& Program::AddServer(std::string name, std::unique_ptr<HttpsServer> server) {
  std::shared_ptr<HttpsServer> added = std::move(server);
  tasks().Spawn(std::move(name), added->Run());
  drains_.push_back([added](Duration grace) { return DrainServer(added, grace); });
  return *added;
}

asio::awaitable<void> Program::Lead(LeaseOptions lease, Leadership::NewTerm new_term) {
  lease.on_change = LeaderMetric(metrics_, lease.name);
  Leadership leadership(app_, *client_, std::move(lease));
  co_await leadership.Run(std::move(new_term));
}

Async<> Program::Drain() {
  Result<> ended = co_await app_.EndTasks(work_);
  IgnoreError(ended, "all tasks have ended in any case");
  for (size_t left = drains_.size(); left > 0; --left) {
    Duration grace = app_.grace_left();
    co_await drains_[left - 1](grace);
  }
  ended = co_await app_.EndTasks(tasks());
  IgnoreError(ended, "all tasks have ended in any case");
  Duration grace = app_.grace_left();
  Result<> drained = co_await ops_->Drain(grace);
  LOG_IF(WARNING, !drained) << "drain: " << drained.error();
  co_return Ok();
}

int RunProgram(const AppOptions& options, std::string user_agent,
               std::function<Async<>(Program&)> serve) {
  return RunApp(options, [&](App& app) { return RunWith(app, std::move(user_agent), serve); });
}

}  // namespace kube
