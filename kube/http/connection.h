// SPDX-License-Identifier: Apache-2.0
// Connection: one TCP or TLS connection, as bytes with deadlines; what pool.h is made of, not for
// others.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/http/byte_stream.h"
#include "kube/http/resolve.h"
#include "kube/http/tls.h"
#include "kube/http/url.h"

namespace kube {

// Whether a connection may go to an address; null: to any.
using AddressFilter = std::function<bool(const asio::ip::address&)>;

// How to get to a server.
struct Route {
  std::string host;
  std::string port;
  std::shared_ptr<TlsContext> tls;  // null: plain TCP
  std::optional<Url> proxy;
  bool tunnel = false;  // CONNECT through the proxy, instead of asking it in the request line
  std::chrono::milliseconds connect_timeout{10'000};  // an address
  NameServers names;                                  // where `host` is asked for
  AddressFilter may_connect;  // of the server's addresses; a proxy's are not asked about
};

class Connection {
 public:
  // `peer`: the server's address; unspecified behind a proxy.
  Connection(ByteStream stream, asio::ip::address peer)
      : stream_(std::move(stream)), peer_(std::move(peer)) {}

  const asio::ip::address& peer() const { return peer_; }

  // Bounds the reads and writes that begin from now on.
  void ExpireAfter(Duration left) { stream_.ExpireAfter(left); }

  // Sends all of `bytes`, which the caller keeps alive. bytes_sent() says how far it came.
  Async<> Write(std::string_view bytes);
  // Adds what arrives next to buffer(); false when the peer has closed in good order.
  // Errors of both: kUnavailable, kDeadlineExceeded, kCancelled; the connection is of no more use
  // then.
  Async<bool> Read();
  // Still open and silent: good for another request.
  bool Quiet() const { return stream_.Quiet(); }

  // Received and not consumed yet.
  boost::beast::flat_buffer& buffer() { return buffer_; }
  // Since the connection was opened; plain bytes of TLS records that went out whole.
  size_t bytes_sent() const { return bytes_sent_; }

 private:
  ByteStream stream_;
  asio::ip::address peer_;
  boost::beast::flat_buffer buffer_;
  size_t bytes_sent_ = 0;
};

// Resolves, connects address by address, tunnels and shakes hands, all before `deadline`.
// Errors: kUnavailable (refused, broken, certificate not accepted), kPermissionDenied (the filter
// forbids every address), kDeadlineExceeded, kCancelled; each names its stage.
Async<std::unique_ptr<Connection>> Connect(Route route, Clock& clock, TimePoint deadline);

}  // namespace kube
