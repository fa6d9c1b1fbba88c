// SPDX-License-Identifier: Apache-2.0
#include "kube/admission/http_session.h"

#include <glog/logging.h>

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <type_traits>

namespace kube {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using namespace std::chrono_literals;

// Room to read into while there is a request (a TLS record holds no more), and while there is none.
constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kIdleBytes = 1024;
// What is read and thrown away of a request that was refused, so that its sender gets to see why.
constexpr size_t kMaxDiscardedBytes = 16 * 1024 * 1024;
constexpr auto kDiscardTimeout = 2s;

using Parser = http::request_parser<http::string_body>;
using TlsStream = asio::ssl::stream<beast::tcp_stream>;

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

std::string Render(const HttpReply& reply, bool keep_alive) {
  std::string out;
  out.reserve(160 + reply.body.size());
  out += "HTTP/1.1 " + std::to_string(reply.status) + " ";
  out += View(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(reply.status))));
  out += "\r\nContent-Type: " + reply.content_type;
  out += "\r\nContent-Length: " + std::to_string(reply.body.size());
  out += keep_alive ? "\r\n\r\n" : "\r\nConnection: close\r\n\r\n";
  out += reply.body;
  return out;
}

// What to answer to a request that could not be read; status 0 if nobody waits for an answer.
HttpReply ReplyToReadError(boost::system::error_code ec, const HttpLimits& limits) {
  if (ec == http::error::body_limit) {
    return FailureReply(413, "the request is larger than " + std::to_string(limits.body_bytes) + " bytes");
  }
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow) {
    return FailureReply(431, "the request's header is larger than " + std::to_string(limits.header_bytes) + " bytes");
  }
  if (ec == http::error::end_of_stream || ec == http::error::partial_message) return {.status = 0};
  if (ec.category() == http::make_error_code(http::error::bad_method).category()) {
    return FailureReply(400, "not an HTTP/1.1 request: " + ec.message());
  }
  return {.status = 0};
}

template <class Stream>
class Session final : public HttpSession {
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;

 public:
  Session(Stream stream, std::shared_ptr<asio::ssl::context> tls, HttpSessionContext& context)
      : tls_(std::move(tls)), stream_(std::move(stream)), context_(context) {}

  asio::awaitable<void> Run() override {
    co_await IgnoreCancellation();
    boost::system::error_code ec;
    Tcp().socket().set_option(tcp::no_delay(true), ec);
    if constexpr (kTls) {
      Tcp().expires_after(context_.limits.handshake_timeout);
      auto shaken = co_await stream_.async_handshake(asio::ssl::stream_base::server, kTuple);
      ec = std::get<0>(shaken);
      VLOG_IF(1, ec) << "TLS handshake: " << ec.message();
      if (ec) co_return;
    }
    bool more = true;
    while (more) more = co_await ServeOne();
    Close();
  }

  void Close() override { Tcp().close(); }

 private:
  beast::tcp_stream& Tcp() { return beast::get_lowest_layer(stream_); }

  void BecomeIdle() {
    idle_ = true;
    idle_since_ = context_.clock.Now();
  }

  // One request and its reply. False when the connection is to be closed.
  asio::awaitable<bool> ServeOne() {
    bool came = co_await WaitForRequest();
    if (!came) co_return false;

    // Read the header.
    Tcp().expires_after(context_.limits.read_timeout);
    Parser parser;
    parser.header_limit(static_cast<uint32_t>(context_.limits.header_bytes));
    parser.body_limit(context_.limits.body_bytes);
    auto header_read = co_await http::async_read_header(stream_, buffer_, parser, kTuple);
    boost::system::error_code ec = std::get<0>(header_read);

    // Read the body.
    if (!ec && View(parser.get()[http::field::expect]) == "100-continue") {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      auto written = co_await asio::async_write(stream_, asio::buffer(kContinue), kTuple);
      ec = std::get<0>(written);
    }
    if (!ec && !parser.is_done()) {
      auto body_read = co_await http::async_read(stream_, buffer_, parser, kTuple);
      ec = std::get<0>(body_read);
    }
    if (ec) {
      HttpReply refusal = ReplyToReadError(ec, context_.limits);
      VLOG(1) << "request not read: " << ec.message();
      if (refusal.status != 0) co_await Refuse(std::move(refusal));
      co_return false;
    }

    // Handle.
    Parser::value_type message = parser.release();
    std::string_view target = View(message.target());
    HttpCall call{std::string(View(message.method_string())), std::string(target.substr(0, target.find('?'))),
                  std::move(message.body())};
    bool keep_alive = message.version() == 11 && message.keep_alive();
    HttpReply reply = co_await context_.answer(std::move(call));

    // Reply.
    keep_alive = keep_alive && !context_.retiring;
    std::string text = Render(reply, keep_alive);
    Tcp().expires_after(context_.limits.write_timeout);
    auto written = co_await asio::async_write(stream_, asio::buffer(text), kTuple);
    ec = std::get<0>(written);
    if (!ec && !keep_alive) co_await SayGoodbye();
    co_return !ec && keep_alive;
  }

  // False if the connection ended or was silent for too long.
  asio::awaitable<bool> WaitForRequest() {
    if (buffer_.size() > 0) co_return true;
    buffer_.shrink_to_fit();
    BecomeIdle();
    Tcp().expires_after(context_.limits.idle_timeout);
    auto read = co_await stream_.async_read_some(buffer_.prepare(kIdleBytes), kTuple);
    auto& [ec, size] = read;
    idle_ = false;
    buffer_.commit(size);
    buffer_.reserve(kReadBytes);
    co_return !ec;
  }

  // Answers without having read the request to its end.
  asio::awaitable<void> Refuse(HttpReply reply) {
    std::string text = Render(reply, /*keep_alive=*/false);
    Tcp().expires_after(context_.limits.write_timeout);
    auto written = co_await asio::async_write(stream_, asio::buffer(text), kTuple);
    if (std::get<0>(written)) co_return;
    co_await SayGoodbye();

    // Closing on unread bytes would send a reset, which can overtake the reply: take what still comes for a while.
    boost::system::error_code ec;
    Tcp().socket().shutdown(tcp::socket::shutdown_send, ec);
    Tcp().expires_after(kDiscardTimeout);
    buffer_.clear();
    for (size_t discarded = 0; discarded < kMaxDiscardedBytes;) {
      auto read = co_await Tcp().async_read_some(buffer_.prepare(kReadBytes), kTuple);
      if (std::get<0>(read)) co_return;
      discarded += std::get<1>(read);
    }
  }

  asio::awaitable<void> SayGoodbye() {
    // All is said: from here on the connection may be closed at any time.
    BecomeIdle();
    if constexpr (kTls) {
      Tcp().expires_after(kDiscardTimeout);
      auto shut = co_await stream_.async_shutdown(kTuple);
      VLOG(3) << "TLS shutdown: " << std::get<0>(shut).message();
    }
    co_return;
  }

  // Before the stream, which refers to it.
  std::shared_ptr<asio::ssl::context> tls_;
  Stream stream_;
  HttpSessionContext& context_;
  beast::flat_buffer buffer_{64 * 1024};
};

}  // namespace

std::unique_ptr<HttpSession> NewPlainSession(tcp::socket socket, HttpSessionContext& context) {
  return std::make_unique<Session<beast::tcp_stream>>(beast::tcp_stream(std::move(socket)), nullptr, context);
}

std::unique_ptr<HttpSession> NewTlsSession(tcp::socket socket, std::shared_ptr<asio::ssl::context> tls,
                                           HttpSessionContext& context) {
  TlsStream stream(beast::tcp_stream(std::move(socket)), *tls);
  return std::make_unique<Session<TlsStream>>(std::move(stream), std::move(tls), context);
}

}  // namespace kube
