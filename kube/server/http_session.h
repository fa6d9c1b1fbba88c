// SPDX-License-Identifier: Apache-2.0
// HttpSession: one connection to a server of ours, over TCP or TLS - reads requests, has them
// handled, writes replies.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/server/http_message.h"

namespace kube {

struct HttpLimits {
  // All header lines together; more is answered 431.
  size_t header_bytes = 16 * 1024;
  // More is answered 413, without reading it all.
  size_t body_bytes = 3 * 1024 * 1024;
  // Of all connections together; a body of few bytes does not count.
  size_t total_body_bytes = 8 * 1024 * 1024;
  // From the connection to the end of the TLS handshake.
  std::chrono::milliseconds handshake_timeout{3'000};
  // From a request's first byte to the end of its header.
  std::chrono::milliseconds header_timeout{3'000};
  // A body, and a reply, may take `transfer_grace` and what its bytes take at `transfer_rate` a
  // second.
  std::chrono::milliseconds transfer_grace{2'000};
  size_t transfer_rate = 512 * 1024;
  // Between requests. Longer than the 90 s after which Go's clients, the API server among them,
  // close a connection: if the server did it first, a request could just be on its way, and a POST
  // is not sent again.
  std::chrono::milliseconds idle_timeout{150'000};
};

// What all sessions of a server share; outlives them.
struct HttpSessionContext {
  Clock& clock;
  HttpLimits limits;
  // Answers any request; never fails.
  std::function<asio::awaitable<HttpReply>(HttpCall)> answer;
  // Called where a body would exceed total_body_bytes: closes what deserves its memory least, if
  // there is anything.
  std::function<void()> free_memory;
  // While true, replies ask the client to open a new connection, which another server then takes.
  bool retiring = false;
  // Reserved for bodies that are being read or answered.
  size_t reserved_bytes = 0;
};

class HttpSession {
 public:
  enum class Phase {
    kReceiving,  // waits for the client: the rest of its handshake or of a request
    kAnswering,  // waits for the handler
    kReplying,   // waits for the client, which has to take the reply
    kIdle,       // waits for a request, of which no byte has come
    kLeaving,    // waits for the client to close: it has the last reply
  };

  virtual ~HttpSession() = default;

  // Serves the connection until either side closes it.
  virtual asio::awaitable<void> Run() = 0;
  // Closes it now; Run() then ends.
  virtual void Close() = 0;
  // Nothing came from the client that was not read.
  virtual bool Quiet() const = 0;

  Phase phase() const { return phase_; }
  // When this phase began.
  TimePoint since() const { return since_; }
  // When the client last did something: connected, or sent bytes.
  TimePoint last_seen() const { return last_seen_; }
  // True once a request was answered.
  bool served() const { return served_; }
  bool closed() const { return closed_; }
  // What it holds of HttpSessionContext::reserved_bytes.
  size_t reserved_bytes() const { return reserved_; }

 protected:
  Phase phase_ = Phase::kReceiving;
  TimePoint since_{};
  TimePoint last_seen_{};
  bool served_ = false;
  bool closed_ = false;
  size_t reserved_ = 0;
};

// Over TLS where `tls` is not null. `context` outlives the session.
std::unique_ptr<HttpSession> NewHttpSession(asio::ip::tcp::socket socket,
                                            std::shared_ptr<asio::ssl::context> tls,
                                            HttpSessionContext& context);

}  // namespace kube
