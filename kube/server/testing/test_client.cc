// SPDX-License-Identifier: Apache-2.0
#include "kube/server/testing/test_client.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "kube/testing/run.h"

namespace kube {

namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

namespace {

using Parser = http::response_parser<http::string_body>;

std::string TextOf(std::string_view method, std::string_view path, std::string_view body) {
  return std::string(method) + " " + std::string(path) +
         " HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body);
}

TestReply ReplyOf(Parser& parser) {
  auto type = parser.get()[http::field::content_type];
  TestReply reply{static_cast<int>(parser.get().result_int()), parser.keep_alive(),
                  std::string(type.data(), type.size()), parser.get().body()};
  for (const auto& field : parser.get()) {
    const auto name = field.name_string(), value = field.value();
    reply.header.append(name.data(), name.size()).append(": ");
    reply.header.append(value.data(), value.size()).append("\r\n");
  }
  return reply;
}

}  // namespace

struct TestClient::Impl {
  Impl(asio::io_context& io, uint16_t to, std::string ca)
      : context(io), port(to), use_tls(!ca.empty()) {
    if (use_tls) {
      tls.add_certificate_authority(asio::buffer(ca));
      tls.set_verify_mode(asio::ssl::verify_peer);
      stream.emplace(io, tls);
      stream->set_verify_callback(asio::ssl::host_name_verification("127.0.0.1"));
    } else {
      plain.emplace(io);
    }
  }

  beast::tcp_stream& Tcp() { return use_tls ? stream->next_layer() : *plain; }

  // Starts an operation by `start(handler)` and runs the loop until it is done.
  template <class Start>
  boost::system::error_code Do(Start start) {
    std::optional<boost::system::error_code> result;
    start([&](boost::system::error_code ec, auto&&...) { result = ec; });
    EXPECT_TRUE(RunUntil(context, [&] { return result.has_value(); }))
        << "no reply from the server";
    return result.value_or(asio::error::timed_out);
  }

  asio::awaitable<TestReply> RequestOverTls(std::string text) {
    auto shaken = co_await stream->async_handshake(asio::ssl::stream_base::client, kTuple);
    if (std::get<0>(shaken)) co_return TestReply();
    auto bytes = asio::buffer(text);
    auto written = co_await asio::async_write(*stream, bytes, kTuple);
    if (std::get<0>(written)) co_return TestReply();
    Parser parser;
    auto read = co_await http::async_read(*stream, buffer, parser, kTuple);
    if (std::get<0>(read)) co_return TestReply();
    co_return ReplyOf(parser);
  }

  asio::io_context& context;
  uint16_t port;
  bool use_tls;
  asio::ssl::context tls{asio::ssl::context::tls_client};
  std::optional<asio::ssl::stream<beast::tcp_stream>> stream;
  std::optional<beast::tcp_stream> plain;
  beast::flat_buffer buffer;
  // Asio's TLS stream never completes a read after a failed one.
  bool ended = false;
};

TestClient::TestClient(asio::io_context& context, uint16_t port, std::string ca_pem)
    : impl_(std::make_unique<Impl>(context, port, std::move(ca_pem))) {}

TestClient::~TestClient() = default;

bool TestClient::ConnectTcp() {
  tcp::endpoint endpoint(asio::ip::address_v4::loopback(), impl_->port);
  return !impl_->Do([&](auto handler) { impl_->Tcp().async_connect(endpoint, handler); });
}

bool TestClient::Connect() {
  if (!ConnectTcp()) return false;
  if (!impl_->use_tls) return true;
  return !impl_->Do([&](auto handler) {
    impl_->stream->async_handshake(asio::ssl::stream_base::client, handler);
  });
}

bool TestClient::Send(std::string_view bytes) {
  return !impl_->Do([&](auto handler) {
    if (impl_->use_tls) {
      asio::async_write(*impl_->stream, asio::buffer(bytes), handler);
    } else {
      asio::async_write(*impl_->plain, asio::buffer(bytes), handler);
    }
  });
}

TestReply TestClient::Receive() {
  if (impl_->ended) return {};
  Parser parser;
  parser.body_limit(64 * 1024 * 1024);
  boost::system::error_code ec = impl_->Do([&](auto handler) {
    if (impl_->use_tls) {
      http::async_read(*impl_->stream, impl_->buffer, parser, handler);
    } else {
      http::async_read(*impl_->plain, impl_->buffer, parser, handler);
    }
  });
  impl_->ended = static_cast<bool>(ec);
  if (ec) return {};
  return ReplyOf(parser);
}

TestReply TestClient::Request(std::string_view method, std::string_view path,
                              std::string_view body) {
  if (!Send(TextOf(method, path, body))) return {};
  return Receive();
}

void TestClient::StartRequest(std::string_view method, std::string_view path, std::string_view body,
                              std::function<void(const TestReply&)> done) {
  asio::co_spawn(impl_->context, impl_->RequestOverTls(TextOf(method, path, body)),
                 [done](std::exception_ptr, const TestReply& reply) { done(reply); });
}

bool TestClient::ClosedByServer() {
  if (impl_->ended) return true;
  boost::system::error_code ec = impl_->Do([&](auto handler) {
    auto room = impl_->buffer.prepare(1);
    if (impl_->use_tls) {
      impl_->stream->async_read_some(room, handler);
    } else {
      impl_->plain->async_read_some(room, handler);
    }
  });
  return ec && ec != asio::error::timed_out;
}

}  // namespace kube
