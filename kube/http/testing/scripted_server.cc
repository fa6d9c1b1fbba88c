// SPDX-License-Identifier: Apache-2.0
#include "kube/http/testing/scripted_server.h"

#include <glog/logging.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <set>

namespace kube {
namespace {

using asio::ip::tcp;

// Ends when the client's connection is closed, for whatever reason.
class Peer : public ScriptedPeer {
 public:
  Peer(tcp::socket socket, asio::ssl::context* tls, int number) : number_(number) {
    if (tls != nullptr) {
      secure_.emplace(std::move(socket), *tls);
    } else {
      plain_.emplace(std::move(socket));
    }
  }

  tcp::socket& socket() { return secure_ ? secure_->next_layer() : *plain_; }

  asio::awaitable<bool> Handshake() {
    if (!secure_) co_return true;
    auto shaken = co_await secure_->async_handshake(asio::ssl::stream_base::server, kTuple);
    co_return !std::get<0>(shaken);
  }
  bool resumed() { return secure_ && SSL_session_reused(secure_->native_handle()); }

  // ScriptedPeer
  int number() const override { return number_; }

  asio::awaitable<std::optional<ScriptedRequest>> ReadRequest() override {
    size_t end;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      bool more = co_await Receive();
      // A TLS ClientHello sent to a plain server: close, as real servers do, instead of waiting for
      // HTTP.
      bool greeting = received_.starts_with('\x16');
      if (!more || greeting) co_return std::nullopt;
    }
    ScriptedRequest request;
    request.head = received_.substr(0, end + 2);
    received_.erase(0, end + 4);
    size_t space = request.head.find(' ');
    request.method = request.head.substr(0, space);
    request.target = request.head.substr(space + 1, request.head.find(' ', space + 1) - space - 1);
    std::string length = request.Header("Content-Length");
    size_t size = length.empty() ? 0 : std::stoul(length);
    while (received_.size() < size) {
      bool more = co_await Receive();
      if (!more) co_return std::nullopt;
    }
    request.body = received_.substr(0, size);
    received_.erase(0, size);
    co_return request;
  }

  asio::awaitable<std::string> ReadSome() override {
    if (received_.empty()) co_await Receive();
    co_return std::exchange(received_, std::string());
  }

  asio::awaitable<bool> Write(std::string bytes) override {
    if (secure_) {
      auto written = co_await asio::async_write(*secure_, asio::buffer(bytes), kTuple);
      co_return !std::get<0>(written);
    }
    auto written = co_await asio::async_write(*plain_, asio::buffer(bytes), kTuple);
    co_return !std::get<0>(written);
  }

  asio::awaitable<bool> Reply(int status, std::string body, std::string fields) override {
    return Write("HTTP/1.1 " + std::to_string(status) + " Status\r\nContent-Length: " +
                 std::to_string(body.size()) + "\r\n" + fields + "\r\n" + body);
  }

  asio::awaitable<void> UntilClosed() override {
    bool more = true;
    while (more) {
      received_.clear();
      more = co_await Receive();
    }
  }

  void Abort() override {
    boost::system::error_code ignored;
    socket().set_option(asio::socket_base::linger(true, 0), ignored);
    socket().close(ignored);
  }

 private:
  asio::awaitable<bool> Receive() {
    char bytes[4096];
    if (secure_) {
      auto read = co_await secure_->async_read_some(asio::buffer(bytes), kTuple);
      received_.append(bytes, std::get<1>(read));
      co_return !std::get<0>(read);
    }
    auto read = co_await plain_->async_read_some(asio::buffer(bytes), kTuple);
    received_.append(bytes, std::get<1>(read));
    co_return !std::get<0>(read);
  }

  int number_;
  std::optional<tcp::socket> plain_;
  std::optional<asio::ssl::stream<tcp::socket>> secure_;
  std::string received_;
};

}  // namespace

struct ScriptedServer::State {
  State(const Executor& executor, Script script) : acceptor(executor), script(std::move(script)) {}

  tcp::acceptor acceptor;
  Script script;
  std::optional<asio::ssl::context> tls;
  std::set<Peer*> peers;
  int accepted = 0;
  int resumed = 0;
};

namespace {

template <class State>
asio::awaitable<void> Serve(std::shared_ptr<State> state, tcp::socket socket) {
  Peer peer(std::move(socket), state->tls ? &*state->tls : nullptr, state->accepted);
  state->peers.insert(&peer);
  bool shaken = co_await peer.Handshake();
  if (shaken) {
    if (peer.resumed()) ++state->resumed;
    co_await state->script(peer);
  }
  state->peers.erase(&peer);
}

template <class State>
asio::awaitable<void> Accept(std::shared_ptr<State> state) {
  while (state->acceptor.is_open()) {
    auto accepted = co_await state->acceptor.async_accept(kTuple);
    auto& [ec, socket] = accepted;
    if (ec) break;
    ++state->accepted;
    auto rethrow = [](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    };
    auto executor = state->acceptor.get_executor();
    asio::co_spawn(executor, Serve(state, std::move(socket)), rethrow);
  }
}

}  // namespace

ScriptedServer::ScriptedServer(Executor executor, ScriptedServerOptions options, Script script)
    : state_(std::make_shared<State>(executor, std::move(script))) {
  if (options.certificate) {
    auto& tls = state_->tls.emplace(asio::ssl::context::tls_server);
    tls.use_certificate_chain(asio::buffer(options.certificate->certificate_pem));
    tls.use_private_key(asio::buffer(options.certificate->private_key_pem),
                        asio::ssl::context::pem);
    // Without it BoringSSL's server resumes no session of a client with a certificate.
    static constexpr uint8_t kId[] = "test";
    CHECK(SSL_CTX_set_session_id_context(tls.native_handle(), kId, sizeof kId));
    if (!options.client_ca_pem.empty()) {
      tls.add_certificate_authority(asio::buffer(options.client_ca_pem));
      // Test certificates are server certificates; accept them as client certificates too.
      SSL_CTX_set_purpose(tls.native_handle(), X509_PURPOSE_ANY);
      tls.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    }
  }
  tcp::endpoint endpoint(asio::ip::address_v4::loopback(), 0);
  state_->acceptor.open(endpoint.protocol());
  state_->acceptor.bind(endpoint);
  state_->acceptor.listen();
  url_ = Url{.scheme = options.certificate ? "https" : "http",
             .host = "127.0.0.1",
             .port = std::to_string(state_->acceptor.local_endpoint().port()),
             .target = "/",
             .userinfo = ""};
  auto rethrow = [](std::exception_ptr failure) {
    if (failure) std::rethrow_exception(failure);
  };
  asio::co_spawn(executor, Accept(state_), rethrow);
}

ScriptedServer::~ScriptedServer() {
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  for (Peer* peer : state_->peers) peer->socket().close(ignored);
}

int ScriptedServer::accepted() const { return state_->accepted; }
int ScriptedServer::open() const { return static_cast<int>(state_->peers.size()); }
int ScriptedServer::resumed() const { return state_->resumed; }

std::string ScriptedRequest::Header(const std::string& name) const {
  std::string_view rest = head;
  while (!rest.empty()) {
    size_t end = rest.find("\r\n");
    std::string_view line = rest.substr(0, end);
    size_t colon = line.find(':');
    if (colon != std::string_view::npos && boost::beast::iequals(line.substr(0, colon), name)) {
      std::string_view value = line.substr(colon + 1);
      while (value.starts_with(' ')) value.remove_prefix(1);
      return std::string(value);
    }
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
  }
  return {};
}

}  // namespace kube
