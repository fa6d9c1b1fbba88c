// SPDX-License-Identifier: Apache-2.0
#include "operator/teardown/ungate.h"

#include <gtest/gtest.h>

#include "api/names.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/gate.h"

namespace operator_ {
namespace {

using kube::Error;
using kube::MakePod;
using kube::core::Pod;

const std::string kLocal(api::kLocalGate);
const std::string kCluster(api::kClusterGate);

// Chooses these gates, or none for now, of every pod that has `gate`.
ChooseGates Choose(const std::string& gate, std::vector<std::string> gates) {
  return [gate, gates](const Pod& pod) -> std::optional<std::vector<std::string>> {
    if (!placement::HasGate(pod, gate)) return std::nullopt;
    return gates;
  };
}

class UngateTest : public testing::Test {
 protected:
  // A whole round.
  UngateRound Round(const std::string& ns, const ChooseGates& choose) {
    UngateRound round;
    steps_ = 0;
    for (bool complete = false; !complete && steps_ < 100; ++steps_) {
      kube::Result<bool> step = kube::Run(io_, UngateStep(api_, clock_, ns, choose, round, "log"));
      EXPECT_THAT(step, kube::IsOk());
      complete = step && *step;
    }
    return round;
  }
  UngateRound Drop(std::vector<std::string> gates) {
    return Round("", Choose(gates.front(), gates));
  }
  bool IsGated(const std::string& name, const std::string& gate) {
    return placement::HasGate(*api_.Get<Pod>({"ns", name}), gate);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  int steps_ = 0;
};

TEST_F(UngateTest, FindsPodsByTheGateNotByItsLabel) {
  api_.Create<Pod>(MakePod("a").Phase("Pending").Gate(kLocal));
  api_.Create<Pod>(MakePod("b").Phase("Pending").Gate(kCluster));
  api_.Create<Pod>(MakePod("c").Phase("Pending").Label(kLocal, "gated"));
  api_.Create<Pod>(MakePod("d").Namespace("other").Phase("Pending").Gate(kLocal));
  EXPECT_EQ(Round("ns", Choose(kLocal, {})).gated, 1u);
  EXPECT_EQ(Round("", Choose(kLocal, {})).gated, 2u);
  EXPECT_EQ(Round("", BothGates).gated, 3u);
}

TEST_F(UngateTest, PodsThatKeepTheirGatesAreNotWritten) {
  api_.Create<Pod>(MakePod("a").Phase("Pending").Gate(kLocal));
  UngateRound round = Round("ns", Choose(kLocal, {}));
  EXPECT_EQ(round.gated, 1u);
  EXPECT_EQ(round.ungated, 0u);
  EXPECT_EQ(api_.CountCalls("PUT"), 0);
}

TEST_F(UngateTest, ReadsAllPages) {
  for (int i = 0; i < 600; ++i)
    api_.Create<Pod>(MakePod("p" + std::to_string(1000 + i)).Phase("Pending"));
  api_.Create<Pod>(MakePod("q").Phase("Pending").Gate(kLocal));
  EXPECT_EQ(Drop({kLocal}).ungated, 1u);
}

// Others wait for the worker.
TEST_F(UngateTest, AStepIsBoundedAndTheNextOneContinues) {
  for (int i = 0; i < 600; ++i)
    api_.Create<Pod>(MakePod("p" + std::to_string(1000 + i)).Phase("Pending").Gate(kLocal));
  UngateRound round = Drop({kLocal});
  EXPECT_EQ(round.ungated, 600u);
  EXPECT_GT(steps_, 2);
  EXPECT_EQ(api_.CountCalls("PUT"), 600);
}

// As with an admission webhook that answers no write before its timeout.
TEST_F(UngateTest, SlowWritesEndAStepEarlier) {
  for (const char* name : {"a", "b", "c"})
    api_.Create<Pod>(MakePod(name).Phase("Pending").Gate(kLocal));
  api_.BeforeEach([&](const std::string& call) {
    if (call.starts_with("PUT")) clock_.Advance(std::chrono::seconds(10));
  });
  EXPECT_EQ(Drop({kLocal}).ungated, 3u);
  EXPECT_EQ(steps_, 3);
}

// The store's order is that of "namespace/name", in which "a-b/..." comes before "a/...".
TEST_F(UngateTest, NoPodIsSkippedBetweenTwoSteps) {
  for (const char* ns : {"a", "a-b", "a.b", "a0"}) {
    for (const char* name : {"x", "y"})
      api_.Create<Pod>(MakePod(name).Namespace(ns).Phase("Pending").Gate(kLocal));
  }
  api_.BeforeEach([&](const std::string& call) {
    if (call.starts_with("PUT")) clock_.Advance(std::chrono::seconds(10));
  });
  EXPECT_EQ(Drop({kLocal}).ungated, 8u);
}

TEST_F(UngateTest, RemovesOnlyTheChosenGates) {
  api_.Create<Pod>(
      MakePod("a").Phase("Pending").Gate("other").Gate(kLocal).Gate(kCluster).Label("app", "web"));
  Drop({kLocal});
  Pod pod = *api_.Get<Pod>({"ns", "a"});
  EXPECT_FALSE(placement::HasGate(pod, kLocal));
  EXPECT_TRUE(placement::HasGate(pod, kCluster));
  EXPECT_TRUE(placement::HasGate(pod, "other"));
  EXPECT_EQ(pod.metadata().labels().at("app"), "web");
  EXPECT_EQ(pod.metadata().labels().count(kCluster), 0u);
}

// I4: it would say that the preferences are decided, and the cluster controller would apply none.
TEST_F(UngateTest, NoPodGetsTheMarkOfADecision) {
  api_.Create<Pod>(MakePod("a")
                       .Phase("Pending")
                       .Gate(kLocal)
                       .Gate(kCluster)
                       .Label(kLocal, "gated")
                       .Label(kCluster, "gated"));
  api_.Create<Pod>(MakePod("b").Phase("Pending").Gate(kLocal).Label(kLocal, "gated"));
  Drop({kLocal});
  for (const char* name : {"a", "b"})
    EXPECT_EQ(api_.Get<Pod>({"ns", name})->metadata().labels().count(kLocal), 0u) << name;
  EXPECT_EQ(api_.Get<Pod>({"ns", "a"})->metadata().labels().at(kCluster), "gated");
  Round("", BothGates);
  EXPECT_EQ(api_.Get<Pod>({"ns", "a"})->metadata().labels().count(kCluster), 0u);
}

TEST_F(UngateTest, BothGatesAreRemovedInOneWrite) {
  api_.Create<Pod>(MakePod("a").Phase("Pending").Gate(kLocal).Gate(kCluster));
  Round("", BothGates);
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_EQ(api_.Get<Pod>({"ns", "a"})->spec().scheduling_gates_size(), 0);
}

TEST_F(UngateTest, APodThatFailsBlocksNoOther) {
  for (const char* name : {"a", "b"}) api_.Create<Pod>(MakePod(name).Phase("Pending").Gate(kLocal));
  api_.FailNext(Error::Unavailable("a webhook\nsays no"), "PUT");
  UngateRound round = Drop({kLocal});
  EXPECT_FALSE(IsGated("b", kLocal));
  EXPECT_EQ(DescribeFailures(round),
            "1 of 2 pods could not be ungated: ns/a (Unavailable: a webhook says no)");
}

TEST_F(UngateTest, FailuresAreNamedInBoundedNumber) {
  for (int i = 0; i < 30; ++i)
    api_.Create<Pod>(MakePod("p" + std::to_string(10 + i)).Phase("Pending").Gate(kLocal));
  api_.FailNext(Error::PermissionDenied(std::string(100'000, 'x')), "PUT", 30);
  UngateRound round = Drop({kLocal});
  EXPECT_EQ(round.failed, 30u);
  EXPECT_EQ(round.failed_pods.size(), kNamedPods);
  EXPECT_LT(DescribeFailures(round).size(), 1000u);
}

TEST_F(UngateTest, APodThatChangedIsReadAgain) {
  api_.Create<Pod>(MakePod("a").Phase("Pending").Gate(kLocal));
  bool changed = false;
  api_.BeforeEach([&](const std::string& call) {
    if (changed || !call.starts_with("PUT")) return;
    changed = true;
    api_.Update<Pod>(MakePod("a").Phase("Pending").Gate(kLocal).Label("new", "1"));
  });
  EXPECT_EQ(Drop({kLocal}).ungated, 1u);
  EXPECT_FALSE(IsGated("a", kLocal));
  EXPECT_EQ(api_.Get<Pod>({"ns", "a"})->metadata().labels().at("new"), "1");
}

TEST_F(UngateTest, ARoundWhoseListHasExpiredEndsWithoutAProof) {
  for (int i = 0; i < 600; ++i)
    api_.Create<Pod>(MakePod("p" + std::to_string(1000 + i)).Phase("Pending").Gate(kLocal));
  UngateRound round;
  ChooseGates choose = Choose(kLocal, {kLocal});
  EXPECT_FALSE(*kube::Run(io_, UngateStep(api_, clock_, "", choose, round, "log")));
  EXPECT_FALSE(*kube::Run(io_, UngateStep(api_, clock_, "", choose, round, "log")));
  api_.ExpireWatches();
  EXPECT_TRUE(*kube::Run(io_, UngateStep(api_, clock_, "", choose, round, "log")));
  EXPECT_TRUE(round.expired);
  EXPECT_EQ(Drop({kLocal}).gated, 600u - round.gated);
  EXPECT_TRUE(Drop({kLocal}).found_none());
}

}  // namespace
}  // namespace operator_
