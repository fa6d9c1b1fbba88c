// SPDX-License-Identifier: Apache-2.0
#include "kube/server/http_session.h"

#include <glog/logging.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

#include "kube/http/byte_stream.h"

namespace kube {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using namespace std::chrono_literals;

// Sizes of the read buffer: during a request (the size of a TLS record), and between requests.
constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kIdleBytes = 1024;
// More than a header and a record of a body.
constexpr size_t kMaxBuffer = 64 * 1024;
// The read buffer of the request that ended last, for the next one on any connection: one that
// waits for a request needs none.
thread_local beast::flat_buffer spare_buffer(kMaxBuffer);
// Bytes of a refused request that are read and discarded, for the client to receive the reply.
constexpr size_t kMaxDiscardedBytes = 16 * 1024 * 1024;
constexpr auto kDiscardTimeout = 2s;
// Bodies up to this size need no reservation: most admission reviews are smaller.
constexpr size_t kFreeBodyBytes = 32 * 1024;
constexpr auto kMemoryRetryInterval = 5ms;
// Request Timeout, for on_refused.
constexpr int kUnfinished = 408;

using Parser = http::request_parser<http::string_body>;

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

std::string_view PathOf(std::string_view target) { return target.substr(0, target.find('?')); }

std::string_view QueryOf(std::string_view target) {
  const size_t mark = target.find('?');
  return mark == std::string_view::npos ? "" : target.substr(mark + 1);
}

std::string Render(const HttpReply& reply, bool keep_alive) {
  std::string out;
  out.reserve(192 + reply.content_type.size() + reply.body.size());
  out.append("HTTP/1.1 ").append(std::to_string(reply.status)).append(" ");
  out += View(http::obsolete_reason(http::int_to_status(static_cast<unsigned>(reply.status))));
  out.append("\r\nContent-Type: ").append(reply.content_type);
  out.append("\r\nContent-Length: ").append(std::to_string(reply.body.size()));
  for (const auto& [name, value] : reply.headers)
    out.append("\r\n").append(name).append(": ").append(value);
  out += keep_alive ? "\r\n\r\n" : "\r\nConnection: close\r\n\r\n";
  out += reply.body;
  return out;
}

// The reply to a request that could not be read; status 0: no reply, the client has closed.
HttpReply ReplyToReadError(boost::system::error_code ec, const HttpLimits& limits) {
  if (ec == http::error::body_limit) {
    return FailureReply(
        413, "the request is larger than " + std::to_string(limits.body_bytes) + " bytes");
  }
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow) {
    return FailureReply(431, "the request's header is larger than " +
                                 std::to_string(limits.header_bytes) + " bytes");
  }
  if (ec == http::error::end_of_stream || ec == http::error::partial_message) return {.status = 0};
  if (ec.category() == http::make_error_code(http::error::bad_method).category()) {
    return FailureReply(400, "not an HTTP/1.1 request: " + ec.message());
  }
  return {.status = 0};
}

class Session final : public HttpSession {
 public:
  Session(tcp::socket socket, std::shared_ptr<asio::ssl::context> tls, HttpSessionContext& context)
      : tls_(std::move(tls)), stream_(std::move(socket)), context_(context) {
    Enter(Phase::kReceiving);
    last_seen_ = since_;
  }

  ~Session() override { ReleaseMemory(); }

  asio::awaitable<void> Run() override {
    co_await IgnoreCancellation();
    boost::system::error_code ec;
    stream_.socket().set_option(tcp::no_delay(true), ec);
    if (tls_ != nullptr) {
      stream_.ExpireAfter(context_.limits.handshake_timeout);
      if (stream_.StartTls(tls_->native_handle()) == nullptr) co_return;
      ec = co_await stream_.Handshake(ByteStream::Side::kServer);
      VLOG_IF(1, ec) << "TLS handshake failed: " << ec.message();
      if (ec) co_return;
      last_seen_ = context_.clock.Now();
    }
    bool more = true;
    while (more) more = co_await ServeOne();
    Close();
  }

  void Close() override {
    closed_ = true;
    stream_.Close();
  }

  bool Quiet() const override { return stream_.Quiet(); }

 private:
  std::map<std::string, std::string> KeptHeaders(const Parser::value_type& message) const {
    std::map<std::string, std::string> kept;
    for (const std::string& name : context_.kept_headers) {
      auto found = message.find(name);
      if (found != message.end()) kept[name] = View(found->value());
    }
    return kept;
  }

  void Enter(Phase phase) {
    phase_ = phase;
    since_ = context_.clock.Now();
  }

  // Deadline for `bytes` of a body or a reply, from `start`.
  void ExpireTransfer(TimePoint start, size_t bytes) {
    stream_.ExpireAfter(TransferEnd(start, bytes) - context_.clock.Now());
  }
  TimePoint TransferEnd(TimePoint start, size_t bytes) const {
    const HttpLimits& limits = context_.limits;
    return start + limits.transfer_grace +
           std::chrono::milliseconds(bytes * 1000 / limits.transfer_rate);
  }

  // Serves one request. False if the connection must be closed.
  asio::awaitable<bool> ServeOne() {
    bool received = co_await WaitForRequest();
    if (!received) co_return false;

    // Read the header, then the body.
    Enter(Phase::kReceiving);
    stream_.ExpireAfter(context_.limits.header_timeout);
    Parser parser;
    parser.header_limit(static_cast<uint32_t>(context_.limits.header_bytes));
    parser.body_limit(context_.limits.body_bytes);
    boost::system::error_code ec = co_await ReadHeader(parser);
    if (!ec && context_.admits && !context_.admits(PathOf(View(parser.get().target())))) {
      context_.on_refused(404);
      HttpReply refusal = FailureReply(404, "no such path");
      co_await Refuse(std::move(refusal));
      co_return false;
    }
    if (!ec && View(parser.get()[http::field::expect]) == "100-continue") {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      auto written = co_await stream_.Write(kContinue);
      ec = written.first;
    }
    if (!ec) ec = co_await ReadBody(parser);
    if (ec) {
      HttpReply refusal = ReplyToReadError(ec, context_.limits);
      VLOG(1) << "cannot read a request: " << ec.message();
      context_.on_refused(refusal.status != 0 ? refusal.status : kUnfinished);
      std::string().swap(parser.get().body());
      ReleaseMemory();
      if (refusal.status != 0) co_await Refuse(std::move(refusal));
      co_return false;
    }

    // Handle.
    Enter(Phase::kAnswering);
    Parser::value_type message = parser.release();
    HttpCall call{.method = std::string(View(message.method_string())),
                  .path = std::string(PathOf(View(message.target()))),
                  .body = std::move(message.body()),
                  .authorization = std::string(View(message[http::field::authorization])),
                  .headers = KeptHeaders(message),
                  .query = std::string(QueryOf(View(message.target()))),
                  .release = [this] { ReleaseMemory(); }};
    bool keep_alive = message.version() == 11 && message.keep_alive();
    HttpReply reply = co_await context_.answer(std::move(call));
    bool refused = reply.status >= 400;
    if (refused) context_.on_refused(reply.status);

    // Reply. The request's reservation is kept unless the handler released it: the reply may be as
    // large.
    keep_alive = keep_alive && !context_.retiring;
    ec = co_await Write(std::move(reply), keep_alive);
    ReleaseMemory();
    if (ec && !refused) context_.on_refused(kUnfinished);
    served_ = true;
    if (!ec && !keep_alive) co_await CloseGracefully();
    co_return !ec && keep_alive;
  }

  asio::awaitable<boost::system::error_code> Write(HttpReply reply, bool keep_alive) {
    Enter(Phase::kReplying);
    std::string text = Render(reply, keep_alive);
    std::string().swap(reply.body);
    ExpireTransfer(since_, text.size());
    auto written = co_await stream_.Write(text);
    co_return written.first;
  }

  asio::awaitable<boost::system::error_code> ReadHeader(Parser& parser) {
    while (!parser.is_header_done()) {
      boost::system::error_code ec = Parse(parser);
      if (ec == http::error::need_more) ec = co_await ReadMore();
      if (ec) co_return ec;
    }
    co_return boost::system::error_code();
  }

  asio::awaitable<boost::system::error_code> ReadBody(Parser& parser) {
    parser.eager(true);
    TimePoint start = context_.clock.Now();
    while (!parser.is_done()) {
      boost::system::error_code ec = Parse(parser);
      if (ec == http::error::need_more) {
        size_t received = parser.get().body().size();
        ExpireTransfer(start, received);
        ec = boost::system::error_code();
        if (received >= kFreeBodyBytes && reserved_ == 0) {
          auto length = parser.content_length();
          size_t size = length ? static_cast<size_t>(*length) : context_.limits.body_bytes;
          TimePoint deadline = TransferEnd(start, received);
          TimePoint begin = context_.clock.Now();
          ec = co_await Reserve(size, deadline);
          // The client did not cause this delay, so it does not make the request overdue.
          Duration waited = context_.clock.Now() - begin;
          start += waited;
          since_ += waited;
        }
        if (!ec) ec = co_await ReadMore();
      }
      if (ec) co_return ec;
    }
    co_return boost::system::error_code();
  }

  // need_more when all received bytes are parsed.
  boost::system::error_code Parse(Parser& parser) {
    if (buffer_.size() == 0) return http::error::need_more;
    boost::system::error_code ec;
    size_t parsed = parser.put(buffer_.data(), ec);
    buffer_.consume(parsed);
    if (!ec && parsed == 0) ec = http::error::need_more;
    return ec;
  }

  asio::awaitable<boost::system::error_code> ReadMore() {
    if (buffer_.size() + kReadBytes > buffer_.max_size()) co_return http::error::buffer_overflow;
    auto space = buffer_.prepare(kReadBytes);
    auto read = co_await stream_.ReadSome(space);
    buffer_.commit(read.second);
    if (!read.first) last_seen_ = context_.clock.Now();
    co_return read.first;
  }

  // Reserves `bytes` of total_body_bytes. timed_out if there is no room before `deadline`.
  asio::awaitable<boost::system::error_code> Reserve(size_t bytes, TimePoint deadline) {
    while (context_.reserved_bytes > 0 &&
           context_.reserved_bytes + bytes > context_.limits.total_body_bytes) {
      if (closed_) co_return asio::error::operation_aborted;
      if (context_.clock.Now() >= deadline) co_return asio::error::timed_out;
      context_.free_memory();
      Result<> slept = co_await context_.clock.Sleep(kMemoryRetryInterval);
      if (!slept) co_return asio::error::operation_aborted;
    }
    reserved_ = bytes;
    context_.reserved_bytes += bytes;
    co_return boost::system::error_code();
  }

  void ReleaseMemory() {
    context_.reserved_bytes -= reserved_;
    reserved_ = 0;
  }

  // Waits for a request. False if the connection was closed or idle for too long.
  asio::awaitable<bool> WaitForRequest() {
    if (buffer_.size() > 0) co_return true;
    if (spare_buffer.capacity() < buffer_.capacity()) std::swap(spare_buffer, buffer_);
    buffer_.shrink_to_fit();
    Enter(Phase::kIdle);
    stream_.ExpireAfter(context_.limits.idle_timeout);
    auto read = co_await stream_.ReadSome(asio::buffer(first_bytes_));
    last_seen_ = context_.clock.Now();
    std::swap(spare_buffer, buffer_);
    auto space = buffer_.prepare(kReadBytes);
    buffer_.commit(asio::buffer_copy(space, asio::buffer(first_bytes_, read.second)));
    co_return !read.first;
  }

  // Replies without having read the whole request.
  asio::awaitable<void> Refuse(HttpReply reply) {
    boost::system::error_code ec = co_await Write(std::move(reply), /*keep_alive=*/false);
    if (!ec) co_await CloseGracefully();
  }

  // Closes after the last reply. Closing with unread bytes would send a reset, which can overtake
  // the reply, so this first reads and discards bytes for a while.
  asio::awaitable<void> CloseGracefully() {
    Enter(Phase::kClosing);
    stream_.SendCloseNotify();
    boost::system::error_code ec;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ec);
    stream_.ExpireAfter(kDiscardTimeout);
    buffer_.clear();
    for (size_t discarded = 0; discarded < kMaxDiscardedBytes;) {
      auto space = buffer_.prepare(kReadBytes);
      auto read = co_await stream_.ReadSome(space);
      if (read.first) co_return;
      discarded += read.second;
    }
  }

  // Declared before the stream, which refers to it.
  std::shared_ptr<asio::ssl::context> tls_;
  ByteStream stream_;
  HttpSessionContext& context_;
  beast::flat_buffer buffer_{kMaxBuffer};
  // The start of a request.
  std::array<char, kIdleBytes> first_bytes_;
};

}  // namespace

std::unique_ptr<HttpSession> NewHttpSession(tcp::socket socket,
                                            std::shared_ptr<asio::ssl::context> tls,
                                            HttpSessionContext& context) {
  return std::make_unique<Session>(std::move(socket), std::move(tls), context);
}

}  // namespace kube
