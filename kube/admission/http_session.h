// SPDX-License-Identifier: Apache-2.0
// HttpSession: one connection to a server of ours, over TCP or TLS - reads requests, has them handled, writes replies.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "kube/admission/http_message.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace kube {

struct HttpLimits {
  // All header lines together; more is answered 431.
  size_t header_bytes = 16 * 1024;
  // More is answered 413, without reading it all.
  size_t body_bytes = 3 * 1024 * 1024;
  // From the connection to the end of the TLS handshake.
  std::chrono::milliseconds handshake_timeout{10'000};
  // From a request's first byte to its last.
  std::chrono::milliseconds read_timeout{10'000};
  // For a reply to be taken.
  std::chrono::milliseconds write_timeout{10'000};
  // Between requests. Longer than the 90 s after which Go's clients, the API server among them, let go of a connection:
  // if we did it first, a request could just be on its way, and a POST is not sent again.
  std::chrono::milliseconds idle_timeout{150'000};
};

// What all sessions of a server share; outlives them.
struct HttpSessionContext {
  Clock& clock;
  HttpLimits limits;
  // Answers any request; never fails.
  std::function<asio::awaitable<HttpReply>(HttpCall)> answer;
  // While true, replies ask the client to open a new connection, which another server then takes.
  bool retiring = false;
};

class HttpSession {
 public:
  virtual ~HttpSession() = default;

  // Serves the connection until either side closes it.
  virtual asio::awaitable<void> Run() = 0;
  // Closes it now; Run() then ends.
  virtual void Close() = 0;

  // True while nobody waits for a reply.
  bool idle() const { return idle_; }
  TimePoint idle_since() const { return idle_since_; }

 protected:
  bool idle_ = false;
  TimePoint idle_since_{};
};

// Over TLS where `tls` is not null. `context` outlives the session.
std::unique_ptr<HttpSession> NewHttpSession(asio::ip::tcp::socket socket, std::shared_ptr<asio::ssl::context> tls,
                                            HttpSessionContext& context);

}  // namespace kube
