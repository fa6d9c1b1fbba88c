// SPDX-License-Identifier: Apache-2.0
// Clients that keep a server's connections busy for nothing. Time limits are out of reach here
// unless a test says otherwise: what lets another client in is that useless connections make room
// for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <fstream>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"
#include "kube/crypto/certificates.h"
#include "kube/server/http_message.h"
#include "kube/server/https_server.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

// How a TLS 1.2 or 1.3 ClientHello begins: 512 bytes are to follow.
constexpr std::string_view kStartOfClientHello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);

Async<HttpReply> Echo(HttpCall call) {
  co_return HttpReply{.body = std::to_string(call.body.size())};
}
// More than the kernel takes for a client that does not read.
Async<HttpReply> Flood(HttpCall) {
  co_return HttpReply{.body = std::string(48 * 1024 * 1024, 'x')};
}

class ServerLoadTest : public ::testing::Test {
 protected:
  ServerLoadTest() {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(directory_);
    options_.address = "127.0.0.1:0";
    options_.certificate_file = directory_ / "tls.crt";
    options_.key_file = directory_ / "tls.key";
    options_.limits.handshake_timeout = 10min;
    options_.limits.header_timeout = 10min;
    options_.limits.transfer_grace = 10min;
    KeyPair pair = *NewServingCertificate(ca_, {"127.0.0.1"}, 1h, RealClock());
    std::ofstream(options_.certificate_file) << pair.certificate_pem;
    std::ofstream(options_.key_file) << pair.private_key_pem;
  }

  ~ServerLoadTest() override {
    if (server_ == nullptr) return;
    release_.cancel();
    (void)kube::Run(context_, server_->Drain(0s));
    (void)kube::Run(context_, tasks_.Stop(RealClock(), 10s));
  }

  void Start() {
    Result<std::unique_ptr<HttpsServer>> server =
        HttpsServer::New(context_.get_executor(), RealClock(), options_);
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
    server_->Handle("POST", "/echo", Echo);
    server_->Handle("POST", "/flood", Flood);
    server_->Handle("POST", "/wait", [this](HttpCall) { return WaitForRelease(); });
    tasks_.Spawn("server", server_->Run());
  }

  Async<HttpReply> WaitForRelease() {
    co_await IgnoreCancellation();
    ++waiting_;
    auto waited = co_await release_.async_wait(kTuple);
    (void)waited;
    co_return HttpReply{.body = "released"};
  }

  TestClient Client() { return TestClient(context_, server_->port(), ca_.certificate_pem); }

  // An admission call on a new connection.
  bool IsServed() {
    TestClient client = Client();
    return client.Connect() && client.Request("POST", "/echo", "hello").body == "5";
  }

  // A client that says `bytes` below TLS and then nothing more.
  void AddSlow(std::string_view bytes) {
    slow_.push_back(std::make_unique<TestClient>(context_, server_->port()));
    ASSERT_TRUE(slow_.back()->ConnectTcp());
    ASSERT_TRUE(slow_.back()->Send(bytes));
  }

  // The same within TLS.
  void AddSlowRequest(std::string_view bytes) {
    slow_.push_back(std::make_unique<TestClient>(context_, server_->port(), ca_.certificate_pem));
    ASSERT_TRUE(slow_.back()->Connect());
    ASSERT_TRUE(slow_.back()->Send(bytes));
  }

  asio::io_context context_{1};
  TaskGroup tasks_{context_.get_executor()};
  asio::steady_timer release_{context_, asio::steady_timer::time_point::max()};
  int waiting_ = 0;
  std::filesystem::path directory_;
  KeyPair ca_ = *NewCertificateAuthority("test", 1h, RealClock());
  HttpsServerOptions options_;
  std::unique_ptr<HttpsServer> server_;
  std::vector<std::unique_ptr<TestClient>> slow_;
};

TEST_F(ServerLoadTest, SlowHandshakesDoNotKeepOthersOut) {
  Start();
  TestClient kept = Client();
  ASSERT_TRUE(kept.Connect());
  ASSERT_EQ(kept.Request("POST", "/echo", "hi").body, "2");
  for (int round = 0; round < 3; ++round) {
    slow_.clear();  // a test has some 1,000 file handles
    for (int i = 0; i < 150; ++i) {
      AddSlow("\x16");
      AddSlow(kStartOfClientHello);
    }
    EXPECT_TRUE(IsServed()) << "round " << round;
    // Nor do they displace a client that keeps its connection between requests.
    EXPECT_EQ(kept.Request("POST", "/echo", "hi").body, "2") << "round " << round;
  }
}

TEST_F(ServerLoadTest, SlowHeadersAndBodiesDoNotKeepOthersOut) {
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

TEST_F(ServerLoadTest, ClientsThatTakeNoReplyDoNotKeepOthersOut) {
  options_.max_connections = 4;
  Start();
  for (int i = 0; i < 4; ++i)
    AddSlowRequest("POST /flood HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(IsServed());
}

TEST_F(ServerLoadTest, IdleConnectionsDoNotKeepOthersOut) {
  options_.max_connections = 8;
  Start();
  for (int i = 0; i < 20; ++i) {
    slow_.push_back(std::make_unique<TestClient>(context_, server_->port(), ca_.certificate_pem));
    ASSERT_TRUE(slow_.back()->Connect());
    ASSERT_EQ(slow_.back()->Request("POST", "/nowhere").status, 404);
  }
  EXPECT_TRUE(IsServed());
}

TEST_F(ServerLoadTest, RequestBeingAnsweredStays) {
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

TEST_F(ServerLoadTest, BurstOfQuickClientsIsServedToTheLast) {
  // An API server opens a connection a request: far more at once than there is room for, and none
  // may be refused.
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

TEST_F(ServerLoadTest, HandshakeHasADeadlineInAll) {
  options_.limits.handshake_timeout = 50ms;
  Start();
  TestClient slow(context_, server_->port());
  ASSERT_TRUE(slow.ConnectTcp());
  ASSERT_TRUE(slow.Send(kStartOfClientHello));
  // Bytes that keep coming do not prolong it.
  bool closed = RunUntil(context_, [&] {
    (void)kube::Run(context_, RealClock().Sleep(1ms));
    return !slow.Send("x") || server_->connections() == 0;
  });
  EXPECT_TRUE(closed);
}

TEST_F(ServerLoadTest, HeaderHasADeadlineInAll) {
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

TEST_F(ServerLoadTest, BodyThatComesTooSlowlyIsCutOff) {
  options_.limits.transfer_grace = 50ms;
  Start();
  TestClient slow = Client();
  ASSERT_TRUE(slow.Connect());
  ASSERT_TRUE(slow.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n"));
  bool closed = RunUntil(context_, [&] {
    (void)kube::Run(context_, RealClock().Sleep(1ms));
    return !slow.Send("x") || server_->connections() == 0;
  });
  EXPECT_TRUE(closed);
}

TEST_F(ServerLoadTest, ReplyThatNobodyTakesIsCutOff) {
  options_.limits.transfer_grace = 50ms;
  options_.limits.transfer_rate = 1024 * 1024 * 1024;
  Start();
  TestClient slow = Client();
  ASSERT_TRUE(slow.Connect());
  ASSERT_TRUE(slow.Send("POST /flood HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
  EXPECT_TRUE(RunUntil(context_, [&] { return server_->connections() == 0; }));
}

TEST_F(ServerLoadTest, BodiesTogetherAreBounded) {
  options_.limits.total_body_bytes = 4 * 1024 * 1024;
  Start();
  // Each is most of a large body, and then nothing more.
  std::string most = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" +
                     std::string(100'000, 'x');
  for (int i = 0; i < 20; ++i) AddSlowRequest(most);
  EXPECT_TRUE(RunUntil(context_, [&] { return server_->body_bytes() > 0; }));
  EXPECT_LE(server_->body_bytes(), 4u * 1024 * 1024);
  // Small requests need no room, and large ones get it from those that send nothing.
  EXPECT_TRUE(IsServed());
  TestClient large = Client();
  ASSERT_TRUE(large.Connect());
  EXPECT_EQ(large.Request("POST", "/echo", std::string(2'000'000, 'x')).body, "2000000");
  EXPECT_LE(server_->body_bytes(), 4u * 1024 * 1024);
}

TEST_F(ServerLoadTest, WithoutFileHandlesItWaitsAndRecovers) {
  Start();
  TestClient first = Client();
  ASSERT_TRUE(first.Connect());
  EXPECT_EQ(first.Request("POST", "/echo", "hi").body, "2");
  TestClient second = Client();
  ASSERT_TRUE(second.ConnectTcp());
  ASSERT_TRUE(RunUntil(context_, [&] { return server_->connections() == 2; }));

  // The next client gets the last file handle there is: the server has none to accept it with.
  TestClient third = Client();
  int lowest = dup(0);
  ASSERT_GE(lowest, 0);
  close(lowest);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit tight{static_cast<rlim_t>(lowest) + 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
  bool connected = third.ConnectTcp();
  // No spinning while nothing can be done but wait; it closes the two others to help itself.
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
