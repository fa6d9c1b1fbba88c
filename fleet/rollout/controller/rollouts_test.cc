// SPDX-License-Identifier: Apache-2.0
#include "fleet/rollout/controller/rollouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/field_error.h"
#include "fleet/api/manifest_work.h"
#include "fleet/rollout/controller/rollout_metrics.h"
#include "fleet/rollout/status.h"
#include "fleet/rollout/work_kind.h"
#include "fleet/testing/hub_fixture.h"
#include "fleet/testing/make_object.h"
#include "kube/base/notifier.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/run.h"

namespace fleet {
namespace {

using kube::Error;
using kube::Json;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Decisions that are known when the test says so.
class LaterDecisions final : public RolloutDecisions {
 public:
  kube::Async<> WaitForSync() override {
    while (!known_) {
      kube::Result<> waited = co_await changed_.Wait();
      if (!waited) co_return waited.error();
    }
    co_return kube::Ok();
  }
  PlacementRollout DecidedBy(const std::string&, const PlacementRef& ref) const override {
    EXPECT_TRUE(known_);
    PlacementRollout rollout{.name = ref.name, .strategy = ref.strategy};
    rollout.groups.push_back({.clusters = clusters});
    return rollout;
  }
  void Know(std::vector<std::string> known) {
    clusters = std::move(known);
    known_ = true;
    changed_.NotifyAll();
  }
  std::vector<std::string> clusters;

 private:
  bool known_ = false;
  kube::Notifier changed_;
};

// The FleetPodPlacement team/web, whose Placement is "p".
class RolloutsTest : public HubFixture {
 protected:
  explicit RolloutsTest(const WorkKind& kind = kPodPlacementWorkKind) : kind_(kind) {}
  void SetUp() override {
    api_.CreateJson(kFleetPodPlacements, MakeFleetPodPlacement("team", "web", "p"));
  }

  // What a hub of before has given to c1.
  void GiveWork() { api_.CreateJson(kPodPlacementWorks, MakeWork("c1")); }
  void Start() {
    rollouts_.Start(tasks_);
    kube::Drain(io_);
  }
  std::vector<std::string> Works() { return HubFixture::Works(kind_.resource); }

  LaterDecisions decisions_;
  const WorkKind& kind_;
  Rollouts rollouts_{{api_, clock_, events_, decisions_, nullptr, kind_}, 2};
};

// With OCM's work agents.
class ManifestWorksTest : public RolloutsTest {
 protected:
  ManifestWorksTest() : RolloutsTest(kManifestWorkKind) {}

  Json Work(const std::string& cluster) {
    std::optional<Json> work = api_.GetJson(kManifestWorks, {cluster, "team.web"});
    EXPECT_TRUE(work) << cluster;
    return work.value_or(Json::object());
  }
  // What the agent of the cluster reports.
  void Answer(const std::string& cluster, const std::string& applied) {
    Json work = Work(cluster);
    Json condition = {{"status", applied},
                      {"message", "m"},
                      {"observedGeneration", kube::IntAt(work, "metadata.generation")}};
    work["status"]["conditions"] = Json::array({condition, condition});
    work["status"]["conditions"][0]["type"] = "Applied";
    work["status"]["conditions"][1]["type"] = "Available";
    Json report = kube::MustParseJson(R"({
        "resourceMeta": {"kind": "ClusterPodPlacementConfig", "name": "cluster"},
        "statusFeedback": {"values": [{"name": "available", "fieldValue": {"string": "True"}}]}})");
    Json hash = {{"name", "hash"}};
    hash["fieldValue"]["string"] = kube::StringAt(Fleet(), "status.hash");
    report["statusFeedback"]["values"].push_back(hash);
    work["status"]["resourceStatus"]["manifests"] = Json::array({report});
    api_.UpdateJson(kManifestWorks, work);
    Settle();
  }
  // The watches deliver, and a pass follows.
  void Settle() {
    kube::Drain(io_);
    Pass(kRolloutCoalesce);
  }
  Json Fleet() {
    std::optional<Json> fleet = api_.GetJson(kFleetPodPlacements, {"team", "web"});
    EXPECT_TRUE(fleet);
    return fleet.value_or(Json::object());
  }
};

TEST_F(RolloutsTest, NothingIsRemovedBeforeTheDecisionsAreKnown) {
  GiveWork();
  Start();
  rollouts_.PlacementChanged({"team", "p"});
  for (int i = 0; i < 20; ++i) Pass(1s);
  EXPECT_EQ(api_.CountWrites(), 0);

  decisions_.Know({"c1"});
  kube::Drain(io_);
  Pass(kRolloutCoalesce);
  EXPECT_THAT(Works(), ElementsAre("c1"));
  EXPECT_EQ(api_.CountCalls("DELETE "), 0);
  EXPECT_EQ(api_.CountCalls("PATCH /apis/multiarch.openshift.io/v1alpha1/namespaces/c1/"), 1);

  // At rest.
  int writes = api_.CountWrites();
  for (int i = 0; i < 20; ++i) Pass(10s);
  EXPECT_EQ(api_.CountWrites(), writes);
}

TEST_F(RolloutsTest, NothingIsPlannedBeforeTheWorksAreKnown) {
  GiveWork();
  decisions_.Know({"c1", "c2"});
  // The CRD does not exist yet.
  api_.FailNext(Error::FromHttpStatus(404, "NotFound", "no such kind"),
                "WATCH /apis/multiarch.openshift.io/v1alpha1/podplacementworks", 3);
  Start();
  Pass(kRolloutCoalesce);
  EXPECT_EQ(api_.CountWrites(), 0);
  for (int i = 0; i < 100 && Works().size() < 2; ++i) Pass(1s);
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
  EXPECT_EQ(api_.CountCalls("POST "), 1) << "the one of c1 was known";
}

TEST_F(RolloutsTest, AClusterThatNeverAnswersTimesOut) {
  constexpr char kOneAtATime[] = R"({"type": "Progressive", "progressive":
      {"maxConcurrency": 1, "maxFailures": 1, "progressDeadline": "10m"}})";
  api_.UpdateJson(kFleetPodPlacements, MakeFleetPodPlacement("team", "web", "p", kOneAtATime));
  decisions_.Know({"c1", "c2"});
  Start();
  Pass(kRolloutCoalesce);
  EXPECT_THAT(Works(), ElementsAre("c1"));
  for (int minute = 0; minute < 9; ++minute) Pass(1min);
  EXPECT_THAT(Works(), ElementsAre("c1"));
  for (int minute = 9; minute < 20; ++minute) Pass(1min);
  EXPECT_THAT(Works(), ElementsAre("c1", "c2"));
}

TEST_F(RolloutsTest, ChangesOfDecisionsArePlannedOnce) {
  decisions_.Know({"c1"});
  Start();
  Pass(kRolloutCoalesce);
  EXPECT_THAT(Works(), ElementsAre("c1"));
  int writes = api_.CountWrites();
  for (const char* cluster : {"c2", "c3"}) {
    decisions_.clusters.push_back(cluster);
    rollouts_.PlacementChanged({"team", "p"});
    Pass(50ms);
  }
  EXPECT_EQ(api_.CountWrites(), writes);
  Pass(kRolloutCoalesce);
  EXPECT_THAT(Works(), ElementsAre("c1", "c2", "c3"));
  EXPECT_EQ(api_.CountWrites(), writes + 3) << "two works, one status";
  decisions_.clusters.clear();
  rollouts_.PlacementChanged({"team", ""});
  Pass(kRolloutCoalesce);
  EXPECT_THAT(Works(), IsEmpty());
}

TEST_F(ManifestWorksTest, ARolloutFromTheFirstObjectToTheDeletion) {
  GiveWork();  // of another kind
  const Json before = *api_.GetJson(kPodPlacementWorks, {"c1", "team.web"});
  // One of another controller, without the labels.
  api_.CreateJson(kManifestWorks, MakeObject(kManifestWorks, "c1", "addon"));
  decisions_.Know({"c1", "c2"});
  Start();
  Pass(kRolloutCoalesce);
  EXPECT_EQ(kube::IntAt(Fleet(), "status.progressing"), 2);
  EXPECT_EQ(kube::StringAt(Work("c1"), "kind"), "ManifestWork");
  EXPECT_EQ(Work("c1")["spec"]["workload"]["manifests"][0]["kind"], "ClusterPodPlacementConfig");

  Answer("c1", "False");
  Answer("c2", "True");
  EXPECT_EQ(kube::IntAt(Fleet(), "status.succeeded"), 1);
  EXPECT_EQ(Fleet()["status"]["failures"][0]["clusterName"], "c1");
  Answer("c1", "True");
  EXPECT_EQ(kube::IntAt(Fleet(), "status.succeeded"), 2);

  // At rest.
  int writes = api_.CountWrites();
  for (int i = 0; i < 20; ++i) Pass(10s);
  EXPECT_EQ(api_.CountWrites(), writes);

  // Another policy is one small patch of each; the answer stays.
  api_.PatchJson(kFleetPodPlacements, {"team", "web"}, {{"spec", {{"deletionPolicy", "Orphan"}}}});
  Settle();
  EXPECT_EQ(Work("c2")["spec"]["deleteOption"]["propagationPolicy"], "Orphan");
  EXPECT_EQ(kube::IntAt(Fleet(), "status.succeeded"), 2);

  // A changed spec is restored.
  Json wanted = Work("c2")["spec"];
  Json changed = Work("c2");
  changed["spec"]["manifestConfigs"][0]["updateStrategy"] = {{"type", "CreateOnly"}};
  api_.UpdateJson(kManifestWorks, changed);
  Settle();
  EXPECT_EQ(Work("c2")["spec"], wanted);

  api_.DeleteJson(kFleetPodPlacements, {"team", "web"});
  for (int i = 0; i < 5; ++i) Settle();
  EXPECT_FALSE(api_.GetJson(kFleetPodPlacements, {"team", "web"}));
  EXPECT_THAT(Works(), ElementsAre("c1")) << "only the one of the other controller";
  EXPECT_EQ(*api_.GetJson(kPodPlacementWorks, {"c1", "team.web"}), before);
}

TEST_F(ManifestWorksTest, WhatOcmRefusesIsAnInvalidSpec) {
  Json fleet = MakeFleetPodPlacement("team", "web", "p");
  for (int i = 0; i < 9; ++i) {
    Json config = kube::MustParseJson(R"({"metadata": {"namespace": "shop"}, "spec": {"plugins":
        {"nodeAffinityScoring": {"enabled": true, "platforms":
            [{"architecture": "arm64", "weight": 50}]}}}})");
    config["metadata"]["name"] = "p" + std::to_string(i);
    config["metadata"]["annotations"]["a"] = i < 8 ? std::string(60'000, 'x') : "";
    config["spec"]["priority"] = i;
    fleet["spec"]["podPlacementConfigs"].push_back(config);
  }
  Json& last = fleet["spec"]["podPlacementConfigs"][8]["metadata"]["annotations"]["a"];
  FleetPodPlacement parsed = *FleetPodPlacement::FromJson(fleet);
  ASSERT_EQ(api::Describe(parsed.problems), "");
  size_t bytes = ManifestsBytes(parsed.spec.objects);
  ASSERT_LT(bytes, kMaxManifestsBytes);
  last = std::string(kMaxManifestsBytes - bytes, 'x');
  api_.UpdateJson(kFleetPodPlacements, fleet);
  decisions_.Know({"c1"});
  Start();
  Pass(kRolloutCoalesce);
  EXPECT_EQ(Condition(kFleetPodPlacements, {"team", "web"}, kAccepted), "True Valid");
  EXPECT_THAT(Works(), ElementsAre("c1"));

  Json before = Work("c1")["spec"];
  Json larger = Fleet();
  larger["spec"]["podPlacementConfigs"][8]["metadata"]["annotations"]["a"] =
      last.get<std::string>() + "x";
  api_.UpdateJson(kFleetPodPlacements, larger);
  Settle();
  EXPECT_EQ(Condition(kFleetPodPlacements, {"team", "web"}, kAccepted), "False Invalid");
  EXPECT_THAT(kube::DumpJson(Fleet()["status"]), HasSubstr("at most 500 KiB together"));
  EXPECT_EQ(Work("c1")["spec"], before);
}

TEST_F(RolloutsTest, MetricsAreThereFromTheStart) {
  kube::Metrics metrics;
  const RolloutStore* store = nullptr;
  AddRolloutMetrics(metrics, [&] { return store; });
  for (std::string_view state : kRolloutStates) {
    EXPECT_THAT(metrics.Render(),
                HasSubstr("mto_fleet_rollouts{state=\"" + std::string(state) + "\"} 0"));
  }
  decisions_.Know({"c1"});
  Start();
  Pass(kRolloutCoalesce);
  store = &rollouts_.store();
  EXPECT_THAT(metrics.Render(), HasSubstr("mto_fleet_rollouts{state=\"progressing\"} 1"));
  store = nullptr;
  EXPECT_THAT(metrics.Render(), HasSubstr("mto_fleet_rollouts{state=\"progressing\"} 0"));
}

}  // namespace
}  // namespace fleet
