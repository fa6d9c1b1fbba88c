// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/ability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "api/names.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/leader.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/shard_watch.h"
#include "kube/base/task_group.h"
#include "kube/controller/event_recorder.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/counting_observer.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/fake_reviewer.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::IsOk;
using kube::MakePod;
using kube::core::Pod;
using namespace std::chrono_literals;

class AbilityTest : public testing::Test {
 protected:
  AbilityTest() {
    tasks_.Spawn("rights", ability_.Run());
    kube::Drain(io_);
  }
  ~AbilityTest() override { EXPECT_THAT(kube::Run(io_, tasks_.Stop(clock_, 1s)), IsOk()); }

  void BeginTerm() {
    ability_.BeginTerm([this] { return watches_; });
  }
  void Advance(kube::Duration time) {
    clock_.Advance(time);
    kube::Drain(io_);
  }
  // As leadership does when the replica is not able.
  void FailTerm() {
    BeginTerm();
    watches_ = {.synced = false, .failing_for = 31s};
    EXPECT_THAT(ability_.Able(), FailsWith(Code::kUnavailable));
    ability_.EndTerm();
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeReviewer api_;
  kube::TaskGroup tasks_{io_.get_executor()};
  Ability ability_{api_, clock_, "ops"};
  WatchState watches_;
};

TEST_F(AbilityTest, AReplicaThatNeverLedIsAbleAndReady) {
  EXPECT_THAT(ability_.Able(), IsOk());
  EXPECT_THAT(ability_.Ready(), IsOk());
  EXPECT_EQ(api_.calls, 0);
}

TEST_F(AbilityTest, AShortFailureOfAWatchIsNone) {
  BeginTerm();
  watches_ = {.synced = true, .failing_for = 29s};
  EXPECT_THAT(ability_.Able(), IsOk());
  EXPECT_THAT(ability_.Ready(), IsOk());
}

TEST_F(AbilityTest, AfterAFailureOthersMayLeadFirst) {
  FailTerm();
  EXPECT_THAT(ability_.Able(), FailsWith(Code::kUnavailable));
  Advance(11s);
  EXPECT_THAT(ability_.Able(), IsOk());
}

// Or the operator would see one ready replica after the other, and no outage.
TEST_F(AbilityTest, AfterAFailureAReplicaIsNotReadyUntilItsWatchesWork) {
  FailTerm();
  Advance(2min);
  EXPECT_THAT(ability_.Ready(), FailsWith(Code::kUnavailable));
  watches_ = {};
  BeginTerm();
  EXPECT_THAT(ability_.Able(), IsOk());
  EXPECT_THAT(ability_.Ready(), FailsWith(Code::kUnavailable)) << "nothing is listed yet";
  watches_.synced = true;
  EXPECT_THAT(ability_.Able(), IsOk());
  EXPECT_THAT(ability_.Ready(), IsOk());
}

// Another replica leads, and works: this one cannot prove anything.
TEST_F(AbilityTest, AReplicaThatDoesNotLeadBecomesReadyAgain) {
  FailTerm();
  Advance(6min);
  EXPECT_THAT(ability_.Ready(), IsOk());
}

TEST_F(AbilityTest, AMissingPermissionCountsUntilItIsGranted) {
  api_.denied = "update pods";
  ability_.OnForbidden();
  kube::Drain(io_);
  EXPECT_THAT(ability_.Able(),
              FailsWith(Code::kPermissionDenied, testing::HasSubstr("update pods")));
  EXPECT_THAT(ability_.Ready(), FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(api_.namespaces, (std::set<std::string>{"", "ops"}));
  api_.denied = "";
  Advance(10s);
  EXPECT_THAT(ability_.Able(), IsOk());
  EXPECT_THAT(ability_.Ready(), IsOk());
}

TEST_F(AbilityTest, APermissionThatAWatchLacksIsNamed) {
  api_.denied = "watch podplacementconfigs";
  FailTerm();
  kube::Drain(io_);
  EXPECT_THAT(ability_.Ready(),
              FailsWith(Code::kPermissionDenied, testing::HasSubstr("watch podplacementconfigs")));
}

// The Leader reports to it.
class AbilityOfLeaderTest : public testing::Test {
 protected:
  void Start() {
    tasks_.Spawn("rights", ability_.Run());
    LeaderParts parts{leader_,  io_.get_executor(), api_,     clock_, events_, known_, shards_,
                      ability_, metrics_of_pods_,   observer_};
    term_ =
        std::make_unique<Leader>(parts, LeaderOptions{.ns = "operator-ns", .files = {}}, tasks_);
    tasks_.Spawn("leader", term_->Run(tasks_));
    Pass(1s);
  }
  ~AbilityOfLeaderTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }
  void Pass(kube::Duration time) {
    for (kube::Duration step = 100ms; time > 0ms; time -= step) {
      clock_.Advance(step);
      kube::Drain(io_);
    }
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
  kube::Metrics metrics_;
  PlacementMetrics metrics_of_pods_{metrics_};
  kube::CountingObserver observer_;
  KnownPods known_{clock_};
  ShardWatch shards_{clock_};
  Ability ability_{api_, clock_, "operator-ns"};
  Leader* leader_ = nullptr;
  std::unique_ptr<Leader> term_;
};

TEST_F(AbilityOfLeaderTest, ALeaderWhoseWatchesWorkIsAble) {
  Start();
  Pass(60s);
  EXPECT_THAT(ability_.Able(), IsOk());
}

// I3: the operator must see it, as no pod is placed.
TEST_F(AbilityOfLeaderTest, ALeaderWithoutTheCrdOfConfigsIsNotAble) {
  api_.FailNext(Error::FromHttpStatus(404, "NotFound", "no such resource"), "/podplacementconfigs",
                1'000'000);
  Start();
  Pass(60s);
  EXPECT_THAT(ability_.Able(), FailsWith(Code::kUnavailable));
  EXPECT_THAT(ability_.Ready(), FailsWith(Code::kUnavailable));
}

TEST_F(AbilityOfLeaderTest, ALeaderWithoutTheRightToWritePodsIsNotAble) {
  Start();
  api_.FailNext(Error::FromHttpStatus(403, "Forbidden", "pods is forbidden"), "PUT", 1'000'000);
  api_.Create<Pod>(MakePod("web")
                       .Gate(api::kClusterGate)
                       .Label(api::kClusterGateLabel, api::kGated)
                       .Phase("Pending"));
  Pass(5s);
  EXPECT_GT(api_.CountCalls("selfsubjectaccessreviews"), 0);
}

}  // namespace
}  // namespace cluster_controller
