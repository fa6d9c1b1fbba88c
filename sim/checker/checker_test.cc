// SPDX-License-Identifier: Apache-2.0
// The rules that need no file of their own, and the checker as a whole.
#include "sim/checker/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

void SendEvent(TestRun& run, const std::string& name, const Json& pod, const std::string& reason,
               int count = 1) {
  run.Write(kController, "", "events",
            {{"metadata", {{"namespace", "shop"}, {"name", name}}},
             {"involvedObject", {{"uid", pod["metadata"]["uid"]}}},
             {"source", {{"component", "multiarch-tuning-operator"}}},
             {"reason", reason},
             {"count", count}});
}

class Events : public testing::Test {
 protected:
  Json Release(const std::string& name) {
    Json pod = run_.CreatePod(Pod(name));
    return run_.WritePod(kController, Placed(pod, {"amd64", "arm64"}));
  }

  TestRun run_;
};

TEST_F(Events, OneForEachRelease) {
  Json first = Release("web-1"), second = Release("web-2");
  SendEvent(run_, "1", first, "ArchAwareSchedGateRemovalSuccess");
  SendEvent(run_, "2", second, "ArchAwareSchedGateRemovalSuccess");
  run_.Finish();
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST_F(Events, LostOne) {
  Json first = Release("web-1"), second = Release("web-2");
  SendEvent(run_, "1", first, "ArchAwareSchedGateRemovalSuccess");
  SendEvent(run_, "2", second, "ArchAwarePredicateSet");
  run_.Finish();
  EXPECT_THAT(run_.Found(), ElementsAre("events")) << run_.Described();
  EXPECT_THAT(run_.Described(), HasSubstr("shop/web-2"));
}

TEST_F(Events, RepeatedOnes) {
  Json first = Release("web-1"), second = Release("web-2");
  SendEvent(run_, "1", first, "ArchAwareSchedGateRemovalSuccess");
  SendEvent(run_, "2", second, "ArchAwareSchedGateRemovalSuccess", 2);
  run_.Finish();
  EXPECT_THAT(run_.Found(), ElementsAre("events")) << run_.Described();
  EXPECT_THAT(run_.Described(), HasSubstr("shop/web-2 has 2 events of removed gates"));
}

TEST_F(Events, OneForEachGateOfATakeover) {
  Json pod = run_.CreatePod(Pod("web"), /*local=*/true);
  run_.Advance(31s);
  run_.WritePod(kController, WithoutGate(WithoutGate(pod, api::kLocalGate), api::kClusterGate));
  SendEvent(run_, "1", pod, "ArchAwareSchedGateRemovalSuccess", 2);
  run_.Finish();
  EXPECT_THAT(run_.Found(), Not(Contains("events"))) << run_.Described();
}

TEST_F(Events, CountedOnes) {
  Release("web-1");
  Release("web-2");
  Json third = Release("web-3");
  uint64_t version = std::stoull(third["metadata"]["resourceVersion"].get<std::string>());
  run_.Finish({}, {.dropped = 1, .lost_with_process = 1, .unacknowledged = {version}});
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST_F(Events, OfTheOperatorsTeardownAreNone) {
  run_.SetCluster(Json::object(), /*deleting=*/true);
  Json pod = run_.CreatePod(Pod("web"));
  run_.WritePod(kOperatorUser, WithoutGate(pod, api::kClusterGate));
  run_.Finish();
  EXPECT_THAT(run_.Found(), IsEmpty()) << run_.Described();
}

TEST(Rest, OnlyLeasesAreWritten) {
  TestRun run;
  Json lease = {{"metadata", {{"namespace", "shop"}, {"name", "pod-placement-shard-controller"}}}};
  Json service = {{"metadata", {{"namespace", "shop"}, {"name", "pod-placement-shard-web-hook"}}}};
  run.Write(kOperatorUser, "", "services", service);
  run.checker().BeginRest();
  run.Write(kShardOfShop, "coordination.k8s.io", "leases", lease);
  run.Write(kUser, "", "configmaps", service);
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  run.Write(kOperatorUser, "", "services", service);
  EXPECT_THAT(run.Found(), ElementsAre("rest")) << run.Described();
}

TEST(Rest, ImagesInUseAreKeptKnown) {
  Json facts = {{"metadata", {{"namespace", "operator"}, {"name", "image-facts-0"}}}};
  Json policy = {{"metadata", {{"name", "pod-placement-scheduling-gate.multiarch.openshift.io"}}}};
  Json other = {{"metadata", {{"name", "other"}}}};
  auto write = [&](TestRun& run) {
    run.checker().BeginRest();
    run.Write(kController, "multiarch.openshift.io", "imagefacts", facts);
    run.Write(kOperatorUser, "admissionregistration.k8s.io", "mutatingadmissionpolicies", policy);
  };
  TestRun placing;
  placing.SetCluster({{"knownImages", "PlaceAtCreation"}});
  write(placing);
  EXPECT_THAT(placing.Found(), testing::Not(testing::Contains("rest"))) << placing.Described();
  placing.Write(kOperatorUser, "admissionregistration.k8s.io", "mutatingadmissionpolicies", other);
  EXPECT_THAT(placing.Found(), testing::Contains("rest")) << placing.Described();
  TestRun gating;
  gating.SetCluster(Json::object());
  write(gating);
  EXPECT_THAT(gating.Found(), testing::Contains("rest")) << gating.Described();
}

TEST(CheckerTest, VersionsAscend) {
  Facts facts;
  Checker checker(facts);
  Commit commit{
      .version = 7, .plural = "configmaps", .key = {"shop", "a"}, .after = Share(Json::object())};
  checker.Add(commit);
  EXPECT_THAT(checker.violations(), IsEmpty());
  checker.Add(commit);
  ASSERT_EQ(checker.violations().size(), 1u);
  EXPECT_EQ(checker.violations()[0].rule, "commits");
}

TEST(CheckerTest, RecordingThatBeginsAfterThePod) {
  Facts facts;
  Checker checker(facts);
  Json before = Gated(Pod("web"), api::kClusterGate);
  checker.Add({.version = 7,
               .plural = "pods",
               .key = {"shop", "web"},
               .before = Share(before),
               .after = Share(WithoutGate(before, api::kClusterGate)),
               .user = kController,
               .verb = "update"});
  EXPECT_THAT(checker.violations(), IsEmpty());
  EXPECT_EQ(checker.judged().judged, 0u);
}

TEST(CheckerTest, ViolationNamesEverything) {
  TestRun run;
  run.Advance(1500ms);
  Json pod = run.CreatePod(Pod("web"));
  run.WritePod(kController, Gated(pod, api::kLocalGate));
  EXPECT_EQ(run.Described(),
            "I2 pods shop/web at 61.500 s, version 5: the cluster controller added the gate "
            "multiarch.openshift.io/local-scheduling-gate\n");
}

}  // namespace
}  // namespace sim::checker
