// SPDX-License-Identifier: Apache-2.0
// TestClient: one connection to a server under test, in the same event loop. Each call runs the
// loop until it is done.
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
  // The fields as text: "Name: value\r\n".
  std::string header = {};
};

class TestClient {
 public:
  // Plain HTTP if `ca_pem` is empty; otherwise TLS, verifying the server's certificate for
  // 127.0.0.1.
  TestClient(asio::io_context& context, uint16_t port, std::string ca_pem = "");
  ~TestClient();

  // Connects, with TLS. False if refused, or if the certificate does not verify.
  bool Connect();
  // TCP only, for clients that do not complete a TLS handshake.
  bool ConnectTcp();
  bool Send(std::string_view bytes);
  TestReply Receive();
  // Sends a request and receives its reply.
  TestReply Request(std::string_view method, std::string_view path, std::string_view body = "");
  // Starts the TLS handshake on a connection of ConnectTcp() and a request, without waiting; `done`
  // is called once.
  void StartRequest(std::string_view method, std::string_view path, std::string_view body,
                    std::function<void(const TestReply&)> done);
  // Waits for the server to close the connection. True if it did so without sending more bytes.
  bool ClosedByServer();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
