// SPDX-License-Identifier: Apache-2.0
#include "kube/http/connection.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "kube/base/base64.h"
#include "kube/http/resolve.h"

namespace kube {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using TcpStream = beast::tcp_stream;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

// A TLS record, so one read seldom takes two.
constexpr size_t kReadSize = 16 * 1024;
constexpr size_t kMaxProxyHeader = 16 * 1024;

Error ToError(const boost::system::error_code& ec, std::string_view stage) {
  std::string where(stage);
  if (ec == beast::error::timeout) return Error::DeadlineExceeded(where);
  if (ec == asio::error::operation_aborted) return Error::Cancelled(where);
  return Error::Unavailable(where + ": " + ec.message());
}

TcpStream& Tcp(TcpStream& stream) { return stream; }
TcpStream& Tcp(TlsStream& stream) { return stream.next_layer(); }

template <class Stream>
class StreamConnection final : public Connection {
 public:
  explicit StreamConnection(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

  void ExpireAfter(Duration left) override { Tcp(*stream_).expires_after(std::max(left, Duration(0))); }

  Async<> Write(std::string_view bytes) override {
    co_await IgnoreCancellation();
    auto written = co_await asio::async_write(*stream_, asio::buffer(bytes), kTuple);
    auto& [ec, size] = written;
    bytes_sent_ += size;
    if (ec) co_return ToError(ec, "write");
    co_return Ok();
  }

  Async<bool> Read() override {
    co_await IgnoreCancellation();
    auto space = buffer_.prepare(kReadSize);
    auto read = co_await stream_->async_read_some(space, kTuple);
    auto& [ec, size] = read;
    buffer_.commit(size);
    if (ec == asio::error::eof) co_return false;
    if (ec) co_return ToError(ec, "read");
    co_return true;
  }

  bool Quiet() override {
    char byte;
    ssize_t got = ::recv(Tcp(*stream_).socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

 private:
  std::unique_ptr<Stream> stream_;
};

// Small requests must not wait for acknowledgements, and a peer that vanished is noticed within a minute.
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

Async<std::unique_ptr<TcpStream>> ConnectTcp(std::string host, std::string port, const Route& route, Clock& clock,
                                             TimePoint deadline) {
  Result<std::vector<asio::ip::tcp::endpoint>> endpoints = co_await Resolve(host, port, clock, deadline);
  if (!endpoints) co_return endpoints.error();
  auto executor = co_await asio::this_coro::executor;
  Error failure = Error::Unavailable("no address");
  for (const asio::ip::tcp::endpoint& endpoint : *endpoints) {
    Duration left = deadline - clock.Now();
    if (left <= Duration(0)) co_return Error::DeadlineExceeded("connect to " + host + ":" + port);
    auto stream = std::make_unique<TcpStream>(executor);
    stream->expires_after(std::min<Duration>(left, route.connect_timeout));
    auto connected = co_await stream->async_connect(endpoint, kTuple);
    auto& [ec] = connected;
    if (!ec) {
      SetSocketOptions(stream->socket());
      co_return std::move(stream);
    }
    failure = ToError(ec, "connect to " + host + ":" + port);
    if (failure.code() == Code::kCancelled) break;
  }
  co_return failure;
}

// Asks the proxy at the other end of `stream` for a tunnel to the origin.
Async<> OpenTunnel(TcpStream& stream, const Route& route) {
  std::string authority =
      (route.host.find(':') == std::string::npos ? route.host : "[" + route.host + "]") + ":" + route.port;
  std::string request = "CONNECT " + authority + " HTTP/1.1\r\nHost: " + authority + "\r\n";
  if (!route.proxy->userinfo.empty()) {
    request += "Proxy-Authorization: Basic " + Base64Encode(route.proxy->userinfo) + "\r\n";
  }
  request += "\r\n";
  auto written = co_await asio::async_write(stream, asio::buffer(request), kTuple);
  if (std::get<0>(written)) co_return ToError(std::get<0>(written), "proxy");

  http::response_parser<http::empty_body> parser;
  parser.header_limit(kMaxProxyHeader);
  parser.skip(true);
  beast::flat_buffer buffer(kMaxProxyHeader);
  while (!parser.is_done()) {
    if (buffer.size() == buffer.max_size()) co_return Error::Invalid("proxy: header too large");
    auto space = buffer.prepare(std::min<size_t>(1024, buffer.max_size() - buffer.size()));
    auto read = co_await stream.async_read_some(space, kTuple);
    auto& [ec, size] = read;
    if (ec) co_return ToError(ec, "proxy");
    buffer.commit(size);
    boost::system::error_code parsed;
    buffer.consume(parser.put(buffer.data(), parsed));
    if (parsed && parsed != http::error::need_more) co_return Error::Invalid("proxy: " + parsed.message());
  }
  unsigned status = parser.get().result_int();
  if (status < 200 || status > 299) co_return Error::Unavailable("proxy: it answered " + std::to_string(status));
  if (buffer.size() > 0) co_return Error::Invalid("proxy: bytes before the tunnel");
  co_return Ok();
}

}  // namespace

Async<std::unique_ptr<Connection>> Connect(Route route, Clock& clock, TimePoint deadline) {
  co_await IgnoreCancellation();
  std::string host = route.proxy ? route.proxy->host : route.host;
  std::string port = route.proxy ? route.proxy->port : route.port;
  Result<std::unique_ptr<TcpStream>> tcp = co_await ConnectTcp(host, port, route, clock, deadline);
  if (!tcp) co_return tcp.error();
  (*tcp)->expires_after(std::max(deadline - clock.Now(), Duration(0)));

  if (route.proxy && route.tunnel) {
    Result<> tunnel = co_await OpenTunnel(**tcp, route);
    if (!tunnel) co_return tunnel.error();
  }
  if (route.tls == nullptr) {
    std::unique_ptr<Connection> plain = std::make_unique<StreamConnection<TcpStream>>(std::move(*tcp));
    co_return std::move(plain);
  }

  auto stream = std::make_unique<TlsStream>(std::move(**tcp), route.tls->native());
  Result<void> prepared = route.tls->Prepare(stream->native_handle(), route.host);
  if (!prepared) co_return prepared.error();
  auto shaken = co_await stream->async_handshake(asio::ssl::stream_base::client, kTuple);
  auto& [ec] = shaken;
  if (ec) {
    std::string stage = "TLS handshake with " + route.host + ":" + route.port;
    if (ec.category() != asio::error::get_ssl_category()) co_return ToError(ec, stage);
    std::string reason = TlsContext::VerifyFailure(stream->native_handle());
    co_return Error::Unavailable(stage + ": " + (reason.empty() ? ec.message() : reason));
  }
  std::unique_ptr<Connection> secure = std::make_unique<StreamConnection<TlsStream>>(std::move(stream));
  co_return std::move(secure);
}

}  // namespace kube
