// SPDX-License-Identifier: Apache-2.0
// What a call and a watch event cost this process: system calls, wake-ups and allocations, over TLS
// on connections that are kept. The server runs on a thread of its own, whose costs do not count.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <iostream>
#include <thread>

#include "kube/base/clock.h"
#include "kube/client/client_config.h"
#include "kube/client/new_client.h"
#include "kube/codec/content_type.h"
#include "kube/crypto/certificates.h"
#include "kube/http/testing/scripted_server.h"
#include "kube/testing/cost.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

constexpr int kWarmUp = 20;
constexpr int kOperations = 200;
// The size of a pod in protobuf.
constexpr size_t kPodBytes = 2600;

// The header fields of a real API server.
constexpr const char* kFields =
    "Audit-Id: 5e8c5d8f-4c0c-4b5e-9d0a-7d1a8d9f0b1c\r\n"
    "Cache-Control: no-cache, private\r\n"
    "Content-Type: application/vnd.kubernetes.protobuf\r\n"
    "X-Kubernetes-Pf-Flowschema-Uid: 1f6e2c0e-3f2e-4f0e-8f5c-5d3f6f1f9a11\r\n"
    "X-Kubernetes-Pf-Prioritylevel-Uid: 7a0bb3f6-7a7e-4c4b-9c5e-0e8d9a6f2b22\r\n"
    "Date: Mon, 23 Nov 2026 05:00:00 GMT\r\n";

// The server is slower than the client, as a real one: the client waits for each answer.
constexpr auto kLatency = 1ms;

asio::awaitable<void> Pause() {
  auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, kLatency);
  auto waited = co_await timer.async_wait(kTuple);
  (void)waited;
}

// Sends one event for each that the client wants.
asio::awaitable<void> SendEvents(ScriptedPeer& peer, const std::atomic<int>& wanted) {
  std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
  head += std::string(kFields) + "\r\n";
  bool open = co_await peer.Write(std::move(head));
  std::string frame = std::string("\0\0\x0a\x28", 4) + std::string(kPodBytes, 'x');
  std::string chunk = "a2c\r\n" + frame + "\r\n";
  for (int sent = 0; open;) {
    co_await Pause();
    if (sent == wanted) continue;
    open = co_await peer.Write(chunk);
    ++sent;
  }
}

asio::awaitable<void> Serve(ScriptedPeer& peer, const std::atomic<int>& wanted) {
  while (true) {
    std::optional<ScriptedRequest> request = co_await peer.ReadRequest();
    if (!request) co_return;
    if (request->target.find("watch=true") != std::string::npos) {
      co_await SendEvents(peer, wanted);
      co_return;
    }
    co_await Pause();
    std::string body(kPodBytes, 'x');
    bool written = co_await peer.Reply(200, std::move(body), kFields);
    if (!written) co_return;
  }
}

class ClientCostTest : public testing::Test {
 protected:
  ClientCostTest() {
    KeyPair ca = *NewCertificateAuthority("test", 1h, RealClock());
    ScriptedServerOptions options{.certificate =
                                      *NewServingCertificate(ca, {"127.0.0.1"}, 1h, RealClock())};
    server_ = std::make_unique<ScriptedServer>(
        server_io_.get_executor(), options,
        [this](ScriptedPeer& peer) { return Serve(peer, wanted_events_); });
    thread_ = std::thread([this] { server_io_.run(); });
    ClientConfig config{.server = server_->url().ToString()};
    config.token = std::string(900, 't');
    config.tls.ca_pem = ca.certificate_pem;
    client_ = std::move(*NewClient(io_.get_executor(), RealClock(), config,
                                   {.user_agent = "cost-test/1.0 (linux/amd64)"}));
  }
  ~ClientCostTest() override {
    server_io_.stop();
    thread_.join();
    server_.reset();
  }

  // Does `operation` until it is warm, then many times more. Runs the event loop as a program does:
  // run_for() and kube::Run() look for events more often.
  template <class Operation>
  Result<Cost> Measure(Operation operation) {
    Result<Cost> result = Error::Internal("not done");
    auto done = [&](std::exception_ptr, Result<Cost> measured) {
      result = std::move(measured);
      io_.stop();
    };
    asio::co_spawn(io_, Repeat(operation), done);
    asio::steady_timer stuck(io_, kStuckAfter);
    stuck.async_wait([&](boost::system::error_code) { io_.stop(); });
    io_.run();
    return result;
  }
  template <class Operation>
  static Async<Cost> Repeat(Operation operation) {
    Cost before;
    for (int i = -kWarmUp; i < kOperations; ++i) {
      if (i == 0) before = CostOfThread();
      Result<> done = co_await operation();
      if (!done) co_return done.error();
    }
    co_return CostOfThread() - before;
  }

  Async<> Put() {
    ApiRequest request{.method = Method::kPut,
                       .target = "/api/v1/namespaces/default/pods/web-6d4cf56db6-x7x7x",
                       .content_type = std::string(kProtobuf),
                       .accept = std::string(kProtobuf),
                       .body = std::string(kPodBytes, 'x')};
    Result<ApiResponse> response = co_await client_->Call(std::move(request));
    if (!response) co_return response.error();
    co_return Ok();
  }

  Async<> NextEvent() {
    if (watch_ == nullptr) {
      ApiRequest request{.target = "/api/v1/pods?watch=true", .accept = std::string(kProtobuf)};
      Result<std::unique_ptr<WatchStream>> watch = co_await client_->Watch(std::move(request));
      if (!watch) co_return watch.error();
      watch_ = std::move(*watch);
    }
    ++wanted_events_;
    Result<std::optional<std::string>> frame = co_await watch_->Next();
    if (!frame) co_return frame.error();
    if (!*frame || (*frame)->size() != kPodBytes) co_return Error::Internal("not an event");
    co_return Ok();
  }

  asio::io_context io_{1};
  asio::io_context server_io_{1};
  std::atomic<int> wanted_events_ = 0;
  std::unique_ptr<ScriptedServer> server_;
  std::thread thread_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<WatchStream> watch_;
};

TEST_F(ClientCostTest, ACallOnAKeptConnection) {
  Result<Cost> cost = Measure([this] { return Put(); });
  ASSERT_THAT(cost, IsOk());
  CostPer call{*cost, kOperations};
  // The receive that finds nothing is the check that the server has not closed the connection.
  EXPECT_TRUE(call.IsWithin({.receives = 2,
                             .empty_receives = 1,
                             .sends = 1,
                             .waits = 1,
                             .registrations = 1,
                             .timers = 0,
                             .allocations = 34}));
  std::cout << "a call: " << call << "\n";
}

TEST_F(ClientCostTest, AWatchEvent) {
  Result<Cost> cost = Measure([this] { return NextEvent(); });
  ASSERT_THAT(cost, IsOk());
  CostPer event{*cost, kOperations};
  EXPECT_TRUE(event.IsWithin({.receives = 1,
                              .empty_receives = 0,
                              .sends = 0,
                              .waits = 1,
                              .registrations = 1,
                              .timers = 0,
                              .allocations = 2}));
  std::cout << "a watch event: " << event << "\n";
}

}  // namespace
}  // namespace kube
