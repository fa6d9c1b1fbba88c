// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/event_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

struct CountingObserver final : EventObserver {
  void OnWaiting(size_t) override {}
  void OnDropped(size_t events) override { dropped += events; }

  size_t dropped = 0;
};

class EventRecorderTest : public testing::Test {
 protected:
  ~EventRecorderTest() override { EXPECT_THAT(Stop(), IsOk()); }

  Result<> Stop() { return kube::Run(io_, tasks_.Stop(clock_, 10s)); }
  void Start() {
    tasks_.Spawn("events", recorder_.Run());
    Drain(io_);
  }
  void Record(const std::string& message, const std::string& pod = "web") {
    recorder_.Record(ReferenceTo(core::Pod(MakePod(pod).Uid("u1"))), /*warning=*/false, "Placed",
                     message);
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
  CountingObserver observer_;
  EventRecorderOptions options_{.component = "labeler",
                                .capacity = 3,
                                .busy = [this] { return busy_; },
                                .settle = Duration::zero(),
                                .observer = &observer_};
  EventRecorder recorder_{api_, clock_, options_};
};

// A shard and the cluster controller may release a pod at the same time.
TEST_F(EventRecorderTest, EventsOfTwoProcessesAtOneTimeHaveTwoNames) {
  EventRecorder other(api_, clock_, options_);
  tasks_.Spawn("events-of-another-process", other.Run());
  Start();
  const core::ObjectReference pod = ReferenceTo(core::Pod(MakePod("web").Uid("u1")));
  recorder_.Record(pod, /*warning=*/false, "Removed", "the local gate");
  other.Record(pod, /*warning=*/false, "Removed", "the cluster gate");
  std::vector<std::string> messages;
  for (const core::Event& event : Sent()) messages.push_back(event.message());
  EXPECT_THAT(messages, testing::UnorderedElementsAre("the local gate", "the cluster gate"));
  EXPECT_THAT(Stop(), IsOk());
}

TEST_F(EventRecorderTest, WritesWhatKubectlShows) {
  Start();
  recorder_.Record(ReferenceTo(core::Pod(MakePod("web").Uid("u1"))), /*warning=*/true, "NoImage",
                   "gone");
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
  EXPECT_EQ(event.source().component(), "labeler");
  EXPECT_EQ(event.reporting_component(), "labeler");
  EXPECT_EQ(event.count(), 1);
  EXPECT_EQ(event.first_timestamp().seconds(),
            std::chrono::system_clock::to_time_t(clock_.WallNow()));
}

TEST_F(EventRecorderTest, EventsOfClusterScopedObjectsGoToDefault) {
  Start();
  core::ObjectReference about;
  about.set_kind("ClusterWidget");
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
  EXPECT_EQ(Sent().size(), 3u) << "a new event, as the first was sent";
}

TEST_F(EventRecorderTest, WaitsForUrgentWorkAtMostMaxWait) {
  busy_ = true;
  Start();
  Record("a");
  for (int i = 0; i < 29; ++i) {
    clock_.Advance(100ms);
    Drain(io_);
  }
  EXPECT_EQ(Sent().size(), 0u);
  clock_.Advance(100ms);
  EXPECT_EQ(Sent().size(), 1u);
}

TEST_F(EventRecorderTest, SendsWhenUrgentWorkIsDone) {
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
  auto record = [&](const char* about) {
    recorder.Record(ReferenceTo(core::Pod(MakePod(about))), false, "Done", "");
  };
  record("a");
  clock_.Advance(100ms);
  EXPECT_EQ(Sent().size(), 0u);
  record("b");
  clock_.Advance(100ms);
  EXPECT_EQ(Sent().size(), 0u) << "the new event counts as urgent work";
  clock_.Advance(100ms);
  EXPECT_EQ(Sent().size(), 2u);
  EXPECT_THAT(Stop(), IsOk()) << "before the recorder is destroyed";
}

// An API server with response latency, by the fake clock.
class SlowClient final : public Client {
 public:
  SlowClient(FakeApiServer& api, Clock& clock, Duration latency)
      : api_(api), clock_(clock), latency_(latency) {}

  Async<ApiResponse> Call(ApiRequest request) override {
    max_in_flight_ = std::max(max_in_flight_, ++in_flight_);
    Result<> slept = co_await clock_.Sleep(latency_);
    --in_flight_;
    if (!slept) co_return slept.error();
    Result<ApiResponse> response = co_await api_.Call(std::move(request));
    co_return response;
  }
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest) override {
    co_return Error::Unavailable("no watches here");
  }
  int max_in_flight() const { return max_in_flight_; }

 private:
  FakeApiServer& api_;
  Clock& clock_;
  Duration latency_;
  int in_flight_ = 0;
  int max_in_flight_ = 0;
};

class SlowServerTest : public EventRecorderTest {
 protected:
  void StartWith(size_t capacity) {
    options_.capacity = capacity;
    options_.settle = 200ms;
    slow_.emplace(slow_client_, clock_, options_);
    tasks_.Spawn("events", slow_->Run());
    Drain(io_);
  }
  void RecordSlow(int number) {
    slow_->Record(ReferenceTo(core::Pod(MakePod("web-" + std::to_string(number)).Uid("u1"))),
                  /*warning=*/false, "Placed", "");
  }
  void Pass(Duration time) {
    for (Duration passed{}; passed < time; passed += 10ms) {
      clock_.Advance(10ms);
      Drain(io_);
    }
  }

  SlowClient slow_client_{api_, clock_, 10ms};
  std::optional<EventRecorder> slow_;
};

TEST_F(SlowServerTest, EventsOfABurstAreSentAfterIt) {
  StartWith(10'000);
  busy_ = true;
  for (int i = 0; i < 8'000; ++i) RecordSlow(i);
  Pass(2s);
  EXPECT_EQ(Sent().size(), 0u) << "urgent work comes first";
  busy_ = false;
  Pass(10s + 500ms);
  EXPECT_EQ(Sent().size(), 8'000u);
  EXPECT_EQ(observer_.dropped, 0u);
  EXPECT_EQ(slow_client_.max_in_flight(), 8);
  EXPECT_THAT(Stop(), IsOk()) << "before the recorder is destroyed";
}

TEST_F(SlowServerTest, DuringUrgentWorkEachEventIsSentWithinTenSeconds) {
  StartWith(10'000);
  // 50 events a second: there is never a gap of 200 ms.
  for (int i = 0; i < 1'000; ++i) {
    RecordSlow(i);
    Pass(20ms);
    ASSERT_GE(static_cast<int>(Sent().size()), i - 500) << "the events of ten seconds ago";
  }
  EXPECT_EQ(slow_client_.max_in_flight(), 1);
  busy_ = false;
  Pass(20s);
  EXPECT_THAT(Stop(), IsOk()) << "before the recorder is destroyed";
}

TEST_F(SlowServerTest, DuringUrgentWorkEventsUseHalfOfOneConnection) {
  StartWith(10'000);
  busy_ = true;
  for (int i = 0; i < 1'000; ++i) RecordSlow(i);
  Pass(3s);
  size_t before = Sent().size();
  Pass(2s);
  EXPECT_NEAR(static_cast<double>(Sent().size() - before), 100, 10)
      << "2 s, 10 ms each, and pauses as long as what was sent before";
  EXPECT_EQ(slow_client_.max_in_flight(), 1);
  busy_ = false;
  Pass(20s);
  EXPECT_THAT(Stop(), IsOk()) << "before the recorder is destroyed";
}

TEST_F(SlowServerTest, TheEventsOfAPodUseOneConnection) {
  StartWith(10'000);
  for (int i = 0; i < 5; ++i) RecordSlow(i);
  Pass(1s);
  EXPECT_EQ(Sent().size(), 5u);
  EXPECT_EQ(slow_client_.max_in_flight(), 1);
  EXPECT_THAT(Stop(), IsOk()) << "before the recorder is destroyed";
}

// 100 events a second, as many as one connection can send without pauses.
TEST_F(SlowServerTest, EventsThatFallBehindAreSentWithoutPauses) {
  StartWith(10'000);
  for (int i = 0; i < 2'000; ++i) {
    RecordSlow(i);
    Pass(10ms);
    if (i % 100 != 0) continue;
    ASSERT_GE(static_cast<int>(Sent().size()), i - 1'000) << "the events of ten seconds ago";
  }
  EXPECT_LE(slow_client_.max_in_flight(), 2);
  EXPECT_EQ(observer_.dropped, 0u);
  Pass(20s);
  EXPECT_EQ(Sent().size(), 2'000u);
  EXPECT_THAT(Stop(), IsOk()) << "before the recorder is destroyed";
}

TEST_F(EventRecorderTest, KeepsEventsWhileTheServerIsUnavailable) {
  Start();
  api_.Stop();
  for (const char* message : {"1", "2", "3"}) Record(message);
  for (int i = 0; i < 60; ++i) {
    Drain(io_);
    clock_.Advance(1s);
  }
  Drain(io_);
  EXPECT_LT(api_.CountCalls("POST"), 20) << "with backoff";
  api_.Start();
  clock_.Advance(10s);
  EXPECT_EQ(Sent().size(), 3u);
  EXPECT_EQ(observer_.dropped, 0u);
}

TEST_F(EventRecorderTest, AnEventThatCannotBeSentForTenMinutesIsDropped) {
  Start();
  api_.Stop();
  Record("1");
  for (int i = 0; i < 62; ++i) {
    Drain(io_);
    clock_.Advance(10s);
  }
  Drain(io_);
  EXPECT_EQ(observer_.dropped, 1u);
  EXPECT_EQ(recorder_.size(), 0u);
}

TEST_F(EventRecorderTest, AnEventThatAlreadyExistsIsNotSentAgain) {
  api_.FailNext(Error::AlreadyExists("events \"web.1\" already exists"), "POST");
  Start();
  Record("1");
  Drain(io_);
  EXPECT_EQ(api_.CountCalls("POST"), 1);
  EXPECT_EQ(observer_.dropped, 0u);
}

TEST_F(EventRecorderTest, HonoursRetryAfter) {
  api_.FailNext(Error::Throttled("too many requests").WithRetryAfter(5s), "POST");
  Start();
  Record("1");
  Drain(io_);
  clock_.Advance(4s);
  EXPECT_EQ(Sent().size(), 0u);
  clock_.Advance(1s);
  EXPECT_EQ(Sent().size(), 1u);
}

TEST_F(EventRecorderTest, CountsDroppedEvents) {
  for (const char* message : {"1", "2", "3", "4", "5"}) Record(message);
  EXPECT_EQ(observer_.dropped, 2u);
  Record("1");
  EXPECT_EQ(observer_.dropped, 2u) << "a repetition needs no room";
  Start();
  EXPECT_EQ(Sent().size(), 3u);
}

TEST_F(EventRecorderTest, AWarningReplacesANormalEvent) {
  for (const char* message : {"1", "2", "3"}) Record(message);
  auto warn = [&](const char* message) {
    recorder_.Record(ReferenceTo(core::Pod(MakePod("web").Uid("u1"))), /*warning=*/true, "NoImage",
                     message);
  };
  for (const char* message : {"a", "b", "c", "d"}) warn(message);
  EXPECT_EQ(observer_.dropped, 4u);
  Record("3");
  EXPECT_EQ(observer_.dropped, 5u) << "it is no longer queued";
  Start();
  std::vector<std::string> messages;
  for (const core::Event& event : Sent()) messages.push_back(event.message());
  EXPECT_THAT(messages, testing::UnorderedElementsAre("a", "b", "c"));
}

TEST_F(EventRecorderTest, RefusedEventsAreDroppedAndTheNextAreSent) {
  api_.FailNext(Error::PermissionDenied("namespace is terminating"), "POST");
  Start();
  Record("1");
  Record("2");
  EXPECT_EQ(Sent().size(), 1u);
  EXPECT_EQ(observer_.dropped, 1u);
  EXPECT_EQ(api_.CountCalls("POST"), 2);
}

TEST_F(EventRecorderTest, MessagesAreBoundedUtf8) {
  Start();
  Record(std::string(1023, 'x') + "\xc3\xa9");  // a two-byte character that ends at byte 1025
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

TEST_F(EventRecorderTest, StopSendsTheRemainingEvents) {
  busy_ = true;
  Start();
  Record("1");
  Record("2");
  EXPECT_THAT(Stop(), IsOk());
  EXPECT_EQ(Sent().size(), 2u);
}

TEST_F(EventRecorderTest, StopDoesNotWaitForAServerThatWasUnavailableBefore) {
  Start();
  api_.Stop();
  Record("1");
  Record("2");
  Drain(io_);
  int before = api_.CountCalls("POST");
  EXPECT_THAT(Stop(), IsOk());
  EXPECT_EQ(api_.CountCalls("POST"), before + 1);
}

TEST_F(EventRecorderTest, StopDoesNotWaitForAServerThatIsUnavailable) {
  busy_ = true;
  Start();
  Record("1");
  Record("2");
  api_.Stop();
  EXPECT_THAT(Stop(), IsOk());
  EXPECT_EQ(observer_.dropped, 2u);
  EXPECT_EQ(api_.CountCalls("POST"), 1);
}

}  // namespace
}  // namespace kube
