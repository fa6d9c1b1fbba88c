// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/debug_server.h"

#include <glog/logging.h>

#include <string_view>
#include <utility>

#include "kube/types/object_name.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Code;
using kube::HttpReply;
using kube::Json;
using kube::Result;

constexpr std::string_view kPath = "/debug/placements/";
constexpr size_t kMaxBody = 1 << 20;

std::string TextOf(const Json& json) { return kube::DumpJson(json); }

HttpReply Failure(int status, std::string message) {
  return {.status = status, .body = TextOf({{"error", std::move(message)}})};
}

// The NAMESPACE/NAME of the path; nullopt for another one.
std::optional<kube::ObjectKey> PlacementOf(std::string_view path) {
  path.remove_prefix(kPath.size());
  size_t slash = path.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  kube::ObjectKey key{std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
  if (!kube::IsObjectName(key.ns) || !kube::IsObjectName(key.name)) return std::nullopt;
  return key;
}

int StatusOf(Code code) {
  if (code == Code::kNotFound) return 404;
  return code == Code::kInvalid ? 400 : 500;
}

}  // namespace

Result<std::unique_ptr<DebugServer>> DebugServer::New(kube::Executor executor, kube::Clock& clock,
                                                      kube::Client& client, DebugAnswers& answers,
                                                      DebugServerOptions options) {
  std::unique_ptr<DebugServer> debug(new DebugServer(client, clock, answers));
  if (options.address.empty()) return debug;
  kube::HttpsServerOptions server_options{.address = options.address,
                                          .certificate_file = options.cert_dir + "/tls.crt",
                                          .key_file = options.cert_dir + "/tls.key",
                                          .max_connections = 16};
  server_options.limits.body_bytes = kMaxBody;
  server_options.limits.total_body_bytes = 4 * kMaxBody;
  Result<std::unique_ptr<kube::HttpsServer>> server =
      kube::HttpsServer::New(std::move(executor), clock, std::move(server_options));
  if (!server) return server.error().Prefix("--debug-address, --debug-cert-dir");
  debug->server_ = std::move(*server);
  DebugServer* self = debug.get();
  // Other methods are answered here too, in this server's format.
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}) {
    self->server_->Handle(method, std::string(kPath),
                          [self](kube::HttpCall call) { return self->Handle(std::move(call)); });
  }
  return debug;
}

Async<HttpReply> DebugServer::Handle(kube::HttpCall call) {
  if (call.method != "GET" && call.method != "POST")
    co_return Failure(405, "the methods are GET and POST");
  std::optional<kube::ObjectKey> placement = PlacementOf(call.path);
  if (!placement) co_return Failure(404, "the path is /debug/placements/NAMESPACE/NAME");
  bool simulated = call.method == "POST";
  std::string verb = simulated ? "create" : "get";
  kube::AccessVerdict verdict =
      co_await access_.Check(std::move(call.authorization), std::move(verb), *placement);
  if (verdict.status != 200) co_return Failure(verdict.status, std::move(verdict.reason));

  std::optional<Json> body;
  if (simulated) {
    Result<Json> parsed = kube::ParseJson(call.body);
    if (!parsed || !parsed->is_object())
      co_return Failure(400, "the body must be a Placement as JSON");
    body = std::move(*parsed);
  }
  kube::ObjectKey key = *placement;
  Result<Json> answer = co_await answers_.Answer(std::move(key), std::move(body));
  if (!answer) co_return Failure(StatusOf(answer.error().code()), answer.error().message());
  co_return HttpReply{.body = TextOf(*answer)};
}

boost::asio::awaitable<void> DebugServer::Run() {
  if (server_ != nullptr) co_await server_->Run();
}

boost::asio::awaitable<void> DebugServer::Drain(kube::Duration grace) {
  if (server_ == nullptr) co_return;
  Result<> drained = co_await server_->Drain(grace);
  LOG_IF(WARNING, !drained) << "drain: " << drained.error();
}

}  // namespace fleet
