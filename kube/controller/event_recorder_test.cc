// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/event_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

class EventRecorderTest : public testing::Test {
 protected:
  ~EventRecorderTest() override { EXPECT_THAT(Stop(), IsOk()); }

  Result<> Stop() { return kube::Run(io_, tasks_.Stop(clock_, 10s)); }
  void Start() {
    tasks_.Spawn("events", recorder_.Run());
    Drain(io_);
  }
  void Record(const std::string& message, const std::string& pod = "web") {
    recorder_.Record(ReferenceTo(core::Pod(MakePod(pod).Uid("u1"))), /*warning=*/false, "Placed", message);
  }
  std::vector<core::Event> Sent(const std::string& ns = "ns") {
    Drain(io_);
    return api_.List<core::Event>(ns);
  }

  FakeClock clock_;
  asio::io_context io_;
  FakeApiServer api_{clock_};
  TaskGroup tasks_{io_.get_executor()};
  bool busy_ = false;
  EventRecorderOptions options_{
      .component = "shard", .capacity = 3, .busy = [this] { return busy_; }, .settle = Duration::zero()};
  EventRecorder recorder_{api_, clock_, options_};
};

TEST_F(EventRecorderTest, WritesWhatKubectlShows) {
  Start();
  recorder_.Record(ReferenceTo(core::Pod(MakePod("web").Uid("u1"))), /*warning=*/true, "NoImage", "gone");
  std::vector<core::Event> events = Sent();
  ASSERT_EQ(events.size(), 1u);
  const core::Event& event = events[0];
  EXPECT_EQ(event.metadata().name().substr(0, 4), "web.");
  EXPECT_EQ(event.metadata().namespace_(), "ns");
  EXPECT_EQ(event.involved_object().kind(), "Pod");
  EXPECT_EQ(event.involved_object().api_version(), "v1");
  EXPECT_EQ(event.involved_object().uid(), "u1");
  EXPECT_EQ(event.type(), "Warning");
  EXPECT_EQ(event.reason(), "NoImage");
  EXPECT_EQ(event.message(), "gone");
  EXPECT_EQ(event.source().component(), "shard");
  EXPECT_EQ(event.reporting_component(), "shard");
  EXPECT_EQ(event.count(), 1);
  EXPECT_EQ(event.first_timestamp().seconds(), std::chrono::system_clock::to_time_t(clock_.WallNow()));
}

TEST_F(EventRecorderTest, EventsOfClusterScopedObjectsGoToDefault) {
  Start();
  core::ObjectReference about;
  about.set_kind("ClusterPodPlacementConfig");
  about.set_name("cluster");
  recorder_.Record(about, false, "Ready", "all");
  ASSERT_EQ(Sent("default").size(), 1u);
  EXPECT_FALSE(Sent("default")[0].involved_object().has_namespace_());
}

TEST_F(EventRecorderTest, CountsRepeatsWhileTheyWait) {
  Record("same");
  clock_.Advance(2s);
  Record("same");
  Record("same", "other");
  Start();
  std::vector<core::Event> events = Sent();
  ASSERT_EQ(events.size(), 2u);
  const core::Event& event = events[events[0].involved_object().name() == "web" ? 0 : 1];
  EXPECT_EQ(event.count(), 2);
  EXPECT_EQ(event.last_timestamp().seconds() - event.first_timestamp().seconds(), 2);
  Record("same");
  EXPECT_EQ(Sent().size(), 3u) << "a new one, now that the first is gone";
}

TEST_F(EventRecorderTest, WaitsForUrgentWorkButNotForEver) {
  busy_ = true;
  Start();
  Record("a");
  for (int i = 0; i < 49; ++i) {
    clock_.Advance(100ms);
    Drain(io_);
  }
  EXPECT_EQ(Sent().size(), 0u);
  clock_.Advance(100ms);
  EXPECT_EQ(Sent().size(), 1u);
}

TEST_F(EventRecorderTest, GoesOnWhenUrgentWorkIsDone) {
  busy_ = true;
  Start();
  Record("a");
  busy_ = false;
  clock_.Advance(100ms);
  EXPECT_EQ(Sent().size(), 1u);
}

TEST_F(EventRecorderTest, WaitsForMoreThanAGapInUrgentWork) {
  options_.settle = 200ms;
  EventRecorder recorder(api_, clock_, options_);
  tasks_.Spawn("settling", recorder.Run());
  auto record = [&](const char* about) { recorder.Record(ReferenceTo(core::Pod(MakePod(about))), false, "Done", ""); };
  record("a");
  clock_.Advance(100ms);
  EXPECT_EQ(Sent().size(), 0u);
  record("b");
  clock_.Advance(100ms);
  EXPECT_EQ(Sent().size(), 0u) << "b is a sign of work";
  clock_.Advance(100ms);
  EXPECT_EQ(Sent().size(), 2u);
  EXPECT_THAT(Stop(), IsOk()) << "before the recorder goes";
}

TEST_F(EventRecorderTest, WhatHasWaitedLongGoesOutOneByOne) {
  busy_ = true;
  Start();
  for (const char* message : {"1", "2", "3"}) Record(message);
  clock_.Advance(5s);
  EXPECT_EQ(Sent().size(), 1u);
  clock_.Advance(49ms);
  EXPECT_EQ(Sent().size(), 1u);
  clock_.Advance(1ms);
  EXPECT_EQ(Sent().size(), 2u);
  clock_.Advance(50ms);
  EXPECT_EQ(Sent().size(), 3u);
}

TEST_F(EventRecorderTest, CountsWhatDoesNotFit) {
  for (const char* message : {"1", "2", "3", "4", "5"}) Record(message);
  EXPECT_EQ(recorder_.dropped(), 2u);
  Record("1");
  EXPECT_EQ(recorder_.dropped(), 2u) << "a repeat needs no room";
  Start();
  EXPECT_EQ(Sent().size(), 3u);
}

TEST_F(EventRecorderTest, AWarningTakesThePlaceOfAnotherEvent) {
  for (const char* message : {"1", "2", "3"}) Record(message);
  auto warn = [&](const char* message) {
    recorder_.Record(ReferenceTo(core::Pod(MakePod("web").Uid("u1"))), /*warning=*/true, "NoImage", message);
  };
  for (const char* message : {"a", "b", "c", "d"}) warn(message);
  EXPECT_EQ(recorder_.dropped(), 4u);
  Record("3");
  EXPECT_EQ(recorder_.dropped(), 5u) << "it does not wait any more";
  Start();
  std::vector<std::string> messages;
  for (const core::Event& event : Sent()) messages.push_back(event.message());
  EXPECT_THAT(messages, testing::UnorderedElementsAre("a", "b", "c"));
}

TEST_F(EventRecorderTest, RefusedEventsAreDroppedAndTheNextGoOut) {
  api_.FailNext(Error::PermissionDenied("namespace is terminating"), "POST");
  Start();
  Record("1");
  Record("2");
  EXPECT_EQ(Sent().size(), 1u);
  EXPECT_EQ(recorder_.dropped(), 1u);
  EXPECT_EQ(api_.CountCalls("POST"), 2);
}

TEST_F(EventRecorderTest, MessagesAreBoundedUtf8) {
  Start();
  Record(std::string(1023, 'x') + "\xc3\xa9");  // an e with an accent that would end at byte 1025
  Record("a\xff\xfe b");
  std::vector<core::Event> events = Sent();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].message(), std::string(1023, 'x'));
  EXPECT_EQ(events[1].message(), "a?? b");
}

TEST_F(EventRecorderTest, LongNamesStayValid) {
  Start();
  Record("a", std::string(253, 'n'));
  EXPECT_LE(Sent().at(0).metadata().name().size(), 253u);
}

TEST_F(EventRecorderTest, StopSendsTheRest) {
  busy_ = true;
  Start();
  Record("1");
  Record("2");
  EXPECT_THAT(Stop(), IsOk());
  EXPECT_EQ(Sent().size(), 2u);
}

TEST_F(EventRecorderTest, StopDoesNotWaitForAServerThatIsAway) {
  busy_ = true;
  Start();
  Record("1");
  Record("2");
  api_.Stop();
  EXPECT_THAT(Stop(), IsOk());
  EXPECT_EQ(recorder_.dropped(), 2u);
  EXPECT_EQ(api_.CountCalls("POST"), 1);
}

}  // namespace
}  // namespace kube
