// SPDX-License-Identifier: Apache-2.0
// HttpSession: one TCP or TLS connection of an HttpsServer: reads requests, calls the handler,
// writes replies. Internal to kube/server.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/server/http_message.h"

namespace kube {

struct HttpLimits {
  // The limit for the whole header; a larger one is answered with 431.
  size_t header_bytes = 16 * 1024;
  // A larger body is answered with 413, without reading all of it.
  size_t body_bytes = 3 * 1024 * 1024;
  // Sum over all connections; small bodies are not counted.
  size_t total_body_bytes = 8 * 1024 * 1024;
  // From the connection to the end of the TLS handshake.
  std::chrono::milliseconds handshake_timeout{3'000};
  // From a request's first byte to the end of its header.
  std::chrono::milliseconds header_timeout{3'000};
  // A body or a reply may take `transfer_grace` plus its size divided by `transfer_rate` (bytes per
  // second).
  std::chrono::milliseconds transfer_grace{2'000};
  size_t transfer_rate = 512 * 1024;
  // Between requests. Longer than the 90 s after which Go clients such as the API server close an
  // idle connection: if the server closed first, it could do so while a POST is in flight, which is
  // not retried.
  std::chrono::milliseconds idle_timeout{150'000};
};

// State shared by all sessions of a server; outlives them.
struct HttpSessionContext {
  Clock& clock;
  HttpLimits limits;
  // Handles any request; never fails.
  std::function<asio::awaitable<HttpReply>(HttpCall)> answer;
  // As HttpsServerOptions::on_refused.
  std::function<void(int)> on_refused;
  // Called when a body would exceed total_body_bytes: closes an overdue connection, if there is
  // one.
  std::function<void()> free_memory;
  // While true, replies ask the client to open a new connection, which may reach another replica.
  bool retiring = false;
  // Memory reserved for bodies that are being read or handled.
  size_t reserved_bytes = 0;
  // As HttpsServerOptions::kept_headers.
  std::vector<std::string> kept_headers = {};
  // If set, a request whose path is not admitted gets 404 before its body is read.
  std::function<bool(std::string_view path)> admits = {};
};

class HttpSession {
 public:
  enum class Phase {
    kReceiving,  // waits for the rest of a handshake or of a request
    kAnswering,  // waits for the handler
    kReplying,   // waits for the client to receive the reply
    kIdle,       // waits for the first byte of a request
    kClosing,    // waits for the client to close after the last reply
  };

  virtual ~HttpSession() = default;

  // Serves requests until either side closes the connection.
  virtual asio::awaitable<void> Run() = 0;
  // Closes the connection; Run() then ends.
  virtual void Close() = 0;
  // True if there is no unread data from the client.
  virtual bool Quiet() const = 0;

  Phase phase() const { return phase_; }
  // Start of the current phase.
  TimePoint since() const { return since_; }
  // When the client last connected or sent bytes.
  TimePoint last_seen() const { return last_seen_; }
  // True once a request was answered.
  bool served() const { return served_; }
  bool closed() const { return closed_; }
  // This session's part of HttpSessionContext::reserved_bytes.
  size_t reserved_bytes() const { return reserved_; }

 protected:
  Phase phase_ = Phase::kReceiving;
  TimePoint since_{};
  TimePoint last_seen_{};
  bool served_ = false;
  bool closed_ = false;
  size_t reserved_ = 0;
};

// Uses TLS if `tls` is not null. `context` outlives the session.
std::unique_ptr<HttpSession> NewHttpSession(asio::ip::tcp::socket socket,
                                            std::shared_ptr<asio::ssl::context> tls,
                                            HttpSessionContext& context);

}  // namespace kube
