// SPDX-License-Identifier: Apache-2.0
#include "exec-format/monitor/report_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "kube/testing/fake_clock.h"

namespace exec_format {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class ReportQueueTest : public testing::Test {
 protected:
  void Add(const std::string& pod, const std::string& command,
           const std::string& container = "containerd://a") {
    queue_.Add({.container = {.id = container, .pod_uid = pod}, .command = command});
  }
  // "POD COMMAND" of all that wait, whenever they may be reported.
  std::vector<std::string> TakeAll() {
    std::vector<std::string> all;
    while (auto finding = queue_.Next())
      all.push_back(finding->container.pod_uid + " " + finding->command);
    return all;
  }

  kube::FakeClock clock_;
  ReportQueue queue_{clock_};
};

TEST_F(ReportQueueTest, AFindingIsReportedOnceInAWhile) {
  for (int i = 0; i < 3; ++i) Add("p", "/a");
  Add("p", "/a", "containerd://b");
  EXPECT_THAT(TakeAll(), ElementsAre("p /a", "p /a"));
  EXPECT_EQ(queue_.dropped().repeated, 2u);
  clock_.Advance(kRepeatAfter);
  Add("p", "/a");
  EXPECT_THAT(TakeAll(), ElementsAre("p /a"));
  EXPECT_TRUE(queue_.empty());
}

TEST_F(ReportQueueTest, APodHasItsShare) {
  for (int i = 0; i < kOfAPod + 3; ++i) Add("p", "/" + std::to_string(i));
  EXPECT_EQ(TakeAll().size(), size_t{kOfAPod});
  EXPECT_EQ(queue_.dropped().of_pod, 3u);
  clock_.Advance(kRepeatAfter);
  Add("p", "/new");
  EXPECT_THAT(TakeAll(), ElementsAre("p /new"));
}

TEST_F(ReportQueueTest, PodsTakeTurns) {
  for (const char* command : {"/1", "/2", "/3"}) Add("loud", command);
  Add("quiet", "/q");
  EXPECT_THAT(TakeAll(), ElementsAre("loud /1", "quiet /q", "loud /2", "loud /3"));
}

TEST_F(ReportQueueTest, PodsAreBounded) {
  for (size_t i = 0; i < kMaxPods + 2; ++i) Add("p" + std::to_string(i), "/a");
  EXPECT_EQ(queue_.dropped().pods, 2u);
  EXPECT_EQ(TakeAll().size(), kMaxPods);
  // Until what they have reported is forgotten.
  Add("late", "/a");
  EXPECT_EQ(queue_.dropped().pods, 3u);
  clock_.Advance(kRepeatAfter);
  Add("late", "/a");
  EXPECT_THAT(TakeAll(), ElementsAre("late /a"));
}

// What waits is not forgotten, however long.
TEST_F(ReportQueueTest, WhatWaitsIsKept) {
  Add("p", "/a");
  clock_.Advance(2 * kRepeatAfter);
  Add("q", "/b");
  EXPECT_THAT(TakeAll(), ElementsAre("p /a", "q /b"));
}

TEST_F(ReportQueueTest, ReportsArePaced) {
  for (int pod = 0; pod < 20; ++pod) Add("p" + std::to_string(pod), "/a");
  for (int i = 0; i < kAtOnce; ++i) {
    EXPECT_LE(queue_.NextAt(), clock_.Now()) << i;
    ASSERT_TRUE(queue_.Next());
  }
  EXPECT_EQ(queue_.NextAt(), clock_.Now() + kReportEvery);
  clock_.Advance(kReportEvery);
  ASSERT_TRUE(queue_.Next());
  EXPECT_EQ(queue_.NextAt(), clock_.Now() + kReportEvery);
  // After a pause, as many at once as at the start.
  clock_.Advance(1h);
  for (int i = 0; i < kAtOnce; ++i) {
    EXPECT_LE(queue_.NextAt(), clock_.Now()) << i;
    ASSERT_TRUE(queue_.Next());
  }
  EXPECT_GT(queue_.NextAt(), clock_.Now());
}

}  // namespace
}  // namespace exec_format
