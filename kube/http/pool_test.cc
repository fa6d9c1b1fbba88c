// SPDX-License-Identifier: Apache-2.0
#include "kube/http/pool.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "kube/base/clock.h"
#include "kube/crypto/certificates.h"
#include "kube/http/testing/scripted_server.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

asio::awaitable<void> SayHi(ScriptedPeer& peer) {
  while (true) {
    std::optional<ScriptedRequest> request = co_await peer.ReadRequest();
    if (!request) co_return;
    co_await peer.Reply(200, request->method + " " + request->target + " " + request->body);
  }
}

class HttpPoolTest : public testing::Test {
 protected:
  template <class T>
  Result<T> Run(Async<T> task) {
    std::optional<Result<T>> result;
    asio::co_spawn(io_, std::move(task), [&](std::exception_ptr failure, Result<T> value) {
      if (failure) std::rethrow_exception(failure);
      result = std::move(value);
    });
    while (!result) io_.run_one();
    return std::move(*result);
  }

  std::unique_ptr<HttpPool> PoolFor(const ScriptedServer& server, PoolOptions options = {}) {
    return HttpPool::New(io_.get_executor(), RealClock(), Origin::Of(server.url()), options);
  }

  asio::io_context io_{1};
};

TEST_F(HttpPoolTest, CallsAndKeepsTheConnection) {
  ScriptedServer server(io_.get_executor(), {}, SayHi);
  std::unique_ptr<HttpPool> pool = PoolFor(server);
  for (int i = 0; i < 3; ++i) {
    Result<HttpResponse> response = Run(pool->Call({.method = "POST", .target = "/a?b=c", .body = "text"}));
    ASSERT_TRUE(response) << response.error();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "POST /a?b=c text");
    EXPECT_EQ(response->Header("content-LENGTH"), "16");
  }
  EXPECT_EQ(server.accepted(), 1);
  EXPECT_EQ(pool->idle(), 1u);
  EXPECT_EQ(pool->busy(), 0u);
}

TEST_F(HttpPoolTest, SpeaksTls) {
  KeyPair authority = *NewCertificateAuthority("test", 24h, RealClock());
  ScriptedServer server(io_.get_executor(), {.certificate = *NewServingCertificate(authority, {"127.0.0.1"}, 1h, RealClock())}, SayHi);
  Origin origin = Origin::Of(server.url());
  origin.tls.ca_pem = authority.certificate_pem;
  std::unique_ptr<HttpPool> pool = HttpPool::New(io_.get_executor(), RealClock(), origin, {});
  Result<HttpResponse> response = Run(pool->Call({.target = "/x"}));
  ASSERT_TRUE(response) << response.error();
  EXPECT_EQ(response->body, "GET /x ");
}

}  // namespace
}  // namespace kube
