// SPDX-License-Identifier: Apache-2.0
#include "kube/server/https_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/crypto/certificates.h"
#include "kube/server/http_message.h"
#include "kube/server/testing/server_fixture.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Async<HttpReply> Echo(HttpCall call) {
  co_return HttpReply{.body = call.method + " " + call.path + " " + call.body};
}
// What the handler gets of the request, and a reply with a header.
Async<HttpReply> Tell(HttpCall call) {
  HttpReply reply{.body = call.query, .headers = {{"X-Reply", "yes"}}};
  for (const auto& [name, value] : call.headers) reply.body += " " + name + "=" + value;
  co_return reply;
}
Async<HttpReply> Fail(HttpCall) { co_return Error::Unavailable("out of order"); }
Async<HttpReply> Throw(HttpCall) { throw std::runtime_error("handler bug"); }

class ServerTest : public ServerFixture {
 protected:
  ServerTest() {
    options_.refresh_interval = 1ms;
    options_.on_refused = [this](int status) { refused_.push_back(status); };
  }

  void AddHandlers() override {
    server_->Handle("POST", "/echo", Echo);
    server_->Handle("POST", "/below/", Echo);
    server_->Handle("GET", "/tell", Tell);
    server_->Handle("GET", "/held", [this](HttpCall) { return Hold(); });
    server_->Handle("POST", "/fail", Fail);
    server_->Handle("POST", "/throw", Throw);
  }

  Async<HttpReply> Hold() {
    co_return HttpReply{.body = std::string(64, 'x'),
                        .hold = std::shared_ptr<void>(nullptr, [this](void*) { ++released_; })};
  }

  std::vector<int> refused_;
  int released_ = 0;
};

TEST_F(ServerTest, HandlersGetTheQueryAndTheHeadersThatAreKept) {
  options_.kept_headers = {"X-Kept", "X-Absent"};
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  ASSERT_TRUE(
      client.Send("GET /tell?a=b%20c&d=? HTTP/1.1\r\nHost: x\r\nx-kept: one\r\n"
                  "X-Other: two\r\n\r\n"));
  TestReply reply = client.Receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "a=b%20c&d=? X-Kept=one");
  EXPECT_THAT(reply.header, HasSubstr("X-Reply: yes\r\n"));
  EXPECT_EQ(client.Request("GET", "/tell").body, "");
}

TEST_F(ServerTest, AReplyIsHeldUntilTheClientHasIt) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  for (int held = 1; held <= 3; ++held) {
    EXPECT_EQ(client.Request("GET", "/held").body.size(), 64u);
    EXPECT_TRUE(RunUntil(context_, [&] { return released_ == held; }));
  }
}

TEST_F(ServerTest, AnswersManyRequestsOnOneConnection) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  for (int i = 0; i < 100; ++i) {
    TestReply reply = client.Request("POST", "/echo?timeout=10s", "hello " + std::to_string(i));
    ASSERT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.keep_alive);
    EXPECT_EQ(reply.body, "POST /echo hello " + std::to_string(i));
  }
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrder) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  std::string one = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n";
  ASSERT_TRUE(client.Send(one + "1" + one + "2"));
  EXPECT_EQ(client.Receive().body, "POST /echo 1");
  EXPECT_EQ(client.Receive().body, "POST /echo 2");
}

TEST_F(ServerTest, RoutesByMethodAndPath) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  EXPECT_EQ(client.Request("POST", "/below/a").body, "POST /below/a ");
  EXPECT_EQ(client.Request("POST", "/nowhere").status, 404);
  EXPECT_EQ(client.Request("POST", "/echo/more").status, 404);
  EXPECT_EQ(client.Request("GET", "/echo").status, 405);
}

TEST_F(ServerTest, HandlerErrorsAndExceptionsBecomeStatus500) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  TestReply failed = client.Request("POST", "/fail");
  EXPECT_EQ(failed.status, 500);
  EXPECT_THAT(failed.body, HasSubstr("\"message\":\"Unavailable: out of order\""));
  TestReply thrown = client.Request("POST", "/throw");
  EXPECT_EQ(thrown.status, 500);
  EXPECT_THAT(thrown.body, HasSubstr("handler bug"));
  EXPECT_EQ(client.Request("POST", "/echo").status, 200);
}

TEST_F(ServerTest, BodyOfTheMaximumSizeIsServedAndOneByteMoreIsRefused) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  std::string largest(options_.limits.body_bytes, 'x');
  EXPECT_EQ(client.Request("POST", "/echo", largest).status, 200);

  TestReply refused = client.Request("POST", "/echo", largest + "x");
  EXPECT_EQ(refused.status, 413);
  EXPECT_THAT(refused.body, HasSubstr("\"code\":413"));
  EXPECT_FALSE(refused.keep_alive);
}

TEST_F(ServerTest, BodyOfTenMegabytesIsRefusedWithAnExplanation) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  TestReply refused = client.Request("POST", "/echo", std::string(10 * 1024 * 1024, 'x'));
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.content_type, "application/json");
  EXPECT_THAT(refused.body, HasSubstr("larger than 3145728 bytes"));
}

TEST_F(ServerTest, ChunkedBodyIsBoundedToo) {
  options_.limits.body_bytes = 1000;
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  std::string header = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  ASSERT_TRUE(client.Send(header + "2\r\nhi\r\n0\r\n\r\n"));
  EXPECT_EQ(client.Receive().body, "POST /echo hi");
  ASSERT_TRUE(client.Send(header + "3e9\r\n" + std::string(1001, 'x') + "\r\n0\r\n\r\n"));
  EXPECT_EQ(client.Receive().status, 413);
}

TEST_F(ServerTest, HeaderIsBounded) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  ASSERT_TRUE(
      client.Send("POST /echo HTTP/1.1\r\nX-Long: " + std::string(20'000, 'x') + "\r\n\r\n"));
  EXPECT_EQ(client.Receive().status, 431);
}

TEST_F(ServerTest, GarbageIsRefused) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  ASSERT_TRUE(client.Send("\x01\x02 garbage\r\n\r\n"));
  TestReply refused = client.Receive();
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("not an HTTP/1.1 request"));

  TestClient without_tls(context_, server_->port());
  ASSERT_TRUE(without_tls.Connect());
  EXPECT_EQ(without_tls.Request("POST", "/echo").status, 0);
}

TEST_F(ServerTest, EachRefusedRequestIsReported) {
  options_.limits.body_bytes = 10;
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  EXPECT_EQ(client.Request("POST", "/echo", "hello").status, 200);
  EXPECT_EQ(client.Request("POST", "/nowhere").status, 404);
  EXPECT_EQ(client.Request("GET", "/echo").status, 405);
  EXPECT_EQ(client.Request("POST", "/fail").status, 500);
  EXPECT_EQ(client.Request("POST", "/echo", "hello world").status, 413);
  TestClient garbage = Client();
  ASSERT_TRUE(garbage.Connect());
  ASSERT_TRUE(garbage.Send("\x01\x02 garbage\r\n\r\n"));
  EXPECT_EQ(garbage.Receive().status, 400);
  EXPECT_THAT(refused_, ElementsAre(404, 405, 500, 413, 400));
}

// Its body is not waited for.
TEST_F(ServerTest, APathThatIsNotAdmittedIsRefusedByItsHeader) {
  Start();
  server_->Admit([](std::string_view path) { return path == "/below/secret"; });
  for (const char* path : {"/below/other", "/below/secrets", "/echo", "/below/other?/secret"}) {
    TestClient client = Client();
    ASSERT_TRUE(client.Connect());
    ASSERT_TRUE(client.Send("POST " + std::string(path) +
                            " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"));
    EXPECT_EQ(client.Receive().status, 404) << path;
  }
  EXPECT_EQ(server_->body_bytes(), 0u);
  EXPECT_THAT(refused_, ElementsAre(404, 404, 404, 404));
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  EXPECT_EQ(client.Request("POST", "/below/secret?timeout=5s", "a").body, "POST /below/secret a");
}

TEST_F(ServerTest, AHandlerThatWaitsCanReleaseTheMemoryOfItsBody) {
  options_.limits.total_body_bytes = 100'000;
  Start();
  server_->Handle("POST", "/release", [this](HttpCall call) {
    std::string().swap(call.body);
    call.release();
    return WaitForRelease();
  });
  std::vector<TestReply> replies;
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<TestClient>(context_, server_->port(), ca_.certificate_pem));
    ASSERT_TRUE(clients.back()->ConnectTcp());
    clients.back()->StartRequest("POST", "/release", std::string(90'000, 'x'),
                                 [&](const TestReply& reply) { replies.push_back(reply); });
  }
  EXPECT_TRUE(RunUntil(context_, [&] { return waiting_ == 3; }));
  EXPECT_EQ(server_->body_bytes(), 0u);
  release_.cancel();
  ASSERT_TRUE(RunUntil(context_, [&] { return replies.size() == 3; }));
  for (const TestReply& reply : replies) EXPECT_EQ(reply.status, 200);
}

TEST_F(ServerTest, SendsContinueToAClientThatExpectsIt) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  ASSERT_TRUE(client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
  EXPECT_EQ(client.Receive().status, 100);
  ASSERT_TRUE(client.Send("hi"));
  EXPECT_EQ(client.Receive().body, "POST /echo hi");
}

TEST_F(ServerTest, SlowRequestIsCutOff) {
  options_.limits.transfer_grace = 20ms;
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  ASSERT_TRUE(client.Send("POST /echo HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel"));
  EXPECT_EQ(client.Receive().status, 0);
  ASSERT_TRUE(RunUntil(context_, [&] { return server_->connections() == 0; }));
  EXPECT_THAT(refused_, ElementsAre(408));
}

TEST_F(ServerTest, SlowHandshakeIsCutOff) {
  options_.limits.handshake_timeout = 20ms;
  Start();
  TestClient client(context_, server_->port());
  ASSERT_TRUE(client.ConnectTcp());
  EXPECT_TRUE(client.ClosedByServer());
}

TEST_F(ServerTest, IdleConnectionIsClosed) {
  options_.limits.idle_timeout = 20ms;
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  EXPECT_TRUE(client.ClosedByServer());
}

TEST_F(ServerTest, NewConnectionDisplacesTheLongestIdleOne) {
  options_.max_connections = 2;
  Start();
  TestClient first = Client();
  ASSERT_TRUE(first.Connect());
  EXPECT_EQ(first.Request("POST", "/echo").status, 200);
  TestClient second = Client();
  ASSERT_TRUE(second.Connect());
  EXPECT_EQ(second.Request("POST", "/echo").status, 200);

  TestClient third = Client();
  ASSERT_TRUE(third.Connect());
  EXPECT_EQ(third.Request("POST", "/echo").status, 200);
  EXPECT_TRUE(first.ClosedByServer());
  EXPECT_LE(server_->connections(), 2u);
}

TEST_F(ServerTest, BusyConnectionsAreNotClosedForNewOnes) {
  options_.max_connections = 1;
  Start();
  TestClient busy = Client();
  ASSERT_TRUE(busy.Connect());
  ASSERT_TRUE(busy.Send("POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
  ASSERT_TRUE(RunUntil(context_, [&] { return waiting_ == 1; }));
  TestClient next = Client();
  ASSERT_TRUE(next.ConnectTcp());  // in the kernel's accept queue
  EXPECT_EQ(server_->connections(), 1u);
  release_.cancel();
  EXPECT_EQ(busy.Receive().body, "released");
}

TEST_F(ServerTest, NewCertificateIsUsedForNewConnectionsOnly) {
  Start();
  TestClient old_client = Client();
  ASSERT_TRUE(old_client.Connect());

  KeyPair new_ca = NewAuthority();
  WritePair(NewPair(new_ca));
  bool connected = false;
  while (!connected)
    connected = TestClient(context_, server_->port(), new_ca.certificate_pem).Connect();
  EXPECT_FALSE(Client().Connect());
  EXPECT_EQ(old_client.Request("POST", "/echo").status, 200);
}

TEST_F(ServerTest, InvalidCertificateIsIgnored) {
  Start();
  // A certificate with another key, then an invalid certificate.
  WritePair({NewPair(ca_).certificate_pem, NewPair(ca_).private_key_pem});
  Result<> slept = kube::Run(context_, RealClock().Sleep(20ms));
  EXPECT_TRUE(Client().Connect());
  Write(options_.certificate_file, "garbage");
  slept = kube::Run(context_, RealClock().Sleep(20ms));
  EXPECT_TRUE(Client().Connect());
}

TEST_F(ServerTest, ReloadsWhenTheKubeletReplacesTheSymbolicLink) {
  // As in a Secret volume: tls.crt -> ..data/tls.crt, ..data -> ..1
  auto make = [&](const char* version, const KeyPair& pair) {
    std::filesystem::create_directory(directory_ / version);
    Write(directory_ / version / "tls.crt", pair.certificate_pem);
    Write(directory_ / version / "tls.key", pair.private_key_pem);
    std::filesystem::create_symlink(version, directory_ / "..data_tmp");
    std::filesystem::rename(directory_ / "..data_tmp", directory_ / "..data");
  };
  for (const char* name : {"tls.crt", "tls.key"}) {
    std::filesystem::remove(directory_ / name);
    std::filesystem::create_symlink(std::filesystem::path("..data") / name, directory_ / name);
  }
  make("..1", NewPair(ca_));
  Start();
  ASSERT_TRUE(Client().Connect());

  KeyPair new_ca = NewAuthority();
  make("..2", NewPair(new_ca));
  bool connected = false;
  while (!connected)
    connected = TestClient(context_, server_->port(), new_ca.certificate_pem).Connect();
}

TEST_F(ServerTest, ErrorsNameMissingOrInvalidFiles) {
  auto error = [&] {
    return HttpsServer::New(context_.get_executor(), RealClock(), options_).error();
  };
  Write(options_.key_file, NewPair(ca_).private_key_pem);
  EXPECT_THAT(error().message(), HasSubstr("tls.key is not the private key of"));
  std::filesystem::remove(options_.key_file);
  EXPECT_THAT(error().message(), HasSubstr("tls.key: No such file or directory"));
  Write(options_.certificate_file, "garbage");
  EXPECT_THAT(error().message(), HasSubstr("tls.key: No such file or directory"));
}

TEST_F(ServerTest, ErrorsNameAnInvalidOrUsedAddress) {
  Start();
  for (std::string address :
       {"", "9443", "localhost:9443", "1.2.3.4:99999", "::1:80", "1.2.3.4:80x"}) {
    options_.address = address;
    EXPECT_TRUE(FailedWith(HttpsServer::New(context_.get_executor(), RealClock(), options_),
                           Code::kInvalid))
        << address;
  }
  options_.address = "127.0.0.1:" + std::to_string(server_->port());
  Result<std::unique_ptr<HttpsServer>> taken =
      HttpsServer::New(context_.get_executor(), RealClock(), options_);
  ASSERT_TRUE(FailedWith(taken, Code::kUnavailable));
  EXPECT_THAT(taken.error().message(), HasSubstr("cannot listen on " + options_.address));
}

TEST_F(ServerTest, RetiredServerServesAndAsksClientsToReconnect) {
  Start();
  TestClient client = Client();
  ASSERT_TRUE(client.Connect());
  EXPECT_TRUE(client.Request("POST", "/echo").keep_alive);
  server_->Retire();
  TestReply last = client.Request("POST", "/echo");
  EXPECT_EQ(last.status, 200);
  EXPECT_FALSE(last.keep_alive);
  EXPECT_TRUE(client.ClosedByServer());
  EXPECT_TRUE(Client().Connect());
}

TEST_F(ServerTest, DrainWaitsForInFlightRequestsAndClosesIdleConnections) {
  Start();
  TestClient idle = Client();
  ASSERT_TRUE(idle.Connect());
  TestClient busy = Client();
  ASSERT_TRUE(busy.Connect());
  ASSERT_TRUE(busy.Send("POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
  ASSERT_TRUE(RunUntil(context_, [&] { return waiting_ == 1; }));

  std::optional<Result<>> drained;
  asio::co_spawn(context_, server_->Drain(1min),
                 [&](std::exception_ptr, Result<> result) { drained = std::move(result); });
  EXPECT_TRUE(idle.ClosedByServer());
  EXPECT_FALSE(Client().Connect());
  EXPECT_FALSE(drained.has_value());

  release_.cancel();
  EXPECT_EQ(busy.Receive().body, "released");
  ASSERT_TRUE(RunUntil(context_, [&] { return drained.has_value(); }));
  EXPECT_TRUE(drained->has_value());
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(ServerTest, DrainClosesConnectionsAfterTheGracePeriod) {
  Start();
  TestClient busy = Client();
  ASSERT_TRUE(busy.Connect());
  ASSERT_TRUE(busy.Send("POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
  ASSERT_TRUE(RunUntil(context_, [&] { return waiting_ == 1; }));
  EXPECT_TRUE(FailedWith(kube::Run(context_, server_->Drain(5ms)), Code::kDeadlineExceeded));
  EXPECT_EQ(busy.Receive().status, 0);
}

}  // namespace
}  // namespace kube
