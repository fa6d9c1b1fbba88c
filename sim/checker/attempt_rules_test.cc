// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/attempt_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kLabel[] = "multiarch.openshift.io/image-inspect-error-count";

class Attempts : public testing::Test {
 protected:
  Attempts() { run_.facts().images.SetRegistry("r.io", run_.now(), Registry::kFails); }

  // The pod after failed attempts, each recorded on the pod.
  Json FailUntil(int attempts, Time each) {
    Json pod = run_.CreatePod(Pod("web"));
    for (int attempt = 1; attempt <= attempts; ++attempt) {
      pod = run_.WritePod(kController, Failed(pod, attempt));
      run_.Advance(each);
    }
    return pod;
  }
  void GiveUp(const Json& pod, int attempts) {
    run_.WritePod(kController, WithoutGate(Failed(pod, attempts), api::kClusterGate));
  }

  TestRun run_;
};

TEST_F(Attempts, FiveInTheRetryPeriod) {
  GiveUp(FailUntil(4, 16s), 5);
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
  EXPECT_EQ(run_.checker().judged().judged, 1u);
}

TEST_F(Attempts, GaveUpTooEarly) {
  GiveUp(FailUntil(2, 16s), 3);
  EXPECT_THAT(run_.Found(), ElementsAre("inspection", "inspection")) << run_.Described();
}

TEST_F(Attempts, FiveAtOnce) {
  GiveUp(FailUntil(4, 1s), 5);
  EXPECT_THAT(run_.Found(), ElementsAre("inspection")) << run_.Described();
}

TEST_F(Attempts, FiveAtOnceByANewLeader) {
  auto lead = [&](const std::string& holder) {
    run_.Write(kController, "coordination.k8s.io", "leases",
               {{"metadata",
                 {{"namespace", "openshift-multiarch-tuning-operator"},
                  {"name", "pod-placement-controller"}}},
                {"spec", {{"holderIdentity", holder}}}});
  };
  lead("a");
  Json pod = FailUntil(4, 1s);
  lead("b");
  GiveUp(pod, 5);
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST_F(Attempts, FiveAtOnceAfterARestart) {
  Json pod = FailUntil(4, 1s);
  run_.facts().controller_ends.push_back(run_.now());
  GiveUp(pod, 5);
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST_F(Attempts, OneWhileTheConfigurationIsBeingDeleted) {
  Json pod = run_.CreatePod(Pod("web"));
  run_.SetCluster(Json::object(), /*deleting=*/true);
  GiveUp(pod, 1);
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST_F(Attempts, CountNeverFalls) {
  Json pod = FailUntil(2, 1s);
  run_.WritePod(kController, Failed(pod, 1));
  EXPECT_THAT(run_.Found(), ElementsAre("inspection")) << run_.Described();
}

TEST_F(Attempts, CountIsNotRemoved) {
  Json pod = FailUntil(1, 1s);
  run_.WritePod(kController, WithoutLabel(pod, kLabel));
  EXPECT_THAT(run_.Found(), Contains("inspection")) << run_.Described();
}

TEST_F(Attempts, CountOfAUserIsNotTheController) {
  Json pod = run_.CreatePod(Labelled(Pod("web"), kLabel, "5"));
  GiveUp(pod, 5);
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

class Takeover : public testing::Test {
 protected:
  Takeover() {
    run_.SetConfig("arm", Prefers({{"arm64", 75}}));
    pod_ = run_.CreatePod(Pod("web"), /*local=*/true);
  }
  void TakeOver() {
    Json pod = Preferring(pod_, "arm64", 75, "PodPlacementConfig-arm");
    run_.WritePod(kController, WithoutGate(Placed(pod, {"amd64", "arm64"}), api::kLocalGate));
  }

  TestRun run_;
  Json pod_;
};

TEST_F(Takeover, AfterItsTime) {
  run_.Advance(31s);
  TakeOver();
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST_F(Takeover, TooEarly) {
  run_.Advance(5s);
  TakeOver();
  EXPECT_THAT(run_.Found(), ElementsAre("takeover")) << run_.Described();
}

TEST_F(Takeover, TimeThatTheConfigurationSets) {
  run_.SetCluster({{"shardTakeoverAfter", "5s"}});
  run_.Advance(6s);
  TakeOver();
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST_F(Takeover, OfAPodThatOptsOutIsNone) {
  pod_ = run_.WritePod(kUser, Labelled(pod_, std::string(api::kExcludeLabel)));
  run_.WritePod(kController, WithoutGate(WithoutGate(pod_, api::kClusterGate), api::kLocalGate));
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

}  // namespace
}  // namespace sim::checker
