// SPDX-License-Identifier: Apache-2.0
// HttpPool: calls to one origin over kept-alive HTTP/1.1 connections. No redirects, no compression,
// no cookies.
//
//   std::unique_ptr<HttpPool> pool = HttpPool::New(executor, clock, Origin::Of(*url), {});
//   Result<HttpResponse> response = co_await pool->Call({.method = "GET", .target = url->target});
//
// The peer may be hostile: time, header and body of every answer are bounded. Any status is an
// answer, not an Error. A cancelled call closes its connection. Calls must end before the pool
// does; streams may outlive it. Thread: the executor's; not thread-safe.
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

struct HttpRequest {
  std::string method = "GET";
  // Path and query, percent-encoded.
  std::string target = "/";
  // Host and Content-Length are added; a Host given here wins.
  HttpHeaders headers;
  std::string body;
  // From the call to the last byte of the answer (of a stream: of its header), waiting for a
  // connection included.
  std::chrono::milliseconds timeout{30'000};
  // A longer answer ends in kInvalid. A stream's body has no bound.
  size_t max_body_bytes = 4 * 1024 * 1024;
  // Of a call: an answer of more than so many bytes is read on only with one of `large_bodies`,
  // which the response keeps. Null: without.
  size_t small_body_bytes = 256 * 1024;
  std::shared_ptr<Slots> large_bodies;
  // Streams: the longest silence between two pieces of the body.
  std::chrono::milliseconds idle_timeout{300'000};
  // Whether the origin's connection may go to an address; null: to any. A proxy's is not asked
  // about.
  std::function<bool(const asio::ip::address&)> may_connect;
  // Doing it twice is as good as once. GET, HEAD, OPTIONS, PUT and DELETE always are.
  bool repeatable = false;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
  std::string body;
  // Of a large body: to be kept as long as the body.
  Slots::Lease body_lease;
  // Of a call: the address that answered; unspecified behind a proxy.
  asio::ip::address peer;

  // The first value of header `name`, in any case; "" if there is none.
  std::string_view Header(std::string_view name) const;
  std::vector<std::string_view> Headers(std::string_view name) const;
};

// An answer whose body is read piece by piece. Destroying it closes its connection.
class HttpStream {
 public:
  virtual ~HttpStream() = default;

  // Status and headers; the body is empty.
  virtual const HttpResponse& response() const = 0;
  // The next piece, at most 16 KiB or so; "" at the end.
  // Errors: kUnavailable (closed too early), kDeadlineExceeded (idle_timeout), kInvalid (no HTTP),
  // kCancelled.
  virtual Async<std::string> Next() = 0;
  // Instead of the request's, from the next Next() on.
  virtual void SetIdleTimeout(std::chrono::milliseconds timeout) = 0;
};

// Where a pool connects to.
struct Origin {
  std::string scheme;  // "http" or "https"
  std::string host;
  std::string port;
  TlsOptions tls;
  // An http proxy: tunnels (CONNECT) to https origins, is asked for the absolute URL of http ones.
  std::optional<Url> proxy;

  static Origin Of(const Url& url) {
    return {.scheme = url.scheme, .host = url.host, .port = url.port};
  }
};

struct PoolOptions {
  // Of calls; further ones wait in line. Streams have connections of their own.
  size_t max_connections = 32;
  // A connection unused for this long is closed.
  std::chrono::milliseconds idle_timeout{60'000};
  // To one of the host's addresses, before the next is tried.
  std::chrono::milliseconds connect_timeout{10'000};
  size_t max_header_bytes = 64 * 1024;
  // Where the origin's host is asked for.
  NameServers names;
};

class HttpPool {
 public:
  // Opens nothing yet. Wrong TLS options are an error of every call; see TlsContext::New to learn
  // of them before.
  static std::unique_ptr<HttpPool> New(Executor executor, Clock& clock, Origin origin,
                                       PoolOptions options);
  virtual ~HttpPool() = default;

  // Errors: kInvalid (bad request or TLS options; the answer is no HTTP or too large), kUnavailable
  // (refused, broken, certificate not accepted), kPermissionDenied (may_connect),
  // kDeadlineExceeded, kCancelled. A kept-alive connection that proves dead before a byte of the
  // answer came is replaced once, if nothing of the request was sent or the request is repeatable.
  virtual Async<HttpResponse> Call(HttpRequest request) = 0;
  // Errors as above.
  virtual Async<std::unique_ptr<HttpStream>> Stream(HttpRequest request) = 0;

  // Connections of calls: those in use, and those waiting for use.
  virtual size_t busy() const = 0;
  virtual size_t idle() const = 0;
};

}  // namespace kube
