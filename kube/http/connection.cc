// SPDX-License-Identifier: Apache-2.0
#include "kube/http/connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "kube/base/base64.h"

namespace kube {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// A watch waits for almost all of its life: it waits with a small buffer. After a read that filled
// it, the size of a TLS record, so that the rest seldom needs a second call.
constexpr size_t kFirstReadSize = 4 * 1024;
constexpr size_t kReadSize = 16 * 1024;
constexpr size_t kMaxProxyHeader = 16 * 1024;

Error ToError(const boost::system::error_code& ec, std::string_view stage) {
  std::string where(stage);
  if (ec == asio::error::timed_out) return Error::DeadlineExceeded(where);
  if (ec == asio::error::operation_aborted) return Error::Cancelled(where);
  return Error::Unavailable(where + ": " + ec.message());
}

// TCP_NODELAY for small requests; keep-alive detects a vanished peer within a minute.
void SetSocketOptions(asio::ip::tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  auto set = [&](int option, int value) {
    (void)::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
  };
  set(TCP_KEEPIDLE, 30);
  set(TCP_KEEPINTVL, 10);
  set(TCP_KEEPCNT, 3);
}

struct Connected {
  ByteStream stream;
  asio::ip::address peer;
};

Async<Connected> ConnectTcp(std::string host, std::string port, const Route& route, Clock& clock,
                            TimePoint deadline) {
  Result<std::vector<asio::ip::tcp::endpoint>> endpoints =
      co_await Resolve(host, port, route.names, clock, deadline);
  if (!endpoints) co_return endpoints.error();
  auto executor = co_await asio::this_coro::executor;
  Error failure = Error::PermissionDenied("no address of " + host + " may be connected to");
  for (const asio::ip::tcp::endpoint& endpoint : *endpoints) {
    // Filters the address that is connected to, not the name: the name may resolve differently
    // later.
    if (!route.proxy && route.may_connect && !route.may_connect(endpoint.address())) continue;
    Duration left = deadline - clock.Now();
    if (left <= Duration(0)) co_return Error::DeadlineExceeded("connect to " + host + ":" + port);
    ByteStream stream(executor);
    stream.ExpireAfter(std::min<Duration>(left, route.connect_timeout));
    boost::system::error_code ec = co_await stream.Connect(endpoint);
    if (!ec) {
      SetSocketOptions(stream.socket());
      Connected connected{std::move(stream),
                          route.proxy ? asio::ip::address() : endpoint.address()};
      co_return std::move(connected);
    }
    failure = ToError(ec, "connect to " + host + ":" + port);
    // It was not the caller's deadline.
    if (failure.code() == Code::kDeadlineExceeded && left > route.connect_timeout)
      failure = Error::Unavailable(failure.message() + ": no answer");
    if (failure.code() == Code::kCancelled) break;
  }
  co_return failure;
}

// Asks the proxy that `stream` is connected to for a tunnel to the origin.
Async<> OpenTunnel(ByteStream& stream, const Route& route) {
  std::string authority =
      (route.host.find(':') == std::string::npos ? route.host : "[" + route.host + "]") + ":" +
      route.port;
  std::string request = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n";
  if (!route.proxy->userinfo.empty()) {
    request += "Proxy-Authorization: Basic " + Base64Encode(route.proxy->userinfo) + "\r\n";
  }
  request += "\r\n";
  auto written = co_await stream.Write(request);
  if (written.first) co_return ToError(written.first, "proxy");

  http::response_parser<http::empty_body> parser;
  parser.header_limit(kMaxProxyHeader);
  parser.skip(true);
  beast::flat_buffer buffer(kMaxProxyHeader);
  while (!parser.is_done()) {
    if (buffer.size() == buffer.max_size()) co_return Error::Invalid("proxy: header too large");
    auto space = buffer.prepare(std::min<size_t>(1024, buffer.max_size() - buffer.size()));
    auto read = co_await stream.ReadSome(space);
    if (read.first) co_return ToError(read.first, "proxy");
    buffer.commit(read.second);
    boost::system::error_code parsed;
    buffer.consume(parser.put(buffer.data(), parsed));
    if (parsed && parsed != http::error::need_more)
      co_return Error::Invalid("proxy: " + parsed.message());
  }
  unsigned status = parser.get().result_int();
  if (status < 200 || status > 299)
    co_return Error::Unavailable("proxy: status " + std::to_string(status));
  if (buffer.size() > 0) co_return Error::Invalid("proxy: bytes before the tunnel");
  co_return Ok();
}

Async<> Secure(ByteStream& stream, const Route& route) {
  std::string stage = "TLS handshake with " + route.host + ":" + route.port;
  ssl_st* ssl = stream.StartTls(route.tls->native().native_handle());
  if (ssl == nullptr) co_return Error::Internal(stage + ": out of memory");
  Result<void> prepared = route.tls->Prepare(ssl, route.host);
  if (!prepared) co_return prepared.error();
  boost::system::error_code ec = co_await stream.Handshake(ByteStream::Side::kClient);
  if (!ec) co_return Ok();
  if (ec.category() != asio::error::get_ssl_category()) co_return ToError(ec, stage);
  std::string reason = TlsContext::VerifyFailure(ssl);
  co_return Error::Unavailable(stage + ": " + (reason.empty() ? ec.message() : reason));
}

}  // namespace

Async<> Connection::Write(std::string_view bytes) {
  auto written = co_await stream_.Write(bytes);
  bytes_sent_ += written.second;
  if (written.first) co_return ToError(written.first, "write");
  co_return Ok();
}

Async<bool> Connection::Read() {
  if (!more_is_there_ && buffer_.size() == 0 && buffer_.capacity() > kFirstReadSize)
    buffer_.shrink_to_fit();
  auto space = buffer_.prepare(more_is_there_ ? kReadSize : kFirstReadSize);
  auto read = co_await stream_.ReadSome(space);
  buffer_.commit(read.second);
  more_is_there_ = read.second == space.size();
  if (read.first == asio::error::eof) co_return false;
  if (read.first) co_return ToError(read.first, "read");
  co_return true;
}

Async<std::unique_ptr<Connection>> Connect(Route route, Clock& clock, TimePoint deadline) {
  co_await IgnoreCancellation();
  std::string host = route.proxy ? route.proxy->host : route.host;
  std::string port = route.proxy ? route.proxy->port : route.port;
  Result<Connected> connected = co_await ConnectTcp(host, port, route, clock, deadline);
  if (!connected) co_return connected.error();
  ByteStream& stream = connected->stream;
  stream.ExpireAfter(std::max(deadline - clock.Now(), Duration(0)));

  if (route.proxy && route.tunnel) {
    Result<> tunnel = co_await OpenTunnel(stream, route);
    if (!tunnel) co_return tunnel.error();
  }
  if (route.tls != nullptr) {
    Result<> secured = co_await Secure(stream, route);
    if (!secured) co_return secured.error();
  }
  auto connection = std::make_unique<Connection>(std::move(stream), connected->peer);
  co_return std::move(connection);
}

}  // namespace kube
