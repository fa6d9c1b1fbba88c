// SPDX-License-Identifier: Apache-2.0
#include "kube/server/ops_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"
#include "kube/metrics/metrics.h"
#include "kube/server/health.h"
#include "kube/server/https_server.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TEST(OpsServerTest, ServesHealthReadinessAndMetrics) {
  asio::io_context context(1);
  TaskGroup tasks(context.get_executor());
  HealthRegistry health;
  bool ready = false;
  health.AddReadiness("webhook", [&]() -> Result<void> {
    if (!ready) return Error::Unavailable("draining");
    return Ok();
  });
  Metrics metrics;
  metrics.AddCounter("x_total", "Counts x").Increment();

  auto server = NewOpsServer(context.get_executor(), RealClock(), "127.0.0.1:0", health, &metrics);
  ASSERT_TRUE(server) << server.error();
  tasks.Spawn("ops", (*server)->Run());
  TestClient client(context, (*server)->port());
  ASSERT_TRUE(client.Connect());

  EXPECT_EQ(client.Request("GET", "/healthz").status, 200);
  TestReply not_ready = client.Request("GET", "/readyz");
  EXPECT_EQ(not_ready.status, 503);
  EXPECT_THAT(not_ready.body, HasSubstr("[-]webhook failed: draining"));
  ready = true;
  EXPECT_EQ(client.Request("GET", "/readyz").status, 200);
  TestReply text = client.Request("GET", "/metrics");
  EXPECT_THAT(text.content_type, HasSubstr("text/plain; version=0.0.4"));
  EXPECT_THAT(text.body, HasSubstr("x_total 1\n"));

  EXPECT_TRUE(kube::Run(context, (*server)->Drain(1s)).has_value());
  EXPECT_TRUE(kube::Run(context, tasks.Stop(RealClock(), 10s)).has_value());
}

TEST(OpsServerTest, ProbesAreServedWhenSlowClientsHoldEveryConnection) {
  asio::io_context context(1);
  TaskGroup tasks(context.get_executor());
  HealthRegistry health;
  Metrics metrics;
  auto server = NewOpsServer(context.get_executor(), RealClock(), "127.0.0.1:0", health, &metrics);
  ASSERT_TRUE(server) << server.error();
  tasks.Spawn("ops", (*server)->Run());

  std::vector<std::unique_ptr<TestClient>> slow;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 64; ++i) {
      slow.push_back(std::make_unique<TestClient>(context, (*server)->port()));
      ASSERT_TRUE(slow.back()->Connect());
      ASSERT_TRUE(slow.back()->Send("G"));
    }
    size_t held = (*server)->connections();
    TestClient probe(context, (*server)->port());
    ASSERT_TRUE(probe.Connect());
    EXPECT_EQ(probe.Request("GET", "/healthz").status, 200);
    // The probe displaced one connection; no deadline closed the others.
    EXPECT_GE((*server)->connections() + 1, held) << "round " << round;
    EXPECT_GE(held, 32u);
  }

  IgnoreError(kube::Run(context, (*server)->Drain(0s)), "the test ends");
  EXPECT_TRUE(kube::Run(context, tasks.Stop(RealClock(), 10s)).has_value());
}

TEST(OpsServerTest, ServesNoMetricsThatAreProtected) {
  asio::io_context context(1);
  TaskGroup tasks(context.get_executor());
  HealthRegistry health;
  auto server = NewOpsServer(context.get_executor(), RealClock(), "127.0.0.1:0", health, nullptr);
  ASSERT_TRUE(server) << server.error();
  tasks.Spawn("ops", (*server)->Run());
  TestClient client(context, (*server)->port());
  ASSERT_TRUE(client.Connect());
  EXPECT_EQ(client.Request("GET", "/healthz").status, 200);
  EXPECT_EQ(client.Request("GET", "/metrics").status, 404);
  EXPECT_TRUE(kube::Run(context, (*server)->Drain(1s)).has_value());
  EXPECT_TRUE(kube::Run(context, tasks.Stop(RealClock(), 10s)).has_value());
}

TEST(OpsServerTest, ErrorOfAnInvalidAddressNamesTheFlag) {
  asio::io_context context(1);
  auto server =
      NewOpsServer(context.get_executor(), RealClock(), "8080", HealthRegistry(), nullptr);
  ASSERT_TRUE(FailedWith(server, Code::kInvalid));
  EXPECT_THAT(server.error().message(), HasSubstr("--health-address"));
}

}  // namespace
}  // namespace kube
