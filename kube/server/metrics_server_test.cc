// SPDX-License-Identifier: Apache-2.0
#include "kube/server/metrics_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/metrics/metrics.h"
#include "kube/server/certificate_metric.h"
#include "kube/server/http_message.h"
#include "kube/server/testing/server_fixture.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Accepts every token, and gives access to all users.
class FriendlyApi final : public Client {
 public:
  Async<ApiResponse> Call(ApiRequest) override {
    co_return ApiResponse{
        201, "application/json",
        R"({"status":{"authenticated":true,"allowed":true,"user":{"username":"prometheus"}}})"};
  }
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest) override {
    co_return Error::Internal("not used");
  }
};

class MetricsServerTest : public ServerFixture {
 protected:
  void AddHandlers() override {}
  static Async<> Ended(asio::awaitable<void> task) {
    co_await std::move(task);
    co_return Ok();
  }

  FriendlyApi api_;
  Metrics metrics_;
};

TEST_F(MetricsServerTest, ServesMetricsOverTlsToClientsWithAccess) {
  metrics_.AddCounter("x_total", "Counts x").Increment();
  auto server = MetricsServer::New(context_.get_executor(), RealClock(), api_, metrics_,
                                   {"127.0.0.1:0", directory_});
  ASSERT_TRUE(server) << server.error();
  tasks_.Spawn("metrics", (*server)->Run());

  TestClient client(context_, (*server)->port(), ca_.certificate_pem);
  ASSERT_TRUE(client.Connect());
  TestReply refused = client.Request("GET", "/metrics");
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.body, HasSubstr("Bearer"));
  ASSERT_TRUE(client.Send("GET /metrics HTTP/1.1\r\nAuthorization: Bearer token\r\n\r\n"));
  TestReply reply = client.Receive();
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.content_type, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(reply.body, HasSubstr("x_total 1\n"));
  EXPECT_EQ(client.Request("GET", "/healthz").status, 404);
  IgnoreError(kube::Run(context_, Ended((*server)->Drain(1s))), "the test ends");
  IgnoreError(kube::Run(context_, tasks_.Stop(RealClock(), 10s)), "the test ends");
}

TEST_F(MetricsServerTest, IsOffWithoutAnAddress) {
  auto server = MetricsServer::New(context_.get_executor(), RealClock(), api_, metrics_, {});
  ASSERT_TRUE(server) << server.error();
  EXPECT_EQ((*server)->port(), 0);
  tasks_.Spawn("metrics", (*server)->Run());
  IgnoreError(kube::Run(context_, Ended((*server)->Drain(1s))), "the test ends");
  IgnoreError(kube::Run(context_, tasks_.Stop(RealClock(), 10s)), "the test ends");
}

TEST_F(MetricsServerTest, ErrorNamesTheFlags) {
  auto server = MetricsServer::New(context_.get_executor(), RealClock(), api_, metrics_,
                                   {"127.0.0.1:0", directory_ / "missing"});
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message(), HasSubstr("--metrics-cert-dir"));
}

TEST_F(MetricsServerTest, TheEndOfTheCertificateIsAMetric) {
  Start();
  AddCertificateMetric(metrics_, "x_end_seconds", *server_);
  WallTime end = *NotAfter(server_->certificate_pem());
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(end.time_since_epoch()).count();
  EXPECT_THAT(metrics_.Render(), HasSubstr("x_end_seconds " + std::to_string(seconds) + "\n"));
}

}  // namespace
}  // namespace kube
