// SPDX-License-Identifier: Apache-2.0
#include "kube/http/pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/http/testing/scripted_server.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Echoes each request in its response.
asio::awaitable<void> Echo(ScriptedPeer& peer) {
  while (true) {
    std::optional<ScriptedRequest> request = co_await peer.ReadRequest();
    if (!request) co_return;
    std::string body = request->method + " " + request->target + " " + request->body;
    co_await peer.Reply(200, std::move(body));
  }
}

asio::awaitable<void> Silent(ScriptedPeer& peer) { return peer.UntilClosed(); }

class HttpPoolTest : public testing::Test {
 protected:
  Result<HttpResponse> Call(HttpPool& pool, HttpRequest request) {
    return kube::Run(io_, pool.Call(std::move(request)));
  }

  std::unique_ptr<HttpPool> PoolFor(const ScriptedServer& server, PoolOptions options = {}) {
    return HttpPool::New(io_.get_executor(), RealClock(), Origin::Of(server.url()), options);
  }

  // Starts a call whose result is stored in the returned object.
  std::shared_ptr<std::optional<Result<HttpResponse>>> Start(HttpPool& pool, HttpRequest request,
                                                             asio::cancellation_slot slot = {}) {
    auto place = std::make_shared<std::optional<Result<HttpResponse>>>();
    auto done = [place](std::exception_ptr, Result<HttpResponse> result) {
      *place = std::move(result);
    };
    asio::co_spawn(io_, pool.Call(std::move(request)), asio::bind_cancellation_slot(slot, done));
    return place;
  }

  // The result of a call to a server that sends `bytes` and closes.
  Result<HttpResponse> CallAgainst(std::string bytes, HttpRequest request = {}) {
    ScriptedServer server(io_.get_executor(), {},
                          [bytes](ScriptedPeer& peer) -> asio::awaitable<void> {
                            std::optional<ScriptedRequest> asked = co_await peer.ReadRequest();
                            if (asked) co_await peer.Write(bytes);
                          });
    std::unique_ptr<HttpPool> pool = PoolFor(server);
    request.timeout = 10s;
    return Call(*pool, std::move(request));
  }

  asio::io_context io_{1};
};

TEST_F(HttpPoolTest, CallsAndKeepsTheConnection) {
  ScriptedServer server(io_.get_executor(), {}, Echo);
  std::unique_ptr<HttpPool> pool = PoolFor(server);
  for (int i = 0; i < 3; ++i) {
    Result<HttpResponse> response =
        Call(*pool, {.method = "POST", .target = "/a?b=c", .body = "text"});
    ASSERT_THAT(response, IsOk());
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "POST /a?b=c text");
    EXPECT_EQ(response->Header("content-LENGTH"), "16");
  }
  EXPECT_EQ(server.accepted(), 1);
  EXPECT_EQ(pool->idle(), 1u);
  EXPECT_EQ(pool->busy(), 0u);
}

TEST_F(HttpPoolTest, LargeBodiesGoBothWays) {
  ScriptedServer server(io_.get_executor(), {}, Echo);
  std::unique_ptr<HttpPool> pool = PoolFor(server);
  std::string body(3'000'000, 'x');
  Result<HttpResponse> response = Call(*pool, {.method = "PUT", .body = body});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->body, "PUT / " + body);
}

TEST_F(HttpPoolTest, TriesEveryAddressOfAName) {
  ScriptedServer server(io_.get_executor(), {}, Echo);
  Origin origin = Origin::Of(server.url());
  origin.host = "localhost";  // often resolves to ::1 first, which refuses connections
  std::unique_ptr<HttpPool> pool = HttpPool::New(io_.get_executor(), RealClock(), origin, {});
  EXPECT_THAT(Call(*pool, {}), IsOk());
}

TEST_F(HttpPoolTest, ConnectsOnlyToAllowedAddresses) {
  ScriptedServer server(io_.get_executor(), {}, Echo);
  Origin origin = Origin::Of(server.url());
  origin.host = "localhost";
  std::unique_ptr<HttpPool> pool = HttpPool::New(io_.get_executor(), RealClock(), origin, {});
  auto nowhere = [](const asio::ip::address&) { return false; };
  auto here = [](const asio::ip::address& address) {
    return address == asio::ip::make_address("127.0.0.1");
  };
  EXPECT_THAT(Call(*pool, {.may_connect = nowhere}),
              FailsWith(Code::kPermissionDenied, HasSubstr("localhost")));
  EXPECT_EQ(server.accepted(), 0);
  Result<HttpResponse> response = Call(*pool, {.may_connect = here});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->peer, asio::ip::make_address("127.0.0.1"));
  // The filter applies to idle connections too.
  EXPECT_THAT(Call(*pool, {.may_connect = nowhere}), FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(pool->idle(), 1u);
  EXPECT_THAT(Call(*pool, {.may_connect = here}), IsOk());
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpPoolTest, ReadsEveryFormOfResponse) {
  struct Row {
    std::string method, bytes, body;
    int status;
  };
  const Row kRows[] = {
      {"GET",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: "
       "u\r\n\r\n",
       "abcde", 200},
      {"GET", "HTTP/1.1 200 OK\r\n\r\nuntil the end", "until the end", 200},
      {"GET", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", "hi", 200},
      {"GET", "HTTP/1.1 204 No Content\r\n\r\n", "", 204},
      {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", "", 304},
      {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", "", 200},
      {"GET",
       "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 500 "
       "No\r\nContent-Length: 2\r\n\r\nhi",
       "hi", 500},
  };
  for (const Row& row : kRows) {
    Result<HttpResponse> response = CallAgainst(row.bytes, {.method = row.method});
    ASSERT_THAT(response, IsOk()) << row.bytes;
    EXPECT_EQ(response->status, row.status) << row.bytes;
    EXPECT_EQ(response->body, row.body) << row.bytes;
  }
}

TEST_F(HttpPoolTest, AMalformedResponseIsInvalid) {
  std::string informational;
  for (int i = 0; i < 20; ++i) informational += "HTTP/1.1 100 Continue\r\n\r\n";
  const std::string kRows[] = {
      "SSH-2.0-OpenSSH_9.2\r\n",
      "\x15\x03\x01\x02\x02\x16 TLS on a plain port",
      "HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
      "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n",
      "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
      informational,
  };
  for (const std::string& row : kRows) {
    EXPECT_THAT(CallAgainst(row), FailsWith(Code::kInvalid)) << row;
  }
}

TEST_F(HttpPoolTest, ATruncatedResponseIsUnavailable) {
  const std::string kRows[] = {
      "",
      "HTTP/1.1 200 O",
      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
  };
  for (const std::string& row : kRows) {
    EXPECT_THAT(CallAgainst(row), FailsWith(Code::kUnavailable)) << row;
  }
}

// A peer that never stops sending, in each part of a response.
TEST_F(HttpPoolTest, EndlessResponsesAreCutOff) {
  struct Row {
    std::string begin, again;
  };
  const Row kRows[] = {
      {"HTTP/1.1 200 OK\r\n", "X-Field: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n"},
      {"HTTP/1.1 200 OK\r\nX: ", std::string(1000, 'y')},
      {"HTTP/1.1 200 OK\r\n\r\n", std::string(10'000, 'y')},
      {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n", std::string(10'000, 'y')},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "5\r\nabcde\r\n"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=", std::string(1000, 'y')},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
       "T: " + std::string(1000, 'y') + "\r\n"},
      {"", "HTTP/1.1 100 Continue\r\n\r\n"},
  };
  for (const Row& row : kRows) {
    ScriptedServer server(io_.get_executor(), {},
                          [row](ScriptedPeer& peer) -> asio::awaitable<void> {
                            co_await peer.ReadRequest();
                            bool open = co_await peer.Write(row.begin);
                            while (open) open = co_await peer.Write(row.again);
                          });
    std::unique_ptr<HttpPool> pool = PoolFor(server);
    HttpRequest request{.timeout = 10s, .max_body_bytes = 100'000};
    EXPECT_THAT(Call(*pool, request), FailsWith(Code::kInvalid)) << row.begin;
    EXPECT_EQ(pool->idle(), 0u);
    EXPECT_TRUE(RunUntil(io_, [&] { return server.open() == 0; }));
  }
}

TEST_F(HttpPoolTest, TheDeadlineAppliesToEveryStage) {
  auto drip = [](ScriptedPeer& peer) -> asio::awaitable<void> {
    co_await peer.ReadRequest();
    std::string header = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
    bool open = co_await peer.Write(header);
    while (open) {
      Result<> slept = co_await RealClock().Sleep(1ms);
      std::string drop = "y";
      open = slept.has_value();
      if (open) open = co_await peer.Write(drop);
    }
  };
  for (ScriptedServer::Script script :
       {ScriptedServer::Script(Silent), ScriptedServer::Script(drip)}) {
    ScriptedServer server(io_.get_executor(), {}, script);
    std::unique_ptr<HttpPool> pool = PoolFor(server);
    EXPECT_THAT(Call(*pool, {.timeout = 60ms}), FailsWith(Code::kDeadlineExceeded));
    EXPECT_TRUE(RunUntil(io_, [&] { return server.open() == 0; }));
  }
  // A TLS handshake without a reply.
  ScriptedServer server(io_.get_executor(), {}, Silent);
  Origin origin = Origin::Of(server.url());
  origin.scheme = "https";
  origin.tls.insecure = true;
  std::unique_ptr<HttpPool> pool = HttpPool::New(io_.get_executor(), RealClock(), origin, {});
  EXPECT_THAT(Call(*pool, {.timeout = 60ms}),
              FailsWith(Code::kDeadlineExceeded, HasSubstr("handshake")));
}

TEST_F(HttpPoolTest, ARefusedConnectionIsUnavailable) {
  Origin origin;
  {
    ScriptedServer server(io_.get_executor(), {}, Echo);
    origin = Origin::Of(server.url());
  }
  std::unique_ptr<HttpPool> pool = HttpPool::New(io_.get_executor(), RealClock(), origin, {});
  EXPECT_THAT(Call(*pool, {}), FailsWith(Code::kUnavailable, HasSubstr("connect to 127.0.0.1")));
}

TEST_F(HttpPoolTest, RequestSmugglingIsRefused) {
  ScriptedServer server(io_.get_executor(), {}, Echo);
  std::unique_ptr<HttpPool> pool = PoolFor(server);
  EXPECT_THAT(Call(*pool, {.target = "/a b"}), FailsWith(Code::kInvalid));
  EXPECT_THAT(Call(*pool, {.target = "/a\r\nX: y"}), FailsWith(Code::kInvalid));
  EXPECT_THAT(Call(*pool, {.target = "http://other/"}), FailsWith(Code::kInvalid));
  EXPECT_THAT(Call(*pool, {.method = "GET /"}), FailsWith(Code::kInvalid));
  EXPECT_THAT(Call(*pool, {.headers = {{"A", "b\r\nC: d"}}}), FailsWith(Code::kInvalid));
  EXPECT_THAT(Call(*pool, {.headers = {{"A:", "b"}}}), FailsWith(Code::kInvalid));
  EXPECT_EQ(server.accepted(), 0);
}

// Idle connections.

TEST_F(HttpPoolTest, AnIdleConnectionThatTheServerClosedIsNotUsed) {
  ScriptedServer server(io_.get_executor(), {}, [](ScriptedPeer& peer) -> asio::awaitable<void> {
    co_await peer.ReadRequest();
    std::string body = "once";
    co_await peer.Reply(200, body);
  });
  std::unique_ptr<HttpPool> pool = PoolFor(server);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Call(*pool, {.method = "POST"}), IsOk());
    ASSERT_TRUE(RunUntil(io_, [&] { return server.open() == 0; }));
  }
  EXPECT_EQ(server.accepted(), 2);
}

// Closes the first connection on its second request without a response; serves later connections.
asio::awaitable<void> DieOnSecond(ScriptedPeer& peer) {
  co_await peer.ReadRequest();
  std::string first = "first";
  co_await peer.Reply(200, first);
  std::optional<ScriptedRequest> second = co_await peer.ReadRequest();
  if (second) peer.Abort();
}

TEST_F(HttpPoolTest, ARepeatableCallIsRetriedWhenItsIdleConnectionBreaks) {
  const HttpRequest kRows[] = {
      {.method = "GET"}, {.method = "PUT"}, {.method = "POST", .repeatable = true}};
  for (const HttpRequest& request : kRows) {
    ScriptedServer server(io_.get_executor(), {}, DieOnSecond);
    std::unique_ptr<HttpPool> pool = PoolFor(server);
    EXPECT_THAT(Call(*pool, request), IsOk());
    EXPECT_THAT(Call(*pool, request), IsOk()) << request.method;
    EXPECT_EQ(server.accepted(), 2);
  }
}

TEST_F(HttpPoolTest, ACallThatTheServerMayHaveProcessedIsNotRetried) {
  ScriptedServer server(io_.get_executor(), {}, DieOnSecond);
  std::unique_ptr<HttpPool> pool = PoolFor(server);
  EXPECT_THAT(Call(*pool, {.method = "POST"}), IsOk());
  EXPECT_THAT(Call(*pool, {.method = "POST"}), FailsWith(Code::kUnavailable));
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpPoolTest, ACallIsNotRetriedWhenANewConnectionBreaks) {
  ScriptedServer server(io_.get_executor(), {}, [](ScriptedPeer& peer) -> asio::awaitable<void> {
    co_await peer.ReadRequest();
    peer.Abort();
  });
  std::unique_ptr<HttpPool> pool = PoolFor(server);
  EXPECT_THAT(Call(*pool, {}), FailsWith(Code::kUnavailable));
  EXPECT_EQ(server.accepted(), 1);
}

TEST_F(HttpPoolTest, BytesAfterAResponseCloseTheConnection) {
  ScriptedServer server(io_.get_executor(), {}, [](ScriptedPeer& peer) -> asio::awaitable<void> {
    co_await peer.ReadRequest();
    std::string two =
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    co_await peer.Write(two);
    co_await peer.UntilClosed();
  });
  std::unique_ptr<HttpPool> pool = PoolFor(server);
  Result<HttpResponse> response = Call(*pool, {});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->body, "hi");
  EXPECT_EQ(pool->idle(), 0u);
}

TEST_F(HttpPoolTest, IdleConnectionsAreClosed) {
  ScriptedServer server(io_.get_executor(), {}, Echo);
  std::unique_ptr<HttpPool> pool = PoolFor(server, {.idle_timeout = 20ms});
  EXPECT_THAT(Call(*pool, {}), IsOk());
  EXPECT_TRUE(RunUntil(io_, [&] { return server.open() == 0; }));
  EXPECT_EQ(pool->idle(), 0u);
}

// Waiting for a connection.

TEST_F(HttpPoolTest, CallsWaitInOrderForAConnection) {
  ScriptedServer server(io_.get_executor(), {}, Echo);
  std::unique_ptr<HttpPool> pool = PoolFor(server, {.max_connections = 2});
  std::vector<std::shared_ptr<std::optional<Result<HttpResponse>>>> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(Start(*pool, {.target = "/" + std::to_string(i)}));
  // In order: a later call does not finish first.
  ASSERT_TRUE(RunUntil(io_, [&] { return calls[10]->has_value(); }));
  EXPECT_FALSE(calls[19]->has_value());
  ASSERT_TRUE(RunUntil(io_, [&] { return calls[18]->has_value() && calls[19]->has_value(); }));
  for (auto& call : calls) EXPECT_THAT(**call, IsOk());
  EXPECT_EQ(server.accepted(), 2);
  EXPECT_EQ(pool->busy(), 0u);
}

TEST_F(HttpPoolTest, WaitingForAConnectionCountsAgainstTheDeadline) {
  ScriptedServer server(io_.get_executor(), {}, Silent);
  std::unique_ptr<HttpPool> pool = PoolFor(server, {.max_connections = 1});
  asio::cancellation_signal stop;
  auto holder = Start(*pool, {}, stop.slot());
  ASSERT_TRUE(RunUntil(io_, [&] { return server.open() == 1; }));
  EXPECT_THAT(Call(*pool, {.timeout = 30ms}),
              FailsWith(Code::kDeadlineExceeded, HasSubstr("wait for a connection")));
  stop.emit(asio::cancellation_type::terminal);
  ASSERT_TRUE(RunUntil(io_, [&] { return holder->has_value(); }));
}

TEST_F(HttpPoolTest, ACancelledCallClosesItsConnectionAndFreesItsSlot) {
  ScriptedServer server(io_.get_executor(), {}, [](ScriptedPeer& peer) -> asio::awaitable<void> {
    if (peer.number() == 1) {
      co_await peer.UntilClosed();
    } else {
      co_await Echo(peer);
    }
  });
  std::unique_ptr<HttpPool> pool = PoolFor(server, {.max_connections = 1});
  asio::cancellation_signal stop_first, stop_second;
  auto first = Start(*pool, {}, stop_first.slot());
  ASSERT_TRUE(RunUntil(io_, [&] { return server.open() == 1; }));
  auto second = Start(*pool, {}, stop_second.slot());
  auto third = Start(*pool, {});
  Drain(io_);
  stop_second.emit(asio::cancellation_type::terminal);
  ASSERT_TRUE(RunUntil(io_, [&] { return second->has_value(); }));
  EXPECT_THAT(**second, FailsWith(Code::kCancelled));
  EXPECT_FALSE(third->has_value());

  stop_first.emit(asio::cancellation_type::terminal);
  ASSERT_TRUE(RunUntil(io_, [&] { return third->has_value(); }));
  EXPECT_THAT(**first, FailsWith(Code::kCancelled));
  EXPECT_THAT(**third, IsOk());
  EXPECT_EQ(pool->busy(), 0u);
}

// A task that goes on after its cancellation, for example to write a status.
TEST_F(HttpPoolTest, ACancelledTaskBeginsNoCall) {
  ScriptedServer server(io_.get_executor(), {}, [](ScriptedPeer& peer) -> asio::awaitable<void> {
    const std::string empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    std::optional<ScriptedRequest> first = co_await peer.ReadRequest();
    if (first) co_await peer.Write(empty);
    co_await peer.UntilClosed();
  });
  std::unique_ptr<HttpPool> pool = PoolFor(server);
  ASSERT_THAT(Call(*pool, {}), IsOk());
  ASSERT_EQ(pool->idle(), 1u);

  Notifier never;
  std::vector<Result<>> ended;
  auto cancelled_task = [&]() -> asio::awaitable<void> {
    co_await IgnoreCancellation();
    HttpRequest request;
    Result<> waited = co_await never.Wait();
    ended.push_back(waited);
    Result<HttpResponse> called = co_await pool->Call(request);
    ended.push_back(called ? Ok() : Result<>(called.error()));
    Result<std::unique_ptr<HttpStream>> opened = co_await pool->Stream(request);
    ended.push_back(opened ? Ok() : Result<>(opened.error()));
  };
  asio::cancellation_signal stop;
  asio::co_spawn(io_, cancelled_task(),
                 asio::bind_cancellation_slot(stop.slot(), [](std::exception_ptr) {}));
  Drain(io_);
  stop.emit(asio::cancellation_type::terminal);
  ASSERT_TRUE(RunUntil(io_, [&] { return ended.size() == 3; }));
  for (const Result<>& result : ended) EXPECT_THAT(result, FailsWith(Code::kCancelled));
  EXPECT_EQ(server.accepted(), 1);
}

// Streams.

TEST_F(HttpPoolTest, AStreamReturnsPiecesAsTheyArriveAndOutlivesThePool) {
  ScriptedServer server(io_.get_executor(), {}, [](ScriptedPeer& peer) -> asio::awaitable<void> {
    co_await peer.ReadRequest();
    std::string begin =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/x\r\n\r\n3\r\nabc\r\n";
    co_await peer.Write(begin);
    co_await peer.UntilClosed();
  });
  std::unique_ptr<HttpPool> pool = PoolFor(server);
  HttpRequest request;
  Result<std::unique_ptr<HttpStream>> stream = kube::Run(io_, pool->Stream(request));
  ASSERT_THAT(stream, IsOk());
  EXPECT_EQ((*stream)->response().status, 200);
  EXPECT_EQ((*stream)->response().Header("content-type"), "text/x");
  pool.reset();
  Result<std::string> piece = kube::Run(io_, (*stream)->Next());
  ASSERT_THAT(piece, IsOk());
  EXPECT_EQ(*piece, "abc");
  *stream = nullptr;
  EXPECT_TRUE(RunUntil(io_, [&] { return server.open() == 0; }));
}

TEST_F(HttpPoolTest, AStreamEndsWithItsBodyOrWithAnError) {
  struct Row {
    std::string rest;
    std::optional<Code> code;
  };
  const Row kRows[] = {
      {"0\r\n\r\n", std::nullopt}, {"", Code::kUnavailable}, {"zz\r\n", Code::kInvalid}};
  for (const Row& row : kRows) {
    ScriptedServer server(
        io_.get_executor(), {}, [row](ScriptedPeer& peer) -> asio::awaitable<void> {
          co_await peer.ReadRequest();
          std::string answer =
              "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n" + row.rest;
          co_await peer.Write(answer);
        });
    std::unique_ptr<HttpPool> pool = PoolFor(server);
    HttpRequest request;
    Result<std::unique_ptr<HttpStream>> stream = kube::Run(io_, pool->Stream(request));
    ASSERT_THAT(stream, IsOk());
    std::string body;
    Result<std::string> piece = kube::Run(io_, (*stream)->Next());
    while (piece && !piece->empty()) {
      body += *piece;
      piece = kube::Run(io_, (*stream)->Next());
    }
    if (row.code) {
      EXPECT_THAT(piece, FailsWith(*row.code));
    } else {
      EXPECT_EQ(body, "abc");
    }
  }
}

TEST_F(HttpPoolTest, AStreamFailsAfterItsIdleTimeout) {
  ScriptedServer server(io_.get_executor(), {}, [](ScriptedPeer& peer) -> asio::awaitable<void> {
    co_await peer.ReadRequest();
    std::string header = "HTTP/1.1 200 OK\r\n\r\n";
    co_await peer.Write(header);
    co_await peer.UntilClosed();
  });
  std::unique_ptr<HttpPool> pool = PoolFor(server);
  HttpRequest request{.idle_timeout = 30ms};
  Result<std::unique_ptr<HttpStream>> stream = kube::Run(io_, pool->Stream(request));
  ASSERT_THAT(stream, IsOk());
  EXPECT_THAT(kube::Run(io_, (*stream)->Next()), FailsWith(Code::kDeadlineExceeded));
}

// Proxies.

TEST_F(HttpPoolTest, AProxyGetsTheAbsoluteUrlOfAnHttpOrigin) {
  ScriptedServer proxy(io_.get_executor(), {}, [](ScriptedPeer& peer) -> asio::awaitable<void> {
    std::optional<ScriptedRequest> request = co_await peer.ReadRequest();
    std::string body = request->target + " " + request->Header("Proxy-Authorization");
    co_await peer.Reply(200, body);
  });
  Origin origin = Origin::Of(*Url::Parse("http://far.example:8080/"));
  origin.proxy = proxy.url();
  origin.proxy->userinfo = "me:secret";
  std::unique_ptr<HttpPool> pool = HttpPool::New(io_.get_executor(), RealClock(), origin, {});
  Result<HttpResponse> response = Call(*pool, {.target = "/x?y"});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->body, "http://far.example:8080/x?y Basic bWU6c2VjcmV0");
}

TEST_F(HttpPoolTest, AProxyTunnelsToATlsOrigin) {
  auto seen = std::make_shared<std::string>();
  ScriptedServer proxy(io_.get_executor(), {}, [seen](ScriptedPeer& peer) -> asio::awaitable<void> {
    std::optional<ScriptedRequest> request = co_await peer.ReadRequest();
    *seen = request->method + " " + request->target + "|";
    std::string established = "HTTP/1.1 200 Connection established\r\n\r\n";
    co_await peer.Write(established);
    std::string hello = co_await peer.ReadSome();
    *seen += hello;
  });
  Origin origin = Origin::Of(*Url::Parse("https://far.example/"));
  origin.proxy = proxy.url();
  origin.tls.insecure = true;
  std::unique_ptr<HttpPool> pool = HttpPool::New(io_.get_executor(), RealClock(), origin, {});
  EXPECT_THAT(Call(*pool, {}), FailsWith(Code::kUnavailable, HasSubstr("handshake")));
  // A TLS record of a handshake, with the origin's name in it.
  EXPECT_THAT(*seen, testing::StartsWith("CONNECT far.example:443|\x16\x03"));
  EXPECT_THAT(seen->substr(30), HasSubstr("far.example"));
}

TEST_F(HttpPoolTest, AProxyThatRefusesOrMisbehavesIsAnError) {
  struct Row {
    std::string bytes;
    Code code;
  };
  const Row kRows[] = {
      {"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n", Code::kUnavailable},
      {"", Code::kUnavailable},
      {"nonsense\r\n\r\n", Code::kInvalid},
      {"HTTP/1.1 200 OK\r\n\r\nearly bytes", Code::kInvalid},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'y'), Code::kInvalid},
  };
  for (const Row& row : kRows) {
    ScriptedServer proxy(io_.get_executor(), {},
                         [row](ScriptedPeer& peer) -> asio::awaitable<void> {
                           co_await peer.ReadRequest();
                           co_await peer.Write(row.bytes);
                         });
    Origin origin = Origin::Of(*Url::Parse("https://far.example/"));
    origin.proxy = proxy.url();
    origin.tls.insecure = true;
    std::unique_ptr<HttpPool> pool = HttpPool::New(io_.get_executor(), RealClock(), origin, {});
    EXPECT_THAT(Call(*pool, {}), FailsWith(row.code, HasSubstr("proxy")))
        << row.bytes.substr(0, 60);
  }
}

}  // namespace
}  // namespace kube
