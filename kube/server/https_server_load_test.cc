// SPDX-License-Identifier: Apache-2.0
// Clients that occupy connections without completing requests. Time limits are disabled unless a
// test sets them: other clients must be served because they displace useless connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/server/http_message.h"
#include "kube/server/testing/server_fixture.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

// Start of a TLS 1.2 or 1.3 ClientHello: 512 bytes are to follow.
constexpr std::string_view kStartOfClientHello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);

Async<HttpReply> Echo(HttpCall call) {
  co_return HttpReply{.body = std::to_string(call.body.size())};
}
// More than the kernel buffers for a client that does not read.
Async<HttpReply> Flood(HttpCall) {
  co_return HttpReply{.body = std::string(48 * 1024 * 1024, 'x')};
}

class ServerLoadTest : public ServerFixture {
 protected:
  ServerLoadTest() {
    options_.limits.handshake_timeout = 10min;
    options_.limits.header_timeout = 10min;
    options_.limits.transfer_grace = 10min;
  }

  void AddHandlers() override {
    server_->Handle("POST", "/echo", Echo);
    server_->Handle("POST", "/flood", Flood);
  }

  // Sends a request on a new connection.
  bool IsServed() {
    TestClient client = Client();
    return client.Connect() && client.Request("POST", "/echo", "hello").body == "5";
  }

  // Adds a client that sends `bytes` below TLS and then nothing more.
  void AddSlow(std::string_view bytes) {
    slow_.push_back(std::make_unique<TestClient>(context_, server_->port()));
    ASSERT_TRUE(slow_.back()->ConnectTcp());
    ASSERT_TRUE(slow_.back()->Send(bytes));
  }

  // The same over TLS.
  void AddSlowRequest(std::string_view bytes) {
    slow_.push_back(std::make_unique<TestClient>(context_, server_->port(), ca_.certificate_pem));
    ASSERT_TRUE(slow_.back()->Connect());
    ASSERT_TRUE(slow_.back()->Send(bytes));
  }

  // Sends a byte per millisecond until the server closes the connection.
  bool SendUntilClosed(TestClient& client) {
    return RunUntil(context_, [&] {
      IgnoreError(kube::Run(context_, RealClock().Sleep(1ms)), "the loop ends anyway");
      return !client.Send("x") || server_->connections() == 0;
    });
  }

  std::vector<std::unique_ptr<TestClient>> slow_;
};

TEST_F(ServerLoadTest, SlowHandshakesDoNotBlockOthers) {
  Start();
  TestClient kept = Client();
  ASSERT_TRUE(kept.Connect());
  ASSERT_EQ(kept.Request("POST", "/echo", "hi").body, "2");
  for (int round = 0; round < 3; ++round) {
    slow_.clear();  // a test has about 1,000 file descriptors
    for (int i = 0; i < 150; ++i) {
      AddSlow("\x16");
      AddSlow(kStartOfClientHello);
    }
    EXPECT_TRUE(IsServed()) << "round " << round;
    // They must not displace an idle connection of another client either.
    EXPECT_EQ(kept.Request("POST", "/echo", "hi").body, "2") << "round " << round;
  }
}

TEST_F(ServerLoadTest, SlowHeadersAndBodiesDoNotBlockOthers) {
  options_.max_connections = 24;
  Start();
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 10; ++i) {
      AddSlowRequest("P");
      AddSlowRequest("POST /echo HTTP/1.1\r\nHost: x\r\n");
      AddSlowRequest("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\nx");
    }
    EXPECT_TRUE(IsServed()) << "round " << round;
  }
  EXPECT_LE(server_->connections(), 24u);
}

TEST_F(ServerLoadTest, ClientsThatDoNotReadTheirReplyDoNotBlockOthers) {
  options_.max_connections = 4;
  Start();
  for (int i = 0; i < 4; ++i)
    AddSlowRequest("POST /flood HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(IsServed());
}

TEST_F(ServerLoadTest, IdleConnectionsDoNotBlockOthers) {
  options_.max_connections = 8;
  Start();
  for (int i = 0; i < 20; ++i) {
    slow_.push_back(std::make_unique<TestClient>(context_, server_->port(), ca_.certificate_pem));
    ASSERT_TRUE(slow_.back()->Connect());
    ASSERT_EQ(slow_.back()->Request("POST", "/nowhere").status, 404);
  }
  EXPECT_TRUE(IsServed());
}

TEST_F(ServerLoadTest, RequestBeingHandledIsNotDisplaced) {
  options_.max_connections = 4;
  options_.max_silence = 0ms;
  options_.max_unfinished = 0ms;
  Start();
  TestClient busy = Client();
  ASSERT_TRUE(busy.Connect());
  ASSERT_TRUE(busy.Send("POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
  ASSERT_TRUE(RunUntil(context_, [&] { return waiting_ == 1; }));
  for (int i = 0; i < 20; ++i) AddSlow("\x16");
  EXPECT_TRUE(IsServed());
  release_.cancel();
  EXPECT_EQ(busy.Receive().body, "released");
}

TEST_F(ServerLoadTest, EveryClientOfABurstIsServed) {
  // An API server may open a connection per request: more at a time than the limit, and none may be
  // refused.
  options_.max_connections = 4;
  Start();
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<TestClient>(context_, server_->port(), ca_.certificate_pem));
    ASSERT_TRUE(clients.back()->ConnectTcp());
  }
  int served = 0;
  for (auto& client : clients) {
    client->StartRequest("POST", "/echo", "hello",
                         [&served](const TestReply& reply) { served += reply.body == "5"; });
  }
  EXPECT_TRUE(RunUntil(context_, [&] { return served == 40; })) << served << " of 40";
}

TEST_F(ServerLoadTest, HandshakeHasATotalDeadline) {
  options_.limits.handshake_timeout = 50ms;
  Start();
  TestClient slow(context_, server_->port());
  ASSERT_TRUE(slow.ConnectTcp());
  ASSERT_TRUE(slow.Send(kStartOfClientHello));
  // More bytes do not extend the deadline.
  EXPECT_TRUE(SendUntilClosed(slow));
}

TEST_F(ServerLoadTest, HeaderHasATotalDeadline) {
  options_.limits.header_timeout = 50ms;
  Start();
  TestClient slow = Client();
  ASSERT_TRUE(slow.Connect());
  ASSERT_TRUE(slow.Send("POST /echo HTTP/1.1\r\nX-Long: "));
  int sent = 0;
  bool closed = RunUntil(
      context_, [&] { return ++sent > 10'000 || !slow.Send("x") || server_->connections() == 0; });
  EXPECT_TRUE(closed);
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ServerLoadTest, SlowBodyIsCutOff) {
  options_.limits.transfer_grace = 50ms;
  Start();
  TestClient slow = Client();
  ASSERT_TRUE(slow.Connect());
  ASSERT_TRUE(slow.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n"));
  EXPECT_TRUE(SendUntilClosed(slow));
}

TEST_F(ServerLoadTest, UnreadReplyIsCutOff) {
  options_.limits.transfer_grace = 50ms;
  options_.limits.transfer_rate = 1024 * 1024 * 1024;
  Start();
  TestClient slow = Client();
  ASSERT_TRUE(slow.Connect());
  ASSERT_TRUE(slow.Send("POST /flood HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_TRUE(RunUntil(context_, [&] { return server_->connections() == 0; }));
}

TEST_F(ServerLoadTest, TotalMemoryOfBodiesIsBounded) {
  options_.limits.total_body_bytes = 4 * 1024 * 1024;
  // Each slow client can hold its reservation for max_silence.
  options_.limits.transfer_grace = 20s;
  Start();
  // Each client sends the start of a large body and then nothing more.
  std::string most = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" +
                     std::string(100'000, 'x');
  for (int i = 0; i < 20; ++i) AddSlowRequest(most);
  EXPECT_TRUE(RunUntil(context_, [&] { return server_->body_bytes() > 0; }));
  EXPECT_LE(server_->body_bytes(), 4u * 1024 * 1024);
  // Small requests need no reservation; large ones displace the slow clients.
  EXPECT_TRUE(IsServed());
  TestClient large = Client();
  ASSERT_TRUE(large.Connect());
  EXPECT_EQ(large.Request("POST", "/echo", std::string(2'000'000, 'x')).body, "2000000");
  EXPECT_LE(server_->body_bytes(), 4u * 1024 * 1024);
}

TEST_F(ServerLoadTest, RecoversFromRunningOutOfFileDescriptors) {
  Start();
  TestClient first = Client();
  ASSERT_TRUE(first.Connect());
  EXPECT_EQ(first.Request("POST", "/echo", "hi").body, "2");
  TestClient second = Client();
  ASSERT_TRUE(second.ConnectTcp());
  ASSERT_TRUE(RunUntil(context_, [&] { return server_->connections() == 2; }));

  // The next client takes the last file descriptor: the server has none left for accept().
  TestClient third = Client();
  int lowest = dup(0);
  ASSERT_GE(lowest, 0);
  close(lowest);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit tight{static_cast<rlim_t>(lowest) + 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  bool connected = third.ConnectTcp();
  // The server must not spin while it waits; it closes the two other connections to free
  // descriptors.
  size_t turns = 0;
  auto until = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < until) {
    if (context_.stopped()) context_.restart();
    turns += context_.run_one_until(until);
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(connected);
  EXPECT_LT(turns, 1'000u);
  EXPECT_TRUE(IsServed());
}

}  // namespace
}  // namespace kube
