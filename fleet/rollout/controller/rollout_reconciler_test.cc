// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/controller/rollout_reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "fleet/rollout/controller/rollout_store.h"
#include "fleet/rollout/work_kind.h"
#include "kube/controller/event_recorder.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
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

class RolloutReconcilerTest : public testing::Test {
 protected:
  void Create(const std::string& more = "{}") {
    Json fleet = kube::MustParseJson(R"({
        "apiVersion": "multiarch.openshift.io/v1alpha1", "kind": "FleetPodPlacement",
        "metadata": {"name": "web", "namespace": "team", "generation": 1},
        "spec": {"placements": [{"name": "p", "rolloutStrategy": {"type": "Progressive",
                     "progressive": {"maxConcurrency": 2, "progressDeadline": "10m"}}}],
                 "clusterPodPlacementConfig": {"spec": {"logVerbosity": "Normal"}}}})");
    fleet.merge_patch(kube::MustParseJson(more));
    api_.CreateJson(kFleetPodPlacements, fleet);
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
  // The clusters that have a work object; "c1-" while it is being deleted.
  std::vector<std::string> Works() {
    std::vector<std::string> clusters;
    for (const Json& work : api_.ListJson(kPodPlacementWorks)) {
      bool deleting = kube::Find(work, "metadata.deletionTimestamp") != nullptr;
      clusters.push_back(kube::StringAt(work, "metadata.namespace") + (deleting ? "-" : ""));
    }
    return clusters;
  }
  void Change(const std::string& cluster, const Json& patch) {
    Json work = *api_.GetJson(kPodPlacementWorks, {cluster, "team.web"});
    work.merge_patch(patch);
    api_.UpdateJson(kPodPlacementWorks, work);
  }
  void Succeed(const std::string& cluster) {
    std::string hash =
        kube::StringAt(*api_.GetJson(kPodPlacementWorks, {cluster, "team.web"}), "spec.hash");
    Change(cluster, {{"status", {{"hash", hash}, {"phase", "Succeeded"}}}});
  }
  Json Fleet() { return *api_.GetJson(kFleetPodPlacements, kWeb); }
  // "False Progressing" of RolledOut.
  std::string Condition(std::string_view type) {
    const Json fleet = Fleet();
    const Json* conditions = kube::Find(fleet, "status.conditions");
    for (const Json& condition : conditions == nullptr ? Json::array() : *conditions) {
      if (condition["type"] == type)
        return std::string(condition["status"]) + " " + std::string(condition["reason"]);
    }
    return "";
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  FixedDecisions decisions_;
  std::vector<std::string> woken_;
  RolloutStore store_{[this](const ObjectKey& fleet) { woken_.push_back(fleet.ToString()); }};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
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
  Json work = *api_.GetJson(kPodPlacementWorks, {"c1", "team.web"});
  work["metadata"]["labels"] = {{std::string(kWorkNamespaceLabel), "other"},
                                {std::string(kWorkNameLabel), "web"}};
  api_.UpdateJson(kPodPlacementWorks, work);
  Watch();
  work = *api_.GetJson(kPodPlacementWorks, {"c1", "team.web"});
  EXPECT_EQ(store_.WorksOf(kWeb).count("c1"), 0u);
  EXPECT_THAT(Reconcile(), FailsWith(Code::kAlreadyExists));
  EXPECT_EQ(*api_.GetJson(kPodPlacementWorks, {"c1", "team.web"}), work);
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

TEST_F(RolloutReconcilerTest, AWrongSpecIsReportedAndChangesNothing) {
  Create();
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  Json fleet = Fleet();
  fleet["spec"]["placements"] = Json::array();
  api_.UpdateJson(kFleetPodPlacements, fleet);
  Watch();
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Condition(kAccepted), "False Invalid");
  EXPECT_EQ(Condition(kRolledOut), "False Progressing");
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
}

TEST_F(RolloutReconcilerTest, AWrongSpecThatWasNeverRolledOutHasNoFinalizer) {
  Create(R"({"spec": {"adopt": "yes"}})");
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
