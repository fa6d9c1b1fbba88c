// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/controller/rollout_reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "fleet/api/budgets.h"
#include "fleet/rollout/controller/rollout_store.h"
#include "fleet/rollout/work_kind.h"
#include "fleet/testing/hub_fixture.h"
#include "fleet/testing/make_object.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace fleet {
namespace {

using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Json;
using kube::ObjectKey;
using kube::Outcome;
using kube::Result;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const ObjectKey kWeb{"team", "web"};
constexpr char kPatient[] =
    R"({"type": "Progressive", "progressive": {"maxConcurrency": 2, "maxFailures": 1,
        "progressDeadline": "10m", "minSuccessTime": "5m"}})";

// Without minSuccessTime: every success counts at once.
constexpr char kOneMayFail[] =
    R"({"type": "Progressive", "progressive": {"maxConcurrency": 2, "maxFailures": 1,
        "progressDeadline": "10m"}})";
constexpr char kByGroup[] =
    R"({"type": "ProgressivePerGroup", "progressivePerGroup": {"progressDeadline": "10m"}})";

class FixedDecisions final : public RolloutDecisions {
 public:
  kube::Async<> WaitForSync() override { co_return kube::Ok(); }
  PlacementRollout DecidedBy(const std::string& ns, const PlacementRef& ref) const override {
    EXPECT_EQ(ns, "team");
    PlacementRollout rollout{.name = ref.name, .strategy = ref.strategy, .decided = decided};
    rollout.groups.push_back({.clusters = clusters});
    return rollout;
  }
  std::vector<std::string> clusters = {"c1", "c2", "c3"};
  bool decided = true;
};

class RolloutReconcilerTest : public HubFixture {
 protected:
  void Create() { api_.CreateJson(kFleetPodPlacements, Web()); }
  static MakeObject Web() { return MakeFleetPodPlacement(kWeb.ns, kWeb.name, "p", kTwoAtATime); }
  void Create(std::string_view strategy) {
    api_.CreateJson(kFleetPodPlacements, MakeFleetPodPlacement(kWeb.ns, kWeb.name, "p", strategy));
    Watch();
    ASSERT_THAT(Reconcile(), IsOk());
  }
  // The watch of FleetPodPlacements alone.
  void WatchFleet() {
    store_.Put(*FleetPodPlacement::FromJson(*api_.GetJson(kFleetPodPlacements, kWeb)));
  }
  // What watches do.
  void Watch() {
    auto fleet = api_.GetJson(kFleetPodPlacements, kWeb);
    if (fleet) {
      store_.Put(*FleetPodPlacement::FromJson(*fleet));
    } else {
      store_.RemoveFleet(kWeb);
    }
    RolloutStore::Works known = store_.WorksOf(kWeb);
    for (const auto& [cluster, work] : known) {
      if (!api_.GetJson(kPodPlacementWorks, {cluster, work.name}))
        store_.RemoveWork({cluster, work.name});
    }
    for (const Json& work : api_.ListJson(kPodPlacementWorks))
      store_.Put(*PodPlacementWork::FromJson(work));
  }
  Result<Outcome> Reconcile() { return kube::Run(io_, reconciler_.Reconcile({kWeb})); }
  void Change(const std::string& cluster, const Json& patch) {
    api_.PatchJson(kPodPlacementWorks, {cluster, "team.web"}, patch);
  }
  void Succeed(const std::string& cluster) {
    std::string hash =
        kube::StringAt(*api_.GetJson(kPodPlacementWorks, {cluster, "team.web"}), "spec.hash");
    Change(cluster, {{"status", {{"hash", hash}, {"phase", "Succeeded"}}}});
  }
  void Answer(const std::string& cluster, const std::string& phase, const std::string& time) {
    std::string hash =
        kube::StringAt(*api_.GetJson(kPodPlacementWorks, {cluster, "team.web"}), "spec.hash");
    Json condition = {{"type", std::string(kSucceededCondition)},
                      {"status", phase == "Succeeded" ? "True" : "False"},
                      {"reason", phase},
                      {"message", ""},
                      {"lastTransitionTime", time}};
    Change(
        cluster,
        {{"status", {{"hash", hash}, {"phase", phase}, {"conditions", Json::array({condition})}}}});
  }
  // The hub sees what was answered, and looks again after `time`.
  void Settle(kube::Duration time) {
    Watch();
    EXPECT_THAT(Reconcile(), IsOk());
    clock_.Advance(time);
    Watch();
    EXPECT_THAT(Reconcile(), IsOk());
  }
  Json Fleet() { return *api_.GetJson(kFleetPodPlacements, kWeb); }
  std::vector<std::string> TimedOut() {
    std::vector<std::string> clusters;
    Json fleet = Fleet();
    for (const Json& failure : fleet["status"]["failures"]) {
      if (failure["reason"] == "TimedOut") clusters.push_back(failure["clusterName"]);
    }
    return clusters;
  }
  // "False Progressing" of RolledOut.
  std::string Condition(std::string_view type) {
    return HubFixture::Condition(kFleetPodPlacements, kWeb, type);
  }

  FixedDecisions decisions_;
  std::vector<std::string> woken_;
  RolloutStore store_{clock_,
                      [this](const ObjectKey& fleet) { woken_.push_back(fleet.ToString()); }};
  RolloutReconciler reconciler_{api_, clock_, store_, decisions_, events_, kPodPlacementWorkKind};
};

TEST_F(RolloutReconcilerTest, RollsOutAndWritesNothingTwice) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
  EXPECT_EQ(Fleet()["metadata"]["finalizers"], Json::array({std::string(kFleetFinalizer)}));
  EXPECT_EQ(Fleet()["status"]["progressing"], 2);
  EXPECT_EQ(Condition(kRolledOut), "False Progressing");

  // Before and after the watches deliver what was written
  size_t calls = api_.calls().size();
  Result<Outcome> outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), std::chrono::milliseconds(10min));  // the deadline
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(api_.calls().size(), calls);

  for (const char* cluster : {"c1", "c2"}) Succeed(cluster);
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1", "c2", "c3"));
  Succeed("c3");
  Watch();
  outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(*outcome, Outcome::Done());
  EXPECT_EQ(Condition(kRolledOut), "True Succeeded");
}

TEST_F(RolloutReconcilerTest, WhatExceedsABudgetIsNotRolledOutAndStays) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  woken_.clear();
  store_.WakeAll();
  store_.LeaveOut(kWeb, Excess::kTotal);
  EXPECT_THAT(woken_, ElementsAre("team/web", "team/web"));
  api_.PatchJson(
      kFleetPodPlacements, kWeb,
      {{"spec", {{"clusterPodPlacementConfig", {{"spec", {{"logVerbosity", "Debug"}}}}}}}});
  int writes = api_.CountWrites();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Condition(kAccepted), "False TooLarge");
  EXPECT_THAT(kube::DumpJson(Fleet()["status"]),
              testing::HasSubstr("all fleetpodplacements of the hub may have 4194304 together"));
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
  EXPECT_EQ(api_.CountWrites(), writes + 1) << "the status";
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(api_.CountWrites(), writes + 1);

  // It can be deleted.
  api_.DeleteJson(kFleetPodPlacements, kWeb);
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), IsEmpty());
  for (const char* cluster : {"c1", "c2"}) store_.RemoveWork({cluster, "team.web"});
  EXPECT_THAT(woken_, testing::SizeIs(4));
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(api_.GetJson(kFleetPodPlacements, kWeb));
  ASSERT_THAT(Reconcile(), IsOk());
}

TEST_F(RolloutReconcilerTest, WithoutRoomClustersGetNoFirstWork) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  PodPlacementWork other{.name = "team.other", .owner_ns = "team", .owner_name = "other"};
  for (size_t i = 2; i < kMaxWorksOfNamespace; ++i) {
    other.ns = "m" + std::to_string(i);
    store_.Put(other);
  }
  for (const char* cluster : {"c1", "c2"}) Succeed(cluster);
  Watch();
  Result<Outcome> outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), std::chrono::milliseconds(RolloutReconciler::kRoomAgain));
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
  EXPECT_EQ(Condition(kRolledOut), "False TooLarge");
  EXPECT_THAT(kube::DumpJson(Fleet()["status"]), testing::HasSubstr("may have 10000 work objects"));
  EXPECT_EQ(events_.size(), 1u);

  store_.RemoveWork({other.ns, other.name});
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1", "c2", "c3"));
  EXPECT_EQ(Condition(kRolledOut), "False Progressing");
}

TEST_F(RolloutReconcilerTest, EachNamespaceHasAShareOfTheWorks) {
  auto fill = [this](const std::string& ns, size_t works) {
    PodPlacementWork work{.name = ns + ".w", .owner_ns = ns, .owner_name = "w"};
    size_t stored = 0;
    for (; stored < works && store_.HasRoom(ns); ++stored) {
      work.ns = "m" + std::to_string(stored);
      store_.Put(work);
    }
    return stored;
  };
  EXPECT_EQ(fill("a", kMaxWorks), kMaxWorksOfNamespace);
  EXPECT_EQ(fill("b", kMaxWorks), kMaxWorksBeyondShares - kMaxWorksOfNamespace + 2 * kShareOfWorks);
  EXPECT_EQ(fill("c", kMaxWorks), kShareOfWorks);
  EXPECT_EQ(fill("d", kMaxWorks), kShareOfWorks);
  // Clusters that cannot be written count, too.
  store_.Put(*FleetPodPlacement::FromJson(Json(Web())));
  std::map<std::string, FailedWrite> errors;
  for (size_t i = 0; i < 2 * kShareOfWorks; ++i) errors["m" + std::to_string(i)] = {.error = "no"};
  store_.SetUnwritten(kWeb, "h", errors);
  EXPECT_FALSE(store_.HasRoom("team"));
  EXPECT_EQ(store_.StatesOf(kWeb).size(), kShareOfWorks);
  store_.SetUnwritten(kWeb, "h", {});
  EXPECT_TRUE(store_.HasRoom("team"));
}

TEST_F(RolloutReconcilerTest, LargeObjectsAreWritten) {
  Json fleet = Web();
  fleet["spec"]["clusterPodPlacementConfig"]["metadata"]["annotations"]["a"] =
      std::string(60'000, 'a');
  api_.CreateJson(kFleetPodPlacements, fleet);
  Watch();
  EXPECT_THAT(store_.Find(kWeb)->spec.objects, IsEmpty()) << "packed";
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
  Json work = *api_.GetJson(kPodPlacementWorks, {"c2", "team.web"});
  EXPECT_EQ(work["spec"]["objects"][0]["metadata"]["annotations"]["a"], std::string(60'000, 'a'));
}

// What the pass itself has written wakes nobody.
TEST_F(RolloutReconcilerTest, ThePassThatGivesLooksAgainAtTheDeadline) {
  Create();
  Watch();
  Result<Outcome> outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
  EXPECT_EQ(outcome->delay(), std::chrono::milliseconds(10min));
}

TEST_F(RolloutReconcilerTest, AStoppedRolloutIsOneEvent) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(events_.size(), 0u);
  std::string hash =
      kube::StringAt(*api_.GetJson(kPodPlacementWorks, {"c1", "team.web"}), "spec.hash");
  Change("c1", {{"status", {{"hash", hash}, {"phase", "Failed"}}}});
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Condition(kRolledOut), "False Stopped");
  EXPECT_EQ(events_.size(), 1u);
  Change("c2", {{"status", {{"hash", hash}, {"phase", "Failed"}}}});
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Fleet()["status"]["failed"], 2);
  EXPECT_EQ(events_.size(), 1u);
}

TEST_F(RolloutReconcilerTest, AWorkThatLostItsLabelsIsNotOverwritten) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  Change("c1", {{"metadata", {{"labels", {{std::string(kWorkNamespaceLabel), "other"}}}}}});
  Watch();
  Json work = *api_.GetJson(kPodPlacementWorks, {"c1", "team.web"});
  EXPECT_EQ(store_.WorksOf(kWeb).count("c1"), 0u);
  EXPECT_THAT(Reconcile(), FailsWith(Code::kAlreadyExists));
  EXPECT_EQ(*api_.GetJson(kPodPlacementWorks, {"c1", "team.web"}), work);
}

// Time passes on the hub; the agent of c1 answers each minute, by its own clock.
TEST_F(RolloutReconcilerTest, TheTimesOfAnAgentHoldNoRollout) {
  api_.CreateJson(kFleetPodPlacements, MakeFleetPodPlacement(kWeb.ns, kWeb.name, "p", kPatient));
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  Succeed("c2");
  for (int minute = 0; minute < 6; ++minute) {
    Answer("c1", "Succeeded", "2999-01-01T00:00:00Z");
    Settle(1min);
  }
  EXPECT_EQ(Fleet()["status"]["succeeded"], 2);
  EXPECT_THAT(Works(), ElementsAre("c1", "c2", "c3"));
}

TEST_F(RolloutReconcilerTest, AnAgentThatNeverKeepsItsAnswerTimesOut) {
  api_.CreateJson(kFleetPodPlacements, MakeFleetPodPlacement(kWeb.ns, kWeb.name, "p", kPatient));
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  Succeed("c2");
  for (int minute = 0; minute < 12; ++minute) {
    Answer("c1", minute % 2 == 0 ? "Succeeded" : "Progressing", kube::FormatTime(clock_.WallNow()));
    Settle(1min);
  }
  EXPECT_EQ(Fleet()["status"]["timedOut"], 1);
  EXPECT_THAT(Works(), ElementsAre("c1", "c2", "c3")) << "one may fail";

  // Success counts again when it has lasted.
  Answer("c1", "Succeeded", kube::FormatTime(clock_.WallNow()));
  Succeed("c3");
  Settle(4min);
  EXPECT_EQ(Fleet()["status"]["timedOut"], 1);
  Settle(1min);
  EXPECT_EQ(Fleet()["status"]["succeeded"], 3);
}

TEST_F(RolloutReconcilerTest, AnAgentThatSucceedsForAMomentTimesOut) {
  Create(kOneMayFail);
  Succeed("c2");
  for (int minute = 0; minute < 24; ++minute) {
    Answer("c1", minute % 2 == 0 ? "Succeeded" : "Progressing", kube::FormatTime(clock_.WallNow()));
    Settle(1min);
    // The first success that a pass counted moved the deadline, no other one.
    bool late = minute >= 11 && minute % 2 == 1;
    EXPECT_THAT(TimedOut(), testing::Contains("c1").Times(late ? 1 : 0)) << minute;
  }
}

TEST_F(RolloutReconcilerTest, ASuccessThatNoPassCountsMovesNoDeadline) {
  Create(kOneMayFail);
  Succeed("c2");
  clock_.Advance(9min);
  Answer("c1", "Succeeded", kube::FormatTime(clock_.WallNow()));
  Watch();
  Answer("c1", "Progressing", kube::FormatTime(clock_.WallNow()));
  Settle(1min);
  EXPECT_THAT(TimedOut(), ElementsAre("c1"));
}

TEST_F(RolloutReconcilerTest, AgentsThatSucceedInTurnTimeOut) {
  decisions_.clusters = {"c1", "c2"};
  Create(kByGroup);
  for (int minute = 0; minute < 14; ++minute) {
    Answer("c1", minute % 2 == 0 ? "Succeeded" : "Progressing", kube::FormatTime(clock_.WallNow()));
    Answer("c2", minute % 2 == 1 ? "Succeeded" : "Progressing", kube::FormatTime(clock_.WallNow()));
    Settle(1min);
  }
  EXPECT_EQ(Fleet()["status"]["timedOut"], 1);
  EXPECT_EQ(Fleet()["status"]["succeeded"], 1);
}

// A rollout that is complete holds nothing.
TEST_F(RolloutReconcilerTest, ACompleteRolloutMovesDeadlinesAgain) {
  decisions_.clusters = {"c1"};
  Create(kOneMayFail);
  for (int hour = 0; hour < 3; ++hour) {
    Answer("c1", "Succeeded", kube::FormatTime(clock_.WallNow()));
    Settle(1h);
    EXPECT_EQ(Condition(kRolledOut), "True Succeeded");
    Answer("c1", "Progressing", kube::FormatTime(clock_.WallNow()));
    Settle(9min);
    EXPECT_EQ(Fleet()["status"]["progressing"], 1) << hour;
    Settle(1min);
    EXPECT_EQ(Fleet()["status"]["timedOut"], 1) << hour;
  }
}

TEST_F(RolloutReconcilerTest, TheMinSuccessTimeOfAnotherPlacementDoesNotCount) {
  Json fleet = MakeFleetPodPlacement(kWeb.ns, kWeb.name, "p", kOneMayFail);
  Json other = fleet["spec"]["placements"][0];
  other["name"] = "q";
  other["rolloutStrategy"]["progressive"]["minSuccessTime"] = "1h";
  fleet["spec"]["placements"].push_back(other);
  api_.CreateJson(kFleetPodPlacements, fleet);
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  Succeed("c2");
  Succeed("c1");
  Settle(5min);
  Answer("c1", "Progressing", kube::FormatTime(clock_.WallNow()));
  Settle(9min);
  EXPECT_THAT(TimedOut(), ElementsAre("c3")) << "it has not answered";
  Settle(1min);
  EXPECT_THAT(TimedOut(), ElementsAre("c1", "c3"));
}

// The clock of a hub of before was ahead.
TEST_F(RolloutReconcilerTest, AWorkThatWasGivenInTheFutureTimesOutAndSucceeds) {
  Create(kPatient);
  for (const char* cluster : {"c1", "c2"}) {
    Change(cluster, {{"spec", {{"givenAt", kube::FormatTime(clock_.WallNow() + 5h)}}}});
    store_.RemoveWork({cluster, "team.web"});  // as in a hub that starts
  }
  Watch();
  Succeed("c2");
  Settle(5min);
  EXPECT_EQ(Fleet()["status"]["succeeded"], 1);
  Settle(5min);
  EXPECT_THAT(TimedOut(), ElementsAre("c1"));
}

// The clock of this hub was ahead, and is set back.
TEST_F(RolloutReconcilerTest, TimesThatLieAheadCountAsNow) {
  api_.FailNext(kube::Error::FromHttpStatus(503, "", "no"), "POST /apis/multiarch");
  api_.CreateJson(kFleetPodPlacements, MakeFleetPodPlacement(kWeb.ns, kWeb.name, "p", kPatient));
  Watch();
  EXPECT_THAT(Reconcile(), FailsWith(Code::kUnavailable));  // c1 is not written
  Succeed("c2");
  Watch();
  clock_.SetWall(clock_.WallNow() - 5h);
  for (int minute = 0; minute < 10; ++minute) {
    api_.FailNext(kube::Error::FromHttpStatus(503, "", "no"), "POST /apis/multiarch");
    EXPECT_THAT(Reconcile(), FailsWith(Code::kUnavailable));
    clock_.Advance(1min);
    EXPECT_EQ(Fleet()["status"]["succeeded"], minute >= 5 ? 1 : 0) << minute;
    EXPECT_THAT(TimedOut(), IsEmpty());
  }
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(TimedOut(), ElementsAre("c1"));
}

TEST_F(RolloutReconcilerTest, AClusterThatCannotBeWrittenTimesOut) {
  api_.CreateJson(kFleetPodPlacements, MakeFleetPodPlacement(kWeb.ns, kWeb.name, "p", kPatient));
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  // Not written any more, as it may belong to somebody else.
  Change("c1", {{"metadata", {{"labels", {{std::string(kWorkNameLabel), nullptr}}}}}});
  for (int minute = 0; minute < 12; ++minute) {
    Watch();
    EXPECT_THAT(Reconcile(), FailsWith(Code::kAlreadyExists));
    if (minute == 0) Succeed("c2");
    clock_.Advance(1min);
  }
  EXPECT_EQ(Fleet()["status"]["timedOut"], 1);
  EXPECT_EQ(Fleet()["status"]["failures"][0]["clusterName"], "c1");
  EXPECT_THAT(Works(), ElementsAre("c1", "c2", "c3"));

  // No more when it can be written, or is not chosen any more.
  decisions_.clusters = {"c2", "c3"};
  Settle(0s);
  EXPECT_EQ(Fleet()["status"]["timedOut"], 0);
  EXPECT_EQ(Fleet()["status"]["removing"], 0);
}

TEST_F(RolloutReconcilerTest, AClusterThatDoesNotRemoveItsObjectsTimesOut) {
  api_.CreateJson(kFleetPodPlacements, MakeFleetPodPlacement(kWeb.ns, kWeb.name, "p", kPatient));
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  Succeed("c2");
  Change("c1", {{"metadata", {{"finalizers", {std::string(kWorkFinalizer)}}}}});
  decisions_.clusters = {"c2"};
  Settle(0s);
  EXPECT_THAT(Works(), ElementsAre("c1-", "c2"));
  decisions_.clusters = {"c1", "c2"};
  for (int minute = 0; minute < 11; ++minute) Settle(1min);
  EXPECT_EQ(Fleet()["status"]["timedOut"], 1);
  EXPECT_THAT(Works(), ElementsAre("c1-", "c2"));
}

TEST_F(RolloutReconcilerTest, OneClusterThatCannotBeWrittenStopsNoOther) {
  Create();
  Watch();
  api_.FailNext(kube::Error::NotFound("namespaces \"c1\" not found"), "POST /apis/multiarch");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kNotFound));
  EXPECT_THAT(Works(), ElementsAre("c2"));
  EXPECT_EQ(Condition(kRolledOut), "False Progressing");
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
}

TEST_F(RolloutReconcilerTest, ARefusedWriteIsRepeatedAfterAWhile) {
  constexpr char kPost[] = "POST /apis/multiarch";
  api_.FailNext(kube::Error::FromHttpStatus(422, "Invalid", "too large"), kPost, 2);
  Create();
  Watch();
  EXPECT_THAT(Reconcile(), FailsWith(Code::kInvalid));
  EXPECT_EQ(api_.CountCalls(kPost), 2) << "one cluster stops no other";
  for (int minute = 0; minute < 10; ++minute) {
    Result<Outcome> outcome = Reconcile();
    ASSERT_THAT(outcome, IsOk());
    EXPECT_EQ(outcome->delay(), std::chrono::milliseconds((10 - minute) * 1min));
    EXPECT_EQ(api_.CountCalls(kPost), 2) << minute;
    EXPECT_EQ(Fleet()["status"]["progressing"], 2);
    clock_.Advance(1min);
    Watch();
  }
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
  EXPECT_EQ(Fleet()["status"]["timedOut"], 2) << "since the first attempt";
}

TEST_F(RolloutReconcilerTest, AnotherTemplateIsWrittenAtOnceWhereOneWasRefused) {
  api_.FailNext(kube::Error::FromHttpStatus(422, "Invalid", "no"), "POST /apis/multiarch", 2);
  Create();
  Watch();
  EXPECT_THAT(Reconcile(), FailsWith(Code::kInvalid));
  api_.PatchJson(
      kFleetPodPlacements, kWeb,
      {{"spec", {{"clusterPodPlacementConfig", {{"spec", {{"logVerbosity", "Debug"}}}}}}}});
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
}

TEST_F(RolloutReconcilerTest, ARefusedClusterThatIsNotChosenAnyMoreIsForgotten) {
  api_.FailNext(kube::Error::FromHttpStatus(422, "Invalid", "no"), "POST /apis/multiarch", 2);
  Create();
  Watch();
  EXPECT_THAT(Reconcile(), FailsWith(Code::kInvalid));
  decisions_.clusters = {"c2"};
  ASSERT_THAT(Reconcile(), IsOk());
  decisions_.clusters = {"c1", "c2"};
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1"));
}

// The watch of works never had it, so it will not report its deletion.
TEST_F(RolloutReconcilerTest, AWorkThatOnlyTheStoreHasKeepsNoFleetPodPlacement) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  for (const char* cluster : {"c1", "c2"})
    api_.DeleteJson(kPodPlacementWorks, {cluster, "team.web"});
  api_.DeleteJson(kFleetPodPlacements, kWeb);
  WatchFleet();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(api_.GetJson(kFleetPodPlacements, kWeb));
}

TEST_F(RolloutReconcilerTest, AWorkThatOnlyTheStoreHasIsCreatedAgain) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  api_.DeleteJson(kPodPlacementWorks, {"c1", "team.web"});
  api_.PatchJson(
      kFleetPodPlacements, kWeb,
      {{"spec", {{"clusterPodPlacementConfig", {{"spec", {{"logVerbosity", "Debug"}}}}}}}});
  WatchFleet();
  EXPECT_THAT(Reconcile(), FailsWith(Code::kNotFound));
  EXPECT_THAT(Works(), ElementsAre("c2"));
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
}

// A 404 may also mean that the kind is not served.
TEST_F(RolloutReconcilerTest, AWorkThatExistsIsNotForgotten) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  api_.DeleteJson(kFleetPodPlacements, kWeb);
  WatchFleet();
  const kube::Error not_served =
      kube::Error::FromHttpStatus(404, "NotFound", "the server could not find the resource");
  api_.FailNext(not_served, "DELETE /apis/multiarch", 2);
  EXPECT_THAT(Reconcile(), FailsWith(Code::kNotFound));
  EXPECT_EQ(store_.WorksOf(kWeb).size(), 2u);
  api_.FailNext(not_served, "DELETE /apis/multiarch", 2);
  api_.FailNext(not_served, "GET /apis/multiarch", 2);
  EXPECT_THAT(Reconcile(), FailsWith(Code::kNotFound));
  EXPECT_EQ(store_.WorksOf(kWeb).size(), 2u);
  EXPECT_TRUE(api_.GetJson(kFleetPodPlacements, kWeb));

  // Another object of the name, which the watch has delivered meanwhile.
  store_.RemoveWork({"c1", "team.web"}, "other");
  EXPECT_EQ(store_.WorksOf(kWeb).size(), 2u);
}

TEST_F(RolloutReconcilerTest, FailuresOfADeletedFleetPodPlacementAreForgotten) {
  store_.SetUnwritten(kWeb, "h", {{"c1", {"no"}}});
  EXPECT_THAT(store_.StatesOf(kWeb), IsEmpty());

  // Deleted and created again, before the watch has seen the first.
  Create();
  Watch();
  store_.SetUnwritten(kWeb, "h", {{"c1", {"no"}}});
  EXPECT_EQ(store_.StatesOf(kWeb).size(), 1u);
  api_.DeleteJson(kFleetPodPlacements, kWeb);
  Create();
  WatchFleet();
  EXPECT_THAT(store_.StatesOf(kWeb), IsEmpty());
}

TEST_F(RolloutReconcilerTest, AWrongSpecIsReportedAndChangesNothing) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  api_.PatchJson(kFleetPodPlacements, kWeb, {{"spec", {{"placements", Json::array()}}}});
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Condition(kAccepted), "False Invalid");
  EXPECT_EQ(Condition(kRolledOut), "False Progressing");
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
}

TEST_F(RolloutReconcilerTest, AWrongSpecThatWasNeverRolledOutHasNoFinalizer) {
  api_.CreateJson(kFleetPodPlacements, Web().Set("/spec/adopt", "yes"));
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(kube::Find(Fleet(), "metadata.finalizers"), nullptr);
  EXPECT_THAT(Works(), IsEmpty());
}

TEST_F(RolloutReconcilerTest, ADeletionEndsWhenTheLastClusterIsClean) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  // The agent of c1 applied the objects, that of c2 did not.
  Change("c1", {{"metadata", {{"finalizers", {std::string(kWorkFinalizer)}}}}});
  api_.DeleteJson(kFleetPodPlacements, kWeb);
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1-"));
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_TRUE(api_.GetJson(kFleetPodPlacements, kWeb));
  EXPECT_EQ(Fleet()["status"]["removing"], 1);

  Change("c1", {{"metadata", {{"finalizers", nullptr}}}});
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(api_.GetJson(kFleetPodPlacements, kWeb));
}

TEST_F(RolloutReconcilerTest, WithoutDecisionsEveryClusterKeepsWhatItHas) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  decisions_.decided = false;
  decisions_.clusters.clear();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
  EXPECT_EQ(Condition(kRolledOut), "False NoPlacementDecisions");
}

TEST_F(RolloutReconcilerTest, TheStoreWakesWhomAChangeConcerns) {
  Create();
  Watch();
  EXPECT_THAT(woken_, IsEmpty());  // the watches are not complete
  store_.WakeAll();
  EXPECT_THAT(woken_, ElementsAre("team/web"));
  woken_.clear();
  ASSERT_THAT(Reconcile(), IsOk());
  Watch();
  EXPECT_THAT(woken_, IsEmpty());  // it is known already

  store_.PlacementChanged({"team", "p"});
  EXPECT_THAT(woken_, ElementsAre("team/web"));
  store_.PlacementChanged({"team", "other"});
  store_.PlacementChanged({"other", "p"});
  store_.PlacementChanged({"other", ""});
  EXPECT_THAT(woken_, ElementsAre("team/web"));
  store_.PlacementChanged({"team", ""});
  EXPECT_THAT(woken_, ElementsAre("team/web", "team/web"));
  woken_ = {"team/web"};

  Succeed("c1");
  Watch();
  EXPECT_THAT(woken_, ElementsAre("team/web", "team/web"));
  store_.RemoveWork({"c1", "team.web"});
  EXPECT_THAT(woken_, ElementsAre("team/web", "team/web", "team/web"));
}

TEST_F(RolloutReconcilerTest, ObjectsThatOnlyHaveTheLabelsAreIgnored) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  Json other = *api_.GetJson(kPodPlacementWorks, {"c1", "team.web"});
  PodPlacementWork work = *PodPlacementWork::FromJson(other);
  work.name = "other";
  work.ns = "c9";
  store_.Put(work);
  EXPECT_EQ(store_.WorksOf(kWeb).count("c9"), 0u);
}

}  // namespace
}  // namespace fleet
