// SPDX-License-Identifier: Apache-2.0
// TestClient: one connection to a server under test, on the same event loop. Each call turns the
// loop until it is done, so that a test reads as a conversation.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/base/async.h"

namespace kube {

struct TestReply {
  // 0 if the connection ended without a reply.
  int status = 0;
  bool keep_alive = false;
  std::string content_type;
  std::string body;
};

class TestClient {
 public:
  // Plain HTTP without `ca_pem`; else TLS, with the server's certificate checked against it for
  // 127.0.0.1.
  TestClient(asio::io_context& context, uint16_t port, std::string ca_pem = "");
  ~TestClient();

  // TCP and TLS. False if the server did not want to, or its certificate is not one that `ca_pem`
  // signed.
  bool Connect();
  // TCP alone: for clients that never get as far as TLS.
  bool ConnectTcp();
  bool Send(std::string_view bytes);
  TestReply Receive();
  // Send() of a whole request, then Receive().
  TestReply Request(std::string_view method, std::string_view path, std::string_view body = "");
  // The handshake over a connection of ConnectTcp(), and a request, as the loop turns; `done` is
  // called once.
  void StartRequest(std::string_view method, std::string_view path, std::string_view body,
                    std::function<void(const TestReply&)> done);
  // True once the server has closed the connection, without having sent anything more.
  bool ClosedByServer();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
