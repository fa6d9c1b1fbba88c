// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/http_api_server.h"

#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "kube/codec/content_type.h"
#include "kube/types/unstructured.h"

namespace kube {
namespace {

int StatusOf(Code code) {
  static const std::map<Code, int> statuses = {
      {Code::kNotFound, 404},  {Code::kAlreadyExists, 409},    {Code::kConflict, 409},
      {Code::kExpired, 410},   {Code::kInvalid, 422},          {Code::kUnauthenticated, 401},
      {Code::kThrottled, 429}, {Code::kPermissionDenied, 403}, {Code::kUnavailable, 503}};
  auto found = statuses.find(code);
  return found == statuses.end() ? 500 : found->second;
}

std::string StatusBody(const Error& error) {
  Json status = {{"kind", "Status"},         {"apiVersion", "v1"},
                 {"status", "Failure"},      {"message", error.message()},
                 {"reason", error.reason()}, {"code", StatusOf(error.code())}};
  return DumpJson(status);
}

Method MethodOf(std::string_view name) {
  for (Method method : {Method::kPost, Method::kPut, Method::kPatch, Method::kDelete}) {
    if (MethodName(method) == name) return method;
  }
  return Method::kGet;
}

// One chunk of an HTTP body: the frame with what separates frames of its encoding.
std::string Chunk(std::string frame, bool protobuf) {
  if (protobuf) {
    std::string length;
    for (int shift : {24, 16, 8, 0}) length += static_cast<char>(frame.size() >> shift);
    frame = length + frame;
  } else {
    frame += "\n";
  }
  char size[20];
  snprintf(size, sizeof size, "%zx\r\n", frame.size());
  return size + frame + "\r\n";
}

asio::awaitable<void> ServeWatch(FakeApiServer& api, ScriptedPeer& peer, ApiRequest request) {
  bool protobuf = request.accept.find("protobuf") != std::string::npos;
  std::string type = request.accept;
  Result<std::unique_ptr<WatchStream>> stream = co_await api.Watch(std::move(request));
  if (!stream) {
    std::string body = StatusBody(stream.error());
    std::string fields = "Content-Type: application/json\r\n";
    co_await peer.Reply(StatusOf(stream.error().code()), std::move(body), std::move(fields));
    co_return;
  }
  std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\nTransfer-Encoding: chunked\r\n\r\n";
  bool open = co_await peer.Write(std::move(head));
  while (open) {
    Result<std::optional<std::string>> frame = co_await (*stream)->Next();
    if (!frame || !*frame) break;
    std::string chunk = Chunk(std::move(**frame), protobuf);
    open = co_await peer.Write(std::move(chunk));
  }
}

asio::awaitable<void> Serve(FakeApiServer& api, ScriptedPeer& peer) {
  while (true) {
    std::optional<ScriptedRequest> request = co_await peer.ReadRequest();
    if (!request) co_return;
    ApiRequest call{.method = MethodOf(request->method),
                    .target = request->target,
                    .content_type = request->Header("Content-Type"),
                    .accept = request->Header("Accept"),
                    .body = request->body};
    if (call.target.find("watch=true") != std::string::npos) {
      co_await ServeWatch(api, peer, std::move(call));
      co_return;
    }
    std::string accept = call.accept;
    Result<ApiResponse> response = co_await api.Call(std::move(call));
    int status = response ? response->status : StatusOf(response.error().code());
    std::string body = response ? response->body : StatusBody(response.error());
    std::string type = response ? accept : std::string(kJson);
    std::string fields = "Content-Type: " + type + "\r\n";
    bool written = co_await peer.Reply(status, std::move(body), std::move(fields));
    if (!written) co_return;
  }
}

}  // namespace

HttpApiServer::HttpApiServer(const std::string& folder) : kubeconfig_(folder + "/kubeconfig") {
  server_ =
      std::make_unique<ScriptedServer>(io_.get_executor(), ScriptedServerOptions(),
                                       [this](ScriptedPeer& peer) { return Serve(api_, peer); });
  std::string url = "http://127.0.0.1:" + server_->url().port;
  Json config = {{"current-context", "test"}};
  config["clusters"] = Json::array({{{"name", "test"}, {"cluster", {{"server", url}}}}});
  config["contexts"] =
      Json::array({{{"name", "test"}, {"context", {{"cluster", "test"}, {"user", "test"}}}}});
  config["users"] = Json::array({{{"name", "test"}, {"user", Json::object()}}});
  std::ofstream(kubeconfig_) << DumpJson(config);
  thread_ = std::thread([this] { io_.run(); });
}

HttpApiServer::~HttpApiServer() {
  asio::post(io_, [this] {
    server_.reset();
    work_.reset();
    io_.stop();
  });
  thread_.join();
}

}  // namespace kube
