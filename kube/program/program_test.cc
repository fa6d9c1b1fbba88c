// SPDX-License-Identifier: Apache-2.0
#include "kube/program/program.h"

#include <gflags/gflags.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "kube/server/ops_server.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

DECLARE_string(kubeconfig);

namespace kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() { FLAGS_health_address = "127.0.0.1:0"; }

  asio::awaitable<void> UntilStopped(std::string name) {
    co_await IgnoreCancellation();
    Result<> slept = co_await RealClock().Sleep(1h);
    IgnoreError(slept, "it ends with the request to stop");
    log_.push_back("end " + name);
  }

  // A part with a server.
  struct Server {
    asio::awaitable<void> Run() { return test->UntilStopped(name); }
    asio::awaitable<void> Drain(Duration) {
      test->log_.push_back("drain " + name);
      co_return;
    }
    ProgramTest* test;
    std::string name;
  };
  std::unique_ptr<Server> NewServer(std::string name) {
    return std::make_unique<Server>(Server{this, std::move(name)});
  }

  asio::io_context io_{1};
  App app_{io_, RealClock(), 10s};
  std::vector<std::string> log_;
};

TEST_F(ProgramTest, EndsWorkThenServersThenTasks) {
  Program program(app_, "test/1");
  ASSERT_THAT(program.StartOps(&program.metrics()), IsOk());
  program.AddServer("first", NewServer("first"));
  program.AddServer("second", NewServer("second"));
  program.tasks().Spawn("task", UntilStopped("task"));
  program.work().Spawn("work", UntilStopped("work"));
  EXPECT_THAT(kube::Run(io_, program.Drain()), IsOk());
  EXPECT_THAT(log_, ElementsAre("end work", "drain second", "drain first", "end first",
                                "end second", "end task"));
  EXPECT_EQ(program.tasks().size(), 0u);
}

TEST_F(ProgramTest, ServesHealthAndMetrics) {
  Program program(app_, "test/1");
  bool ready = false;
  program.health().AddReadiness("work", [&]() -> Result<> {
    if (!ready) return Error::Unavailable("starting");
    return Ok();
  });
  program.metrics().AddCounter("x_total", "Counts x");
  ASSERT_THAT(program.StartOps(&program.metrics()), IsOk());
  TestClient client(io_, program.ops_port());
  ASSERT_TRUE(client.Connect());
  EXPECT_EQ(client.Request("GET", "/readyz").status, 503);
  ready = true;
  EXPECT_EQ(client.Request("GET", "/readyz").status, 200);
  EXPECT_THAT(client.Request("GET", "/metrics").body, HasSubstr("x_total 0\n"));
  EXPECT_THAT(kube::Run(io_, program.Drain()), IsOk());
}

TEST_F(ProgramTest, AnAddressThatCannotBeServedIsAnError) {
  FLAGS_health_address = "nowhere";
  Program program(app_, "test/1");
  EXPECT_FALSE(program.StartOps(nullptr));
}

TEST_F(ProgramTest, ConnectsToTheApiServerOfTheFlag) {
  FLAGS_kubeconfig = "/no/such/file";
  EXPECT_THAT(Program(app_, "test/1").Connect(), FailsWith(Code::kNotFound));
}

}  // namespace
}  // namespace kube
