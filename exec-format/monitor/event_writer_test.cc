// SPDX-License-Identifier: Apache-2.0
#include "exec-format/monitor/event_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "exec-format/e_no_exec_event.h"
#include "kube/base/task_group.h"
#include "kube/client/typed.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/run.h"

namespace exec_format {
namespace {

using namespace std::chrono_literals;
using kube::Error;

constexpr char kUid[] = "15778196-6e1f-4b5d-8012-12c7bf5c04b3";

class EventWriterTest : public testing::Test {
 protected:
  void SetUp() override { tasks_.Spawn("writer", writer_.Run()); }
  void TearDown() override { EXPECT_TRUE(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s))); }

  void Report(const std::string& command, const std::string& uid = kUid) {
    writer_.Report({.container = {.id = "containerd://" + std::string(64, 'a'), .pod_uid = uid},
                    .command = command});
    kube::Drain(io_);
  }
  // Lets `time` pass in steps, so that each timer fires at its time.
  void Pass(kube::Duration time) {
    for (kube::Duration left = time; left > 0s; left -= 1s) {
      clock_.Advance(1s);
      kube::Drain(io_);
    }
  }
  std::vector<ENoExecEvent> Written() {
    auto list = kube::Run(io_, kube::List<ENoExecEvent>(api_, {.ns = "operator"}));
    EXPECT_TRUE(list);
    return list ? list->items : std::vector<ENoExecEvent>();
  }

  kube::asio::io_context io_{1};
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  EventWriter writer_{api_, clock_, {.node = "node-a", .ns = "operator"}};
  kube::TaskGroup tasks_{io_.get_executor()};
};

TEST_F(EventWriterTest, WritesTheObjectAndItsStatus) {
  Report("/app/server");
  auto written = Written();
  ASSERT_EQ(written.size(), 1u);
  EXPECT_THAT(written[0].metadata().name(), testing::StartsWith("exec-format-error-"));
  EXPECT_EQ(written[0].node_name, "node-a");
  EXPECT_EQ(written[0].pod_uid, kUid);
  EXPECT_EQ(written[0].container_id, "containerd://" + std::string(64, 'a'));
  EXPECT_EQ(written[0].command, "/app/server");
  EXPECT_EQ(written[0].pod_name, "");
  EXPECT_EQ(api_.CountCalls("/status"), 1);
  EXPECT_EQ(writer_.written(), 1u);
}

// A tenant names its files.
TEST_F(EventWriterTest, ACommandOfAnyBytesIsWritten) {
  Report("/tmp/\xff\n\"\x01x");
  auto written = Written();
  ASSERT_EQ(written.size(), 1u);
  EXPECT_EQ(written[0].command, "/tmp/\xEF\xBF\xBD\n\"\x01x");
}

TEST_F(EventWriterTest, TriesAgainWhileTheApiServerIsDown) {
  api_.Stop();
  Report("/a");
  Pass(5s);
  EXPECT_EQ(writer_.written() + writer_.failed(), 0u);
  api_.Start();
  Pass(30s);
  EXPECT_EQ(Written().size(), 1u);
}

TEST_F(EventWriterTest, GivesUpInTheEnd) {
  api_.Stop();
  Report("/a");
  Pass(kGiveUpAfter);
  EXPECT_EQ(writer_.failed(), 1u);
  api_.Start();
  Report("/b");
  EXPECT_EQ(Written().size(), 1u);
}

TEST_F(EventWriterTest, ARefusedOneIsNotTriedAgain) {
  api_.FailNext(Error::PermissionDenied("may not create"), "POST");
  Report("/a");
  Pass(60s);
  EXPECT_EQ(writer_.failed(), 1u);
  EXPECT_EQ(api_.CountCalls("POST"), 1);
}

// The cluster controller does not work.
TEST_F(EventWriterTest, ANodeHasFewObjects) {
  for (int pod = 0; pod < 20; ++pod) {
    std::string uid = kUid;
    uid.replace(uid.size() - 2, 2, std::to_string(10 + pod));
    Report("/a", uid);
  }
  Pass(5min);
  EXPECT_EQ(Written().size(), size_t{kNames});
  EXPECT_LE(api_.CountCalls("POST"), 100);
  // It works again.
  for (const ENoExecEvent& event : Written()) api_.Delete<ENoExecEvent>(kube::KeyOf(event));
  Pass(3min);
  EXPECT_EQ(Written().size(), size_t{kNames});
  EXPECT_EQ(writer_.written(), 2u * kNames);
}

// What a hundred pods that fail in a loop cost the API server.
TEST_F(EventWriterTest, WritesAreFew) {
  constexpr auto kTime = 5min;
  for (kube::Duration left = kTime; left > 0s; left -= 1s) {
    for (int pod = 0; pod < 100; ++pod) {
      std::string uid = kUid;
      uid.replace(uid.size() - 3, 3, std::to_string(100 + pod));
      Report("/" + std::to_string(left.count()), uid);
    }
    Pass(1s);
    for (const ENoExecEvent& event : Written()) api_.Delete<ENoExecEvent>(kube::KeyOf(event));
  }
  auto events = writer_.written();
  EXPECT_GE(events, uint64_t(kTime / kReportEvery));
  EXPECT_LE(events, uint64_t(kTime / kReportEvery) + kAtOnce);
  EXPECT_EQ(api_.CountWrites(), int(2 * events));
}

}  // namespace
}  // namespace exec_format
