// SPDX-License-Identifier: Apache-2.0
// HttpPool: calls to one origin over kept-alive HTTP/1.1 connections. No redirects, no compression,
// no cookies.
//
//   std::unique_ptr<HttpPool> pool = HttpPool::New(executor, clock, Origin::Of(*url), {});
//   Result<HttpResponse> response = co_await pool->Call({.method = "GET", .target = url->target});
//
// The peer may be hostile: time, header and body of every response are bounded. A response of any
// status is a result, not an Error. A cancelled call closes its connection. Calls must end before
// the pool is destroyed; streams may outlive it. Thread: the executor's; not thread-safe.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/slots.h"
#include "kube/http/resolve.h"
#include "kube/http/tls.h"
#include "kube/http/url.h"

namespace kube {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpResponse;

// Gets the body of a response to a call, which then is not kept in memory.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // Status and headers of a response, before its body. False: HttpResponse::body gets it as usual.
  // A call that is sent twice may begin twice.
  virtual bool Begin(const HttpResponse& header) = 0;
  // The next piece, about 16 KiB at most. False: the call ends early, and its connection closes.
  virtual bool Add(std::string_view piece) = 0;
};

struct HttpRequest {
  std::string method = "GET";
  // Path and query, percent-encoded.
  std::string target = "/";
  // Host and Content-Length are added; a Host given here takes precedence.
  HttpHeaders headers;
  std::string body;
  // From the call to the last byte of the response (stream: of its header), including the wait for
  // a connection.
  std::chrono::milliseconds timeout{30'000};
  // A larger body is kInvalid (reason kBodyTooLarge). A stream's body is unbounded.
  size_t max_body_bytes = 4 * 1024 * 1024;
  // Calls: beyond this size, reading continues only while holding a `large_bodies` slot, which the
  // response keeps. Null: no limit on large bodies.
  size_t small_body_bytes = 256 * 1024;
  std::shared_ptr<Slots> large_bodies;
  // Calls: for bodies that need no memory, of any size. Not owned; may be null.
  BodySink* body_sink = nullptr;
  // Streams: the longest wait for the next piece of the body.
  std::chrono::milliseconds idle_timeout{300'000};
  // Returns whether connecting to an address of the origin is allowed; null: any address is. Not
  // asked about a proxy's address.
  std::function<bool(const asio::ip::address&)> may_connect;
  // The request is idempotent, so it may be sent twice. GET, HEAD, OPTIONS, PUT and DELETE always
  // are.
  bool repeatable = false;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
  std::string body;
  // The slot of a large body; keep it as long as the body.
  Slots::Lease body_lease;
  // Calls: the server's address; unspecified behind a proxy.
  asio::ip::address peer;

  // The first value of header `name` (case-insensitive); "" if absent.
  std::string_view Header(std::string_view name) const;
  std::vector<std::string_view> Headers(std::string_view name) const;
};

// A response whose body is read piece by piece. Destroying it closes its connection.
class HttpStream {
 public:
  virtual ~HttpStream() = default;

  // Status and headers; the body is empty.
  virtual const HttpResponse& response() const = 0;
  // The next piece, about 16 KiB at most; "" at the end.
  // Errors: kUnavailable (closed before the end), kDeadlineExceeded (idle_timeout), kInvalid (not
  // HTTP), kCancelled.
  virtual Async<std::string> Next() = 0;
  // Replaces the request's idle_timeout from the next Next() on.
  virtual void SetIdleTimeout(std::chrono::milliseconds timeout) = 0;
};

// Where a pool connects to.
struct Origin {
  std::string scheme;  // "http" or "https"
  std::string host;
  std::string port;
  TlsOptions tls;
  // An http proxy: CONNECT tunnels for https origins, absolute URLs for http origins.
  std::optional<Url> proxy;

  static Origin Of(const Url& url) {
    return {.scheme = url.scheme, .host = url.host, .port = url.port};
  }
};

struct PoolOptions {
  // Connections of calls; further calls wait in order. Each stream has an additional connection.
  size_t max_connections = 32;
  // A connection idle for this long is closed.
  std::chrono::milliseconds idle_timeout{60'000};
  // Per address of the host, before the next address is tried.
  std::chrono::milliseconds connect_timeout{10'000};
  size_t max_header_bytes = 64 * 1024;
  // Resolve the origin's host.
  NameServers names;
};

class HttpPool {
 public:
  // Opens no connection yet. Invalid TLS options fail every call; TlsContext::New() checks them in
  // advance.
  static std::unique_ptr<HttpPool> New(Executor executor, Clock& clock, Origin origin,
                                       PoolOptions options);
  virtual ~HttpPool() = default;

  // Errors: kInvalid (bad request or TLS options; response not HTTP or too large), kUnavailable
  // (refused, reset, certificate not accepted; reason kNoConnection if no connection could be
  // opened), kPermissionDenied (may_connect), kDeadlineExceeded,
  // kCancelled.
  // If a kept-alive connection breaks before the first byte of the response, the call is retried
  // once on a new connection, provided that nothing was sent or the request is repeatable.
  virtual Async<HttpResponse> Call(HttpRequest request) = 0;
  // Errors as above.
  virtual Async<std::unique_ptr<HttpStream>> Stream(HttpRequest request) = 0;

  // Connections of calls: in use, and idle.
  virtual size_t busy() const = 0;
  virtual size_t idle() const = 0;
};

}  // namespace kube
