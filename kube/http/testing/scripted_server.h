// SPDX-License-Identifier: Apache-2.0
// ScriptedServer: a server on 127.0.0.1 that runs the test's script on each connection, including
// protocol violations. The connection closes when the script ends.
//
//   ScriptedServer server(executor, {}, [](ScriptedPeer& peer) -> asio::awaitable<void> {
//     std::optional<ScriptedRequest> request = co_await peer.ReadRequest();
//     if (request) co_await peer.Write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
//   });
//   Url url = server.url();
//
// Runs on the test's io_context. Objects that scripts capture must outlive the server.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/crypto/certificates.h"
#include "kube/http/url.h"

namespace kube {

struct ScriptedRequest {
  std::string method;
  std::string target;
  std::string head;  // request line and fields, as received
  std::string body;

  // The value of a field; "" where absent.
  std::string Header(const std::string& name) const;
};

class ScriptedPeer {
 public:
  virtual ~ScriptedPeer() = default;

  // The number of this connection, from 1.
  virtual int number() const = 0;
  // The next request; nullopt once the client has closed.
  virtual asio::awaitable<std::optional<ScriptedRequest>> ReadRequest() = 0;
  // Received bytes, at least one; "" once the client has closed.
  virtual asio::awaitable<std::string> ReadSome() = 0;
  // Sends bytes; false once the client has closed.
  virtual asio::awaitable<bool> Write(std::string bytes) = 0;
  // "200 OK" with a length and `fields` ("Name: value\r\n" each).
  virtual asio::awaitable<bool> Reply(int status, std::string body, std::string fields = "") = 0;
  // Returns when the client has closed.
  virtual asio::awaitable<void> UntilClosed() = 0;
  // Ends the connection with a reset instead of a proper close.
  virtual void Abort() = 0;
};

struct ScriptedServerOptions {
  // With a certificate the server uses TLS.
  std::optional<KeyPair> certificate;
  // Requests a client certificate signed by this authority.
  std::string client_ca_pem;
};

class ScriptedServer {
 public:
  using Script = std::function<asio::awaitable<void>(ScriptedPeer&)>;

  ScriptedServer(Executor executor, ScriptedServerOptions options, Script script);
  // Closes the listener and all connections.
  ~ScriptedServer();

  // "https://127.0.0.1:PORT/"
  const Url& url() const { return url_; }
  // Counts of accepted connections, open connections and resumed TLS sessions.
  int accepted() const;
  int open() const;
  int resumed() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
  Url url_;
};

}  // namespace kube
