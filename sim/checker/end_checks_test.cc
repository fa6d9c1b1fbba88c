// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/end_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kOperatorNs[] = "openshift-multiarch-tuning-operator";
constexpr char kAdmission[] = "admissionregistration.k8s.io";

// What the checks at the end find, without those of events and statuses.
std::vector<std::string> AtEnd(TestRun& run, Time faults_ended = {}) {
  run.Finish(faults_ended, {.dropped = 1});
  std::vector<std::string> found;
  for (const std::string& rule : run.Found()) {
    if (rule != "status") found.push_back(rule);
  }
  return found;
}

// ---- I3

TEST(NoPodWaits, ReleasedPodDoesNot) {
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  run.WritePod(kController, Placed(pod, {"amd64", "arm64"}));
  run.Advance(1h);
  EXPECT_THAT(AtEnd(run), IsEmpty()) << run.Described();
}

TEST(NoPodWaits, GatedPodDoes) {
  TestRun run;
  run.CreatePod(Pod("web"));
  run.Advance(1h);
  EXPECT_THAT(AtEnd(run), ElementsAre("I3")) << run.Described();
}

TEST(NoPodWaits, DeletedPodDoesNot) {
  TestRun run;
  run.CreatePod(Pod("web"));
  run.Delete(kUser, "", "pods", "shop", "web");
  run.Advance(1h);
  EXPECT_THAT(AtEnd(run), IsEmpty()) << run.Described();
}

TEST(NoPodWaits, TimeSinceTheLastFaultCounts) {
  TestRun run;
  run.CreatePod(Pod("web"));
  run.Advance(1h);
  EXPECT_THAT(AtEnd(run, run.now() - 1min), IsEmpty()) << run.Described();
}

TEST(NoPodWaits, TimesOfTheConfigurationCount) {
  TestRun run;
  run.SetCluster({{"inspectionRetryPeriod", "1h"}});
  run.CreatePod(Pod("web"));
  run.Advance(1h);
  EXPECT_THAT(AtEnd(run), IsEmpty()) << run.Described();
}

TEST(NoPodWaits, GatesOfOtherControllersAreAReason) {
  TestRun run;
  Json pod = run.CreatePod(Gated(Pod("web"), "kueue.x-k8s.io/admission"));
  run.Advance(24h);
  EXPECT_THAT(AtEnd(run), IsEmpty()) << run.Described();
}

TEST(NoPodWaits, GatesOfOtherControllersForSevenDays) {
  TestRun run;
  Json pod = run.CreatePod(Gated(Pod("web"), "kueue.x-k8s.io/admission"));
  run.Advance(8 * 24h);
  EXPECT_THAT(AtEnd(run), ElementsAre("I3")) << run.Described();
}

TEST(NoPodWaits, LocalGateWaitsForNobody) {
  TestRun run;
  run.SetConfig("arm", Prefers({{"arm64", 75}}));
  run.CreatePod(Gated(Pod("web"), "kueue.x-k8s.io/admission"), /*local=*/true);
  run.Advance(1h);
  EXPECT_THAT(AtEnd(run), ElementsAre("I3")) << run.Described();
}

TEST(NoPodWaits, RefusedWritesAreAReason) {
  TestRun run;
  run.CreatePod(Pod("web"));
  run.Advance(1h);
  run.facts().refusals.Add(kController, {"shop", "web"}, run.now() - 10s);
  EXPECT_THAT(AtEnd(run), IsEmpty()) << run.Described();
}

TEST(NoPodWaits, WithoutConfigurationOnlyThePodsOfAuthorsDo) {
  TestRun run;
  run.CreatePod(Pod("web"));
  Json mine = Pod("mine");
  mine["spec"]["schedulingGates"] = Json::array({{{"name", std::string(api::kClusterGate)}}});
  run.Write(kUser, "", "pods", mine, "", mine);
  run.DeleteCluster();
  run.Advance(1h);
  run.Finish();
  ASSERT_THAT(run.Found(), ElementsAre("I3")) << run.Described();
  EXPECT_EQ(run.checker().violations()[0].object, "pods shop/web");
}

TEST(NoPodWaits, NoOperatorUngatesWhatIsStoredAfterItsEnd) {
  TestRun run;
  const std::string name = "multiarch-tuning-operator-0";
  run.Write(kUser, "", "pods", {{"metadata", {{"name", name}, {"namespace", kOperatorNs}}}});
  run.CreatePod(Pod("early"));
  run.Advance(1s);
  run.Delete(kUser, "", "pods", kOperatorNs, name);
  run.CreatePod(Pod("late"));
  run.Delete(kUser, "", "namespaces", "", kOperatorNs);
  run.Advance(1h);
  ASSERT_THAT(AtEnd(run), ElementsAre("I3")) << run.Described();
  EXPECT_EQ(run.checker().violations()[0].object, "pods shop/early");
}

// ---- I7

class LeftoversTest : public testing::Test {
 protected:
  void Create(const std::string& group, const std::string& plural, const std::string& ns,
              const std::string& name, const std::string& user = kOperatorUser) {
    Json metadata = {{"name", name}};
    if (!ns.empty()) metadata["namespace"] = ns;
    run_.Write(user, group, plural, {{"metadata", metadata}});
  }
  // The shard of shop.
  void CreateShard() {
    Create("", "services", "shop", "pod-placement-shard-web-hook");
    Create(kAdmission, "mutatingwebhookconfigurations", "", "pod-placement-shard-shop");
    Create("", "secrets", kOperatorNs, "pod-placement-shard-ca-shop");
    Create("coordination.k8s.io", "leases", "shop", "pod-placement-shard-controller", kShardOfShop);
  }
  void RemoveShard() {
    run_.Delete(kOperatorUser, "", "services", "shop", "pod-placement-shard-web-hook");
    run_.Delete(kOperatorUser, kAdmission, "mutatingwebhookconfigurations", "",
                "pod-placement-shard-shop");
    run_.Delete(kOperatorUser, "", "secrets", kOperatorNs, "pod-placement-shard-ca-shop");
    run_.Delete(kOperatorUser, "coordination.k8s.io", "leases", "shop",
                "pod-placement-shard-controller");
    run_.Delete(kOperatorUser, "coordination.k8s.io", "leases", "shop",
                "pod-placement-announcements");
  }

  TestRun run_;
};

TEST_F(LeftoversTest, NothingMustGoWhileItIsConfigured) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  CreateShard();
  Create("", "services", kOperatorNs, "pod-placement-web-hook");
  run_.Advance(1h);
  EXPECT_THAT(AtEnd(run_), IsEmpty()) << run_.Described();
}

TEST_F(LeftoversTest, ShardIsRemovedWithTheLastConfig) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  CreateShard();
  run_.DeleteConfig("arm");
  RemoveShard();
  run_.Advance(1h);
  EXPECT_THAT(AtEnd(run_), IsEmpty()) << run_.Described();
}

TEST_F(LeftoversTest, ShardStaysWithoutConfig) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  CreateShard();
  run_.DeleteConfig("arm");
  run_.Advance(1h);
  // With the announcements.
  EXPECT_THAT(AtEnd(run_), ElementsAre("I7", "I7", "I7", "I7", "I7")) << run_.Described();
}

TEST_F(LeftoversTest, RemovalHasItsTime) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  CreateShard();
  run_.DeleteConfig("arm");
  run_.Advance(1min);
  EXPECT_THAT(AtEnd(run_), IsEmpty()) << run_.Described();
}

TEST_F(LeftoversTest, ShardInANamespaceThatNeverHadAConfig) {
  CreateShard();
  EXPECT_THAT(AtEnd(run_), ElementsAre("I7", "I7", "I7", "I7")) << run_.Described();
}

TEST_F(LeftoversTest, OperandsWithoutClusterConfig) {
  Create("", "services", kOperatorNs, "pod-placement-web-hook");
  Create("coordination.k8s.io", "leases", kOperatorNs, "multiarch-tuning-operator");
  Create("", "events", "shop", "web.1");
  Create("", "services", "shop", "shop-front", kUser);
  run_.DeleteCluster();
  run_.Advance(1h);
  run_.Finish();
  ASSERT_THAT(run_.Found(), ElementsAre("I7")) << run_.Described();
  EXPECT_EQ(run_.checker().violations()[0].object,
            "services openshift-multiarch-tuning-operator/pod-placement-web-hook");
}

TEST_F(LeftoversTest, NothingWithoutTheOperatorsNamespace) {
  Create(kAdmission, "validatingwebhookconfigurations", "",
         "multiarch-tuning-operator-validating-webhook-configuration");
  run_.Delete(kUser, "", "namespaces", "", kOperatorNs);
  run_.Advance(1h);
  EXPECT_THAT(AtEnd(run_), ElementsAre("I7")) << run_.Described();
}

TEST_F(LeftoversTest, NamespaceIsNotKept) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  Create("", "services", "shop", "pod-placement-shard-web-hook");
  run_.SetNamespace("shop", Json::object(), /*deleting=*/true);
  run_.Advance(1h);
  EXPECT_THAT(AtEnd(run_), ElementsAre("I7", "I7")) << run_.Described();
}

}  // namespace
}  // namespace sim::checker
