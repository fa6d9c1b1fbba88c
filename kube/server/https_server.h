// SPDX-License-Identifier: Apache-2.0
// HttpsServer: HTTP/1.1 for webhooks, over TLS with certificates that may change under it, or plain
// for health and metrics.
//
//   Result<std::unique_ptr<HttpsServer>> server = HttpsServer::New(app.executor(), app.clock(),
//   {.address = ":9443", ...}); if (!server) co_return server.error();
//   (*server)->Handle("POST", "/mutate", handler);
//   app.tasks().Spawn("server", (*server)->Run());
//   co_await app.WaitForStop();
//   (*server)->Retire();                              // optional: clients move on while replicas
//   take over co_await (*server)->Drain(app.grace_left());
//
// Whatever a client sends is bounded in bytes, in time, and by a number of connections. At that
// number the least useful connection makes room: one whose client keeps the server waiting in the
// middle of a request, then the one that has been idle longest; never one whose request is being
// answered. If none can go yet, new clients wait in the kernel's queue for a moment, as a webhook
// that refuses leaves pods ungated.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <list>
#include <memory>
#include <string>
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
  // How often the files are looked at.
  std::chrono::milliseconds refresh_interval{2'000};
  size_t max_connections = 256;
  // For how long a connection that is in the middle of a request stays although another client
  // wants its place: since its client last sent anything, and in all. A busy API server's new
  // connections are not closed for its next ones.
  std::chrono::milliseconds max_silence{250};
  std::chrono::milliseconds max_unfinished{2'000};
  HttpLimits limits;
};

class HttpsServer {
 public:
  // Binds, listens and reads the certificate: a client that connects from now on is served once
  // Run() runs. Errors: kInvalid for an address or a certificate that is none, kUnavailable if the
  // address is taken.
  static Result<std::unique_ptr<HttpsServer>> New(Executor executor, Clock& clock,
                                                  HttpsServerOptions options);
  ~HttpsServer();

  // Serves `method` on `path`, or on everything below it if it ends in '/'. The first match wins.
  void Handle(std::string method, std::string path, HttpHandler handler);

  // Where it listens.
  uint16_t port() const { return port_; }
  size_t connections() const { return sessions_.size(); }
  // Reserved for large requests.
  size_t body_bytes() const { return context_.reserved_bytes; }

  // Accepts connections until Drain() or cancellation.
  asio::awaitable<void> Run();
  // From now on every reply asks its client to come back on a new connection; everything else stays
  // as it is.
  void Retire() { context_.retiring = true; }
  // Stops accepting, lets requests under way end within `grace`, closes everything.
  // kDeadlineExceeded if requests had to be cut off.
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
  // True if there is room for another connection.
  bool MakeRoom();
  // For MakeRoom(); nullptr if every connection keeps its place for now.
  HttpSession* LeastUseful();
  // True if `session` waits for its client, and has done so for longer than it may if others want
  // its place.
  bool Overdue(const HttpSession& session) const;
  // Of the overdue connections closes the one with the largest reservation.
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
