// SPDX-License-Identifier: Apache-2.0
// Connection: one TCP or TLS connection of a pool; internal to kube/http.
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

// Returns whether connecting to an address is allowed; null: any address is.
using AddressFilter = std::function<bool(const asio::ip::address&)>;

// How to reach a server.
struct Route {
  std::string host;
  std::string port;
  std::shared_ptr<TlsContext> tls;  // null: plain TCP
  std::optional<Url> proxy;
  bool tunnel = false;  // CONNECT through the proxy, not an absolute URL in the request line
  std::chrono::milliseconds connect_timeout{10'000};  // per address
  NameServers names;                                  // resolve `host`
  AddressFilter may_connect;  // for the server's addresses; not asked about a proxy's
};

class Connection {
 public:
  // `peer`: the server's address; unspecified behind a proxy.
  Connection(ByteStream stream, asio::ip::address peer)
      : stream_(std::move(stream)), peer_(std::move(peer)) {}

  const asio::ip::address& peer() const { return peer_; }

  // Deadline of the reads and writes from now on.
  void ExpireAfter(Duration left) { stream_.ExpireAfter(left); }

  // Sends all of `bytes`, which the caller keeps alive. After an error bytes_sent() has the
  // progress.
  Async<> Write(std::string_view bytes);
  // Appends received bytes to buffer(); false after an orderly close by the peer.
  // Errors of Write and Read: kUnavailable, kDeadlineExceeded, kCancelled; the connection is
  // unusable after them.
  Async<bool> Read();
  // True if the connection is open and has no unread data: it can carry another request.
  bool Quiet() const { return stream_.Quiet(); }

  // Received and not consumed yet.
  boost::beast::flat_buffer& buffer() { return buffer_; }
  // Bytes sent on this connection; under TLS the plaintext of completely sent records.
  size_t bytes_sent() const { return bytes_sent_; }

 private:
  ByteStream stream_;
  asio::ip::address peer_;
  boost::beast::flat_buffer buffer_;
  bool more_is_there_ = false;  // probably: the last read filled its buffer
  size_t bytes_sent_ = 0;
};

// Resolves, tries address by address, opens the proxy tunnel and does the TLS handshake, all before
// `deadline`.
// Errors: kUnavailable (refused, reset, certificate not accepted), kPermissionDenied (the filter
// forbids every address), kDeadlineExceeded, kCancelled; the message names the failed stage.
Async<std::unique_ptr<Connection>> Connect(Route route, Clock& clock, TimePoint deadline);

}  // namespace kube
