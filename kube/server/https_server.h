// SPDX-License-Identifier: Apache-2.0
// HttpsServer: an HTTP/1.1 server: over TLS for webhooks, with certificate files that are reloaded
// when they change, or plain for health and metrics.
//
//   Result<std::unique_ptr<HttpsServer>> server =
//       HttpsServer::New(app.executor(), app.clock(), {.address = ":9443", ...});
//   if (!server) co_return server.error();
//   (*server)->Handle("POST", "/mutate", handler);
//   app.tasks().Spawn("server", (*server)->Run());
//   co_await app.WaitForStop();
//   (*server)->Retire();                        // optional: clients reconnect to other replicas
//   co_await (*server)->Drain(app.grace_left());
//
// Bytes, time and number of connections are bounded. At the connection limit a new client displaces
// the least useful connection: first one whose client is too slow in the middle of a request, then
// the one that has been idle longest; never one whose request is being handled. If none can be
// closed yet, new clients wait in the kernel's accept queue: refusing them would leave pods without
// admission.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/server/http_message.h"
#include "kube/server/http_session.h"
#include "kube/server/tls_files.h"

namespace kube {

struct HttpsServerOptions {
  // "0.0.0.0:9443", "[::1]:0" (any free port), or ":9443" for every address of both families.
  std::string address;
  // PEM files; both empty for plain HTTP.
  std::string certificate_file;
  std::string key_file;
  // How often the files are checked for changes.
  std::chrono::milliseconds refresh_interval{2'000};
  size_t max_connections = 256;
  // How long a connection in the middle of a request is kept when new clients need its place: since
  // its client last sent bytes, and in total. Long enough that new connections of a busy API server
  // do not displace each other.
  std::chrono::milliseconds max_silence{250};
  std::chrono::milliseconds max_unfinished{2'000};
  HttpLimits limits;
  // The headers of a request that handlers get (HttpCall::headers).
  std::vector<std::string> kept_headers = {};
  // Called for each request that gets a status from 400 on, with that status; with 408 if the
  // client did not send all of it, or did not take the reply.
  std::function<void(int)> on_refused = [](int) {};
};

class HttpsServer {
 public:
  // Binds, listens and reads the certificate: clients can connect from now on and are served once
  // Run() runs.
  // Errors: kInvalid (not an address, or an invalid certificate), kUnavailable (address in use).
  static Result<std::unique_ptr<HttpsServer>> New(Executor executor, Clock& clock,
                                                  HttpsServerOptions options);
  ~HttpsServer();

  // Handles `method` on `path`, or on all paths with this prefix if it ends in '/'. The first match
  // is used.
  void Handle(std::string method, std::string path, HttpHandler handler);

  // A request whose path `admits` denies gets 404 before its body is read.
  void Admit(std::function<bool(std::string_view path)> admits) {
    context_.admits = std::move(admits);
  }

  // The port it listens on.
  uint16_t port() const { return port_; }
  size_t connections() const { return sessions_.size(); }
  // The certificate that new connections get, as PEM; empty for plain HTTP.
  const std::string& certificate_pem() const { return tls_.certificate_pem(); }
  // Memory reserved for large requests.
  size_t body_bytes() const { return context_.reserved_bytes; }

  // Accepts connections until Drain() or cancellation.
  asio::awaitable<void> Run();
  // From now on every reply asks the client to reconnect; the server continues to serve.
  void Retire() { context_.retiring = true; }
  // Stops accepting, waits up to `grace` for in-flight requests, closes all connections.
  // kDeadlineExceeded if requests were still in flight.
  Async<> Drain(Duration grace);

 private:
  struct Route {
    std::string method;
    std::string path;
    HttpHandler handler;
  };
  using Sessions = std::list<std::unique_ptr<HttpSession>>;

  HttpsServer(Executor executor, Clock& clock, HttpsServerOptions options);
  Result<void> Listen();
  asio::awaitable<HttpReply> Answer(HttpCall call);
  asio::awaitable<void> RefreshCertificate();
  asio::awaitable<void> Serve(Sessions::iterator session);
  // Closes a connection if there is no room for another one. False if none can be closed yet.
  bool MakeRoom();
  // The connection to close for a new one; nullptr if none can be closed yet.
  HttpSession* LeastUseful();
  // True if `session` has waited for its client for longer than max_silence or max_unfinished.
  bool Overdue(const HttpSession& session) const;
  // Closes the overdue connection with the largest reservation.
  void FreeMemory();

  Executor executor_;
  Clock& clock_;
  HttpsServerOptions options_;
  TlsFiles tls_;
  HttpSessionContext context_;
  std::vector<Route> routes_;
  asio::ip::tcp::acceptor acceptor_;
  uint16_t port_ = 0;
  Sessions sessions_;
  TaskGroup tasks_;
};

}  // namespace kube
