// SPDX-License-Identifier: Apache-2.0
// HttpServer: what a kube::HttpsServer is to a program, in a process of the simulation.
//
//   HttpServer server(services, life, {.ns = "shop", .service = "...", .process = "..."});
//   server.Handle("/local/", handler);
//   server.Open([&] { return mount.Certificate(); });
//   co_await life.app().WaitForStop();
//   co_await server.Drain();
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/task_group.h"
#include "kube/server/http_message.h"
#include "sim/base/process.h"
#include "sim/cluster/services.h"

namespace sim {

struct ServedAs {
  // The Service.
  std::string ns, service;
  // As Faults know the process.
  std::string process;
};

class HttpServer final : public Endpoint {
 public:
  // Both outlive it.
  HttpServer(Services& services, Life& life, ServedAs as);
  ~HttpServer() override { services_.Remove(*this); }

  // Handles POST on `path`, or on all paths with this prefix if it ends in '/'. The first match is
  // used.
  void Handle(std::string_view path, kube::HttpHandler handler);
  // Ready while `ready` says so; always by default.
  void ReadyIf(std::function<bool()> ready) { ready_ = std::move(ready); }
  // Serves from now on. `certificate_pem`: what its files have.
  void Open(std::function<std::string()> certificate_pem);
  // Accepts no call from now on, and waits for those in flight.
  kube::Async<> Drain();

  // Endpoint
  bool IsReady() const override { return ready_(); }
  std::string certificate_pem() const override { return certificate_pem_(); }
  void Serve(kube::HttpCall call, std::function<void(kube::HttpReply)> reply) override;

 private:
  kube::asio::awaitable<void> Answer(kube::HttpCall call,
                                     std::function<void(kube::HttpReply)> reply);

  Services& services_;
  Life& life_;
  ServedAs as_;
  std::vector<std::pair<std::string, kube::HttpHandler>> routes_;
  std::function<bool()> ready_ = [] { return true; };
  std::function<std::string()> certificate_pem_;
  kube::TaskGroup tasks_;
};

// For a handler that has its answer at once.
kube::Async<kube::HttpReply> AnswerNow(kube::HttpReply reply);

}  // namespace sim
