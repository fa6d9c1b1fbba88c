// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/http_server.h"

namespace sim {

HttpServer::HttpServer(Services& services, Life& life, ServedAs as)
    : services_(services), life_(life), as_(std::move(as)), tasks_(life.app().executor()) {}

void HttpServer::Handle(std::string_view path, kube::HttpHandler handler) {
  routes_.emplace_back(path, std::move(handler));
}

void HttpServer::Open(std::function<std::string()> certificate_pem) {
  certificate_pem_ = std::move(certificate_pem);
  services_.Add(as_.ns, as_.service, as_.process, life_, *this);
}

kube::Async<> HttpServer::Drain() {
  services_.Remove(*this);
  kube::Duration grace = life_.app().grace_left();
  co_return co_await tasks_.Stop(life_.clock(), grace);
}

void HttpServer::Serve(kube::HttpCall call, std::function<void(kube::HttpReply)> reply) {
  tasks_.Spawn("call", Answer(std::move(call), std::move(reply)));
  life_.lane().Wake();
}

kube::asio::awaitable<void> HttpServer::Answer(kube::HttpCall call,
                                               std::function<void(kube::HttpReply)> reply) {
  co_await kube::IgnoreCancellation();
  co_await kube::FinishWhenStopped();
  for (const auto& [path, handler] : routes_) {
    bool matches = path.ends_with('/') ? call.path.starts_with(path) : call.path == path;
    if (!matches) continue;
    kube::Async<kube::HttpReply> handling = handler(std::move(call));
    kube::Result<kube::HttpReply> answer = co_await std::move(handling);
    reply(answer ? std::move(*answer) : kube::FailureReply(500, answer.error().ToString()));
    co_return;
  }
  reply(kube::FailureReply(404, "no such path"));
}

kube::Async<kube::HttpReply> AnswerNow(kube::HttpReply reply) { co_return reply; }

}  // namespace sim
