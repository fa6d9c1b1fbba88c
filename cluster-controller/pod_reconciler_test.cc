// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "api/node_offers.h"
#include "api/testing/make_config.h"
#include "cluster-controller/nodes/offered_architectures.h"
#include "cluster-controller/testing/fake_additions.h"
#include "cluster-controller/testing/pod_reconciler_fixture.h"
#include "kube/base/clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/architecture.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"
#include "placement/preference.h"
#include "placement/release.h"
#include "placement/requirement.h"

namespace cluster_controller {
namespace {

using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::IsOk;
using kube::MakePod;
using kube::Outcome;
using kube::Result;
using kube::core::Pod;
using placement::ArchitectureSet;
using namespace std::chrono_literals;

TEST_F(PodReconcilerTest, OneWriteSetsTheRequirementAndRemovesTheGate) {
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
}

TEST_F(PodReconcilerTest, ImagesOfAnotherOperatingSystemRequireItInTheSameWrite) {
  images_.SetPlatforms("r.io/app:1", {{"windows", "amd64", "10.0.17763"}});
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  std::map<std::string, std::string> required;
  Pod web = Web();
  const auto& terms = web.spec()
                          .affinity()
                          .node_affinity()
                          .required_during_scheduling_ignored_during_execution()
                          .node_selector_terms();
  ASSERT_EQ(terms.size(), 1);
  for (const auto& expression : terms[0].match_expressions())
    required[expression.key()] = expression.values(0);
  EXPECT_EQ(required, (std::map<std::string, std::string>{
                          {std::string(api::kArchLabel), "amd64"},
                          {std::string(api::kOsLabel), "windows"},
                          {std::string(api::kWindowsBuildLabel), "10.0.17763"}}));
}

TEST_F(PodReconcilerTest, ARegistryThatFailsIsAnEventIfTheImageIsKnown) {
  images_.SetResult("r.io/app:1", ArchitectureSet{"arm64"});
  images_.SetStale("r.io/app:1", "r.io/app:1 was read 5 minutes ago, since then: 503");
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), ArchitectureSet{"arm64"});
  EXPECT_THAT(Events(), ::testing::Contains(api::kReasonStaleInspection));
}

TEST_F(PodReconcilerTest, ImagesArePrefetchedWhileThePodHasTheLocalGate) {
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), 30s);
  EXPECT_EQ(images_.requests().size(), 1u);
  EXPECT_EQ(api_.CountCalls("PUT"), 0);
  EXPECT_TRUE(Gated());
}

TEST_F(PodReconcilerTest, ATakeoverRemovesBothGatesInOneWrite) {
  CreateConfig("prefer-arm64", "arm64");
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  ASSERT_THAT(Reconcile(), IsOk());
  clock_.Advance(30s);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_EQ(Preferences(), 1);
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_EQ(placement_metrics_.shard_takeovers.Value(), 1);
}

TEST_F(PodReconcilerTest, TheClusterConfigSaysHowLongAPodWaitsForItsShard) {
  CreateClusterConfig({{"shardTakeoverAfter", "90s"}});
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), 90s);
}

TEST_F(PodReconcilerTest, TheOldestGatedPodIsTheOneThatWaitsForLongest) {
  EXPECT_EQ(known_.OldestAge(), 0s);
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  ASSERT_THAT(Reconcile(), IsOk());
  clock_.Advance(20s);
  EXPECT_EQ(known_.OldestAge(), 20s);
  clock_.Advance(10s);
  ASSERT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(known_.OldestAge(), 0s) << "released";
}

TEST_F(PodReconcilerTest, APodWithoutTheLocalGateGetsItsPreference) {
  CreateConfig("prefer-arm64", "arm64");
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Preferences(), 1);
}

TEST_F(PodReconcilerTest, PreferencesOfTheNamespaceSwitchOffThoseOfTheClusterIfItSaysSo) {
  struct Case {
    const char* precedence;
    int preferences;
  };
  for (const Case& c : {Case{"Architecture", 2}, Case{"Namespace", 1}}) {
    api::MakeClusterConfig config;
    config.Prefer("amd64", 100).Set("/spec/plugins/nodeAffinityScoring/precedence", c.precedence);
    api_.CreateJson(kube::ResourceOf<api::ClusterPodPlacementConfig>::value, config.Build());
    // With and without the shard, and in a namespace without PodPlacementConfigs.
    kube::MakePod by_shard = GatedPod().Label(api::kLocalGateLabel, api::kRemoved);
    Pod processed = by_shard.Build();
    placement::ApplyPreferences(processed, std::vector<placement::PreferenceSource>{
                                               {placement::SourceOf("a"), {{"arm64", 75}}}});
    api_.Create<Pod>(processed);
    EXPECT_THAT(Reconcile(), IsOk());
    EXPECT_EQ(Preferences(), c.preferences) << c.precedence;
    api_.Delete<Pod>({"ns", "web"});

    api_.Create<Pod>(GatedPod());
    EXPECT_THAT(Reconcile(), IsOk());
    EXPECT_EQ(Preferences(), 1) << c.precedence;
    api_.Delete<Pod>({"ns", "web"});

    CreateConfig("prefer-arm64", "arm64");
    api_.Create<Pod>(GatedPod());
    EXPECT_THAT(Reconcile(), IsOk());
    EXPECT_EQ(Preferences(), c.preferences) << c.precedence;
    api_.Delete<Pod>({"ns", "web"});
    api_.Delete<api::PodPlacementConfig>({"ns", "prefer-arm64"});
    api_.Delete<api::ClusterPodPlacementConfig>({"", std::string(api::kClusterConfigName)});
  }
}

TEST_F(PodReconcilerTest, APodThatItsShardProcessedNeedsNoConfigs) {
  api_.Create<Pod>(GatedPod().Label(api::kLocalGateLabel, api::kRemoved));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(api_.CountCalls("GET"), 0);
}

TEST_F(PodReconcilerTest, AsksAboutTheRulesOfAPodThatNoShardProcessed) {
  client_.Enforce(CreateConfigWithRule("a", "large", "s390x"));
  api_.Create<Pod>(GatedPod().Annotation("kind", "large"));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Preferences(), 1);
  EXPECT_EQ(client_.questions(), 1);
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
}

TEST_F(PodReconcilerTest, DoesNotAskAboutRulesAfterTheShard) {
  CreateConfigWithRule("a", "large", "s390x");
  api_.Create<Pod>(GatedPod()
                       .Label(api::kLocalGateLabel, api::kRemoved)
                       .Annotation(api::kLocalTolerationsAnnotation, "a"));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(client_.questions(), 0);
}

TEST_F(PodReconcilerTest, ATakeoverUsesTheRecordAndAsksAboutTheRest) {
  CreateConfigWithRule("a", "large", "s390x");
  client_.Enforce(CreateConfigWithRule("b", "large", "ppc64le", /*priority=*/1));
  api_.Create<Pod>(GatedPod()
                       .Gate(api::kLocalGate)
                       .Annotation(api::kLocalConfigsAnnotation, "a/large")
                       .Annotation("kind", "large"));
  ASSERT_THAT(Reconcile(), IsOk());
  clock_.Advance(30s);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Preferences(), 2);
  EXPECT_EQ(client_.questions(), 1);
}

TEST_F(PodReconcilerTest, APodWaitsForItsRulesButNotForEver) {
  CreateConfigWithRule("a", "large", "s390x");
  api_.Create<Pod>(GatedPod().Annotation("kind", "large"));
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), 100ms);
  EXPECT_TRUE(Gated());
  clock_.Advance(10s);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_THAT(Events(), testing::Contains(api::kReasonRulesNotEvaluated));
}

TEST_F(PodReconcilerTest, TheClusterConfigAddsTolerationsInTheSameWrite) {
  CreateClusterConfig({{"plugins", Tolerations(true)}});
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_THAT(Tolerated(), testing::ElementsAre("amd64", "arm64"));
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_THAT(Events(), testing::Contains(api::kReasonTolerationsSet));
}

// No local gate: such a config has no entry in the shard's webhook configuration.
TEST_F(PodReconcilerTest, AConfigWithTolerationsAloneDecidesForPodsOfItsNamespace) {
  CreateClusterConfig({{"plugins", Tolerations(true)}});
  api_.Create<api::PodPlacementConfig>(api::MakeConfig("off").Tolerate(false));
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_THAT(Tolerated(), testing::IsEmpty());
}

// As FreshConfigs: also a config that the watch does not have yet.
TEST_F(PodReconcilerTest, AfterTheShardTheConfigThatItNamesDecidesAboutTolerations) {
  api_.Create<api::PodPlacementConfig>(api::MakeConfig("tolerates").Tolerate());
  api_.Create<Pod>(GatedPod()
                       .Label(api::kLocalGateLabel, api::kRemoved)
                       .Annotation(api::kLocalTolerationsAnnotation, "tolerates"));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Tolerated(), testing::ElementsAre("amd64", "arm64"));
}

// It may have changed since.
TEST_F(PodReconcilerTest, AfterTheShardThatConfigAddsNoPreferences) {
  api_.Create<api::PodPlacementConfig>(api::MakeConfig("tolerates").Tolerate().Prefer("s390x", 10));
  api_.Create<Pod>(GatedPod()
                       .Label(api::kLocalGateLabel, api::kRemoved)
                       .Annotation(api::kLocalTolerationsAnnotation, "tolerates"));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Preferences(), 0);
}

TEST_F(PodReconcilerTest, ATakeoverAddsTolerations) {
  api_.Create<api::PodPlacementConfig>(api::MakeConfig("tolerates").Tolerate());
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  ASSERT_THAT(Reconcile(), IsOk());
  clock_.Advance(30s);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_THAT(Tolerated(), testing::ElementsAre("amd64", "arm64"));
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
}

TEST_F(PodReconcilerTest, APodWithAFallbackArchitectureGetsNoTolerations) {
  CreateClusterConfig({{"fallbackArchitecture", "arm64"}, {"plugins", Tolerations(true)}});
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  api_.Create<Pod>(GatedPod().Label(api::kInspectErrorCountLabel, "5"));
  EXPECT_THAT(Reconcile(), IsOk());
  clock_.Advance(5s);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Required(), ArchitectureSet{"arm64"});
  EXPECT_THAT(Tolerated(), testing::IsEmpty());
}

TEST_F(PodReconcilerTest, AFailedInspectionIsRecordedOnThePodAndRetriedLater) {
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  api_.Create<Pod>(GatedPod());
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(outcome->delay().has_value());
  EXPECT_TRUE(Gated());
  EXPECT_EQ(placement::InspectionTries(Web(), 5), 1);

  // The event of the pod's update does not end the backoff.
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(images_.requests().size(), 1u);
  clock_.Advance(*outcome->delay());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(placement::InspectionTries(Web(), 5), 2);
}

TEST_F(PodReconcilerTest, ARecordedFailureHasImageRegistryAndCause) {
  Error error = Error::Unavailable("inspect r.io/app:1: registry r.io: 503 Service Unavailable");
  images_.SetDefault(error);
  api_.Create<Pod>(GatedPod());
  ASSERT_THAT(Reconcile(), IsOk());
  Pod web = Web();
  EXPECT_TRUE(web.metadata().labels().contains(std::string(api::kInspectErrorLabel)));
  EXPECT_EQ(placement::LabelOf(web, api::kInspectErrorCountLabel), "1");
  EXPECT_EQ(placement::AnnotationOf(web, api::kInspectErrorAnnotation), error.message());
  // One for the gate, one for the failure.
  EXPECT_EQ(events_.size(), 2u);
}

TEST_F(PodReconcilerTest, ANewLeaderContinuesTheCountAndRetriesSoon) {
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  api_.Create<Pod>(GatedPod().Label(api::kInspectErrorCountLabel, "3"));
  EXPECT_THAT(Reconcile(), IsOk());
  clock_.Advance(5s);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(placement::InspectionTries(Web(), 5), 4);
}

TEST_F(PodReconcilerTest, ANewTermOfTheSameProcessKeepsTheBackoff) {
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  api_.Create<Pod>(GatedPod());
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  ASSERT_TRUE(outcome->delay().has_value());
  kube::Duration left = *outcome->delay();
  // Terms much shorter than the backoff.
  while (left > 1s) {
    clock_.Advance(1s);
    left -= 1s;
    known_.BeginTerm();
    PodReconciler next(Parts());
    auto waiting = kube::Run(io_, next.Reconcile({{"ns", "web"}}));
    ASSERT_THAT(waiting, IsOk());
    EXPECT_EQ(waiting->delay(), std::chrono::ceil<std::chrono::milliseconds>(left));
  }
  clock_.Advance(left);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(images_.requests().size(), 2u);
}

TEST_F(PodReconcilerTest, AttemptsAreCountedIfThePodCannotBeWritten) {
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::PermissionDenied("a policy says no"), "PUT", 4);
  for (int attempt = 0; attempt < 5; ++attempt) {
    EXPECT_TRUE(Gated());
    EXPECT_THAT(Reconcile(), IsOk());
    clock_.Advance(10min);
  }
  EXPECT_FALSE(Gated());
  EXPECT_EQ(images_.requests().size(), 5u);
}

TEST_F(PodReconcilerTest, AForgedCountOnlyEndsTheAttempts) {
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  for (const char* count : {"2147483647", "99999999999", "5"}) {
    api_.Create<Pod>(GatedPod().Label(api::kInspectErrorCountLabel, count));
    EXPECT_THAT(Reconcile(), IsOk());
    clock_.Advance(5s);
    EXPECT_THAT(Reconcile(), IsOk());
    EXPECT_FALSE(Gated()) << count;
    EXPECT_EQ(placement::LabelOf(Web(), api::kInspectErrorCountLabel), "5");
    api_.Delete<Pod>({"ns", "web"});
    EXPECT_THAT(Reconcile(), IsOk());
  }
}

TEST_F(PodReconcilerTest, AfterFiveAttemptsThePodIsReleasedWithoutARequirement) {
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  api_.Create<Pod>(GatedPod());
  for (int attempt = 0; attempt < 5; ++attempt) {
    EXPECT_TRUE(Gated());
    EXPECT_THAT(Reconcile(), IsOk());
    clock_.Advance(1min);
  }
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), ArchitectureSet{});
  EXPECT_EQ(images_.requests().size(), 5u);
  EXPECT_EQ(placement::LabelOf(Web(), api::kInspectErrorCountLabel), "5");
  EXPECT_EQ(api_.CountCalls("PUT"), 5) << "the count is in the write that drops the gate";
}

TEST_F(PodReconcilerTest, TheAttemptsAreSpreadOverTheRetryPeriod) {
  CreateClusterConfig({{"inspectionRetryPeriod", "31s"}});
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  api_.Create<Pod>(GatedPod());
  std::vector<std::chrono::milliseconds> delays;
  while (Gated()) {
    auto outcome = Reconcile();
    ASSERT_THAT(outcome, IsOk());
    if (!outcome->delay()) break;
    delays.push_back(*outcome->delay());
    clock_.Advance(delays.back());
  }
  EXPECT_THAT(delays, testing::ElementsAre(1s, 3s, 9s, 18s));
  EXPECT_FALSE(Gated());
}

TEST_F(PodReconcilerTest, TheDeletionOfTheClusterConfigEndsTheAttempts) {
  CreateClusterConfig({{"fallbackArchitecture", "arm64"}});
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_TRUE(Gated());
  api_.Delete<api::ClusterPodPlacementConfig>({"", std::string(api::kClusterConfigName)});
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), ArchitectureSet{"arm64"});
}

TEST_F(PodReconcilerTest, AConflictIsAnErrorAndThePodStaysGated) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::Conflict("newer"), "PUT");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kConflict));
  EXPECT_TRUE(Gated());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
}

TEST_F(PodReconcilerTest, APodThatTheApiServerRefusesIsReleasedWithoutChanges) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::Invalid("spec: Forbidden"), "PUT");
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), ArchitectureSet{});
}

// Such as by the admission plugin PodTolerationRestriction.
TEST_F(PodReconcilerTest, RefusedTolerationsDoNotCostTheRequirement) {
  CreateClusterConfig({{"plugins", Tolerations(true)}});
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::Invalid("pod tolerations conflict with its namespace whitelist"), "PUT");
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  ASSERT_TRUE(outcome->delay().has_value());
  EXPECT_TRUE(Gated());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
  EXPECT_THAT(Tolerated(), testing::IsEmpty());
  EXPECT_THAT(Events(), testing::Contains(api::kReasonGateRemovalFailed));
}

TEST_F(PodReconcilerTest, APodRefusedWithoutTolerationsTooIsReleasedWithoutChanges) {
  CreateClusterConfig({{"plugins", Tolerations(true)}});
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::Invalid("spec: Forbidden"), "PUT", 2);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), ArchitectureSet{});
}

TEST_F(PodReconcilerTest, AnyRefusalReleasesThePodWithoutChanges) {
  for (Error refused :
       {Error::PermissionDenied("a policy says no"), Error::FromHttpStatus(451, "", "denied")}) {
    api_.Create<Pod>(GatedPod());
    api_.FailNext(refused, "PUT");
    EXPECT_THAT(Reconcile(), IsOk());
    EXPECT_FALSE(Gated());
    EXPECT_EQ(Required(), ArchitectureSet{});
    api_.Delete<Pod>({"ns", "web"});
    EXPECT_THAT(Reconcile(), IsOk());
  }
  EXPECT_THAT(Events(), testing::Contains(api::kReasonGateRemovalFailed));
}

// There are no nodes.
TEST_F(PodReconcilerTest, APodWithoutANodeGetsAnEventAfterItsRelease) {
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(api_.CountCalls("nodes"), 0);
  EXPECT_THAT(Events(), testing::Not(testing::Contains(api::kReasonNoNodeOffersArchitecture)));
  clock_.Advance(kListOffersAfter);
  kube::Drain(io_);
  EXPECT_EQ(api_.CountCalls("nodes"), 1);
  EXPECT_THAT(Events(), testing::Contains(api::kReasonNoNodeOffersArchitecture));
}

TEST_F(PodReconcilerTest, APodThatLosesOnlyItsGatesIsNotSearchedANode) {
  const std::string arch(api::kArchLabel);
  // Refused by the API server.
  api_.Create<Pod>(GatedPod().NodeSelector(arch, "arm64"));
  api_.FailNext(Error::Invalid("spec: Forbidden"), "PUT");
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  api_.Delete<Pod>({"ns", "web"});
  EXPECT_THAT(Reconcile(), IsOk());
  // It opts out.
  api_.Create<Pod>(GatedPod().NodeSelector(arch, "arm64").Label(api::kExcludeLabel, ""));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  clock_.Advance(kListOffersAfter);
  kube::Drain(io_);
  EXPECT_EQ(api_.CountCalls("nodes"), 0);
}

TEST_F(PodReconcilerTest, AfterARefusalTheLocalGateIsRemovedToo) {
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  EXPECT_THAT(Reconcile(), IsOk());
  clock_.Advance(30s);
  api_.FailNext(Error::PermissionDenied("a policy says no"), "PUT");
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Web().spec().scheduling_gates_size(), 0);
}

TEST_F(PodReconcilerTest, AMissingPermissionIsRetried) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(
      Error::PermissionDenied(R"(pods "web" is forbidden: User "x" cannot update resource "pods")"),
      "PUT");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kPermissionDenied));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
}

TEST_F(PodReconcilerTest, APodThatCannotBeWrittenIsRetriedWithOneEvent) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::PermissionDenied("a policy says no"), "PUT", 20);
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Reconcile(), FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(events_.size(), 2u) << "for the gate, and for the failure";
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_THAT(Events(), testing::Contains(api::kReasonGateRemovalFailed));
}

TEST_F(PodReconcilerTest, AFailedRemovalIsAnEvent) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::Unavailable("503"), "PUT");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kUnavailable));
  EXPECT_THAT(Events(),
              testing::UnorderedElementsAre(api::kReasonGateAdded, api::kReasonGateRemovalFailed));
}

TEST_F(PodReconcilerTest, ManyConflictsAreAnEvent) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::Conflict("newer"), "PUT", 4);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Reconcile(), FailsWith(Code::kConflict));
  EXPECT_EQ(events_.size(), 1u) << "for the gate";
  EXPECT_THAT(Reconcile(), FailsWith(Code::kConflict));
  EXPECT_EQ(events_.size(), 2u);
}

TEST_F(PodReconcilerTest, APodThatIsNotFoundIsCheckedAgain) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::NotFound("no such pod"), "PUT");
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(outcome->delay().has_value());
}

TEST_F(PodReconcilerTest, APodWithOnlyTheLocalGateWaitsForTheShard) {
  CreateConfig("prefer-arm64", "arm64");
  api_.Create<Pod>(MakePod("web")
                       .Gate(api::kLocalGate)
                       .Label(api::kLocalGateLabel, api::kGated)
                       .Image("r.io/app:1"));
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), 30s);
  clock_.Advance(30s);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_EQ(Preferences(), 1);
  EXPECT_EQ(Required(), ArchitectureSet{}) << "no cluster gate, no requirement";
  EXPECT_EQ(placement::LabelOf(Web(), api::kClusterGateLabel), "");
  EXPECT_TRUE(images_.requests().empty());
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_THAT(Events(),
              testing::IsSupersetOf({api::kReasonShardTakeover, api::kReasonGateRemoved}));
}

TEST_F(PodReconcilerTest, AHangingShardWithARenewedLeaseIsTakenOver) {
  CreateConfig("prefer-arm64", "arm64");
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  kube::apps::Deployment deployment;
  deployment.mutable_metadata()->set_namespace_("ns");
  deployment.mutable_status()->set_available_replicas(1);
  shards_.OnDeployment(kube::EventType::kAdded, deployment);
  kube::coordination::Lease lease;
  lease.mutable_metadata()->set_namespace_("ns");
  lease.mutable_spec()->set_holder_identity("whoever");
  int passes = 0;
  for (; placement::HasGate(Web(), api::kLocalGate) && passes < 20; ++passes) {
    lease.mutable_spec()->mutable_renew_time()->set_seconds(passes);
    shards_.OnLease(kube::EventType::kModified, lease);
    auto outcome = Reconcile();
    ASSERT_THAT(outcome, IsOk());
    clock_.Advance(outcome->delay().value_or(0ms));
  }
  EXPECT_LE(passes, 4);
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Preferences(), 1);
}

TEST_F(PodReconcilerTest, AnIgnoredPodLosesOnlyItsGates) {
  CreateConfig("prefer-arm64", "arm64");
  for (Pod pod :
       {Pod(MakePod("web").Gate(api::kClusterGate).Owner("apps/v1", "DaemonSet", "agent")),
        Pod(GatedPod().NodeSelector(api::kControlPlaneNodeLabel, "").Gate(api::kLocalGate)),
        Pod(MakePod("web").Gate(api::kLocalGate).Owner("apps/v1", "DaemonSet", "agent"))}) {
    api_.Create<Pod>(pod);
    EXPECT_THAT(Reconcile(), IsOk());
    EXPECT_EQ(Web().spec().scheduling_gates_size(), 0);
    EXPECT_FALSE(Web().spec().has_affinity());
    api_.Delete<Pod>({"ns", "web"});
    EXPECT_THAT(Reconcile(), IsOk());
  }
  EXPECT_TRUE(images_.requests().empty());
  EXPECT_THAT(Events(), testing::Contains(api::kReasonGatedPodIgnored));
}

TEST_F(PodReconcilerTest, AGateSetByHandInAnExcludedNamespaceIsRemoved) {
  CreateClusterConfig({{"namespaceSelector", {{"matchLabels", {{"team", "a"}}}}}});
  CreateNamespace("ns", "b");
  api_.Create<Pod>(MakePod("web").Gate(api::kClusterGate).Image("r.io/app:1"));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_FALSE(Web().spec().has_affinity());
  EXPECT_TRUE(images_.requests().empty());
  EXPECT_THAT(Events(), testing::Contains(api::kReasonGatedPodIgnored));
}

// Whether it was gated by hand, or by a webhook before it opted out.
TEST_F(PodReconcilerTest, APodThatOptsOutLosesOnlyItsGates) {
  CreateClusterConfig({{"excludedSchedulerNames", {"yunikorn", "volcano"}}});
  CreateConfig("prefer-arm64", "arm64");
  Pod scheduled = GatedPod().Gate(api::kLocalGate).Label(api::kLocalGateLabel, api::kGated);
  scheduled.mutable_spec()->set_scheduler_name("volcano");
  for (const Pod& pod :
       {scheduled, Pod(GatedPod().Label(api::kExcludeLabel, "")),
        Pod(GatedPod().Gate(api::kLocalGate).Label(api::kExcludeLabel, "")),
        Pod(MakePod("web").Gate(api::kClusterGate).Label(api::kExcludeLabel, "false")),
        Pod(MakePod("web").Gate(api::kLocalGate).Label(api::kExcludeLabel, ""))}) {
    api_.Create<Pod>(pod);
    EXPECT_THAT(Reconcile(), IsOk());
    EXPECT_EQ(Web().spec().scheduling_gates_size(), 0) << pod.ShortDebugString();
    EXPECT_FALSE(Web().spec().has_affinity());
    api_.Delete<Pod>({"ns", "web"});
    EXPECT_THAT(Reconcile(), IsOk());
  }
  EXPECT_TRUE(images_.requests().empty());
  EXPECT_THAT(Events(), testing::Contains(api::kReasonGatedPodIgnored));

  Pod other = GatedPod();
  other.mutable_spec()->set_scheduler_name("volcano2");
  api_.Create<Pod>(other);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
}

// As one that it got before the namespaceSelector changed: the pod is placed, and does not wait.
TEST_F(PodReconcilerTest, APodGatedBeforeItsNamespaceOptedOutIsReleased) {
  kube::core::Namespace ns;
  ns.mutable_metadata()->set_name("ns");
  (*ns.mutable_metadata()->mutable_labels())[std::string(api::kExcludeLabel)] = "";
  api_.Create(ns);
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  api_.Delete<Pod>({"ns", "web"});
  EXPECT_THAT(Reconcile(), IsOk());

  // Gated by hand: as in every namespace that is not selected.
  api_.Create<Pod>(MakePod("web").Gate(api::kClusterGate).Image("r.io/app:1"));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_FALSE(Web().spec().has_affinity());
}

TEST_F(PodReconcilerTest, APodGatedByHandInASelectedNamespaceIsPlaced) {
  CreateClusterConfig({{"namespaceSelector", {{"matchLabels", {{"team", "a"}}}}}});
  CreateNamespace("ns", "a");
  api_.Create<Pod>(MakePod("web").Gate(api::kClusterGate).Image("r.io/app:1"));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
}

TEST_F(PodReconcilerTest, APodGatedByHandIsPlacedIfItsNamespaceCannotBeRead) {
  CreateClusterConfig({{"namespaceSelector", {{"matchLabels", {{"team", "a"}}}}}});
  for (Error error : {Error::NotFound("gone"), Error::PermissionDenied("no")}) {
    api_.Create<Pod>(MakePod("web").Gate(api::kClusterGate).Image("r.io/app:1"));
    api_.FailNext(error, "GET /api/v1/namespaces/ns");
    EXPECT_THAT(Reconcile(), IsOk());
    EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
    api_.Delete<Pod>({"ns", "web"});
    EXPECT_THAT(Reconcile(), IsOk());
  }
  // Transient errors are retried.
  api_.Create<Pod>(MakePod("web").Gate(api::kClusterGate).Image("r.io/app:1"));
  api_.FailNext(Error::Unavailable("503"), "GET /api/v1/namespaces/ns");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kUnavailable));
  EXPECT_TRUE(Gated());
}

TEST_F(PodReconcilerTest, APodGatedByTheWebhookNeedsNoReadOfItsNamespace) {
  CreateClusterConfig({{"namespaceSelector", {{"matchLabels", {{"team", "a"}}}}}});
  api_.Create<Pod>(GatedPod().Label(api::kLocalGateLabel, api::kRemoved));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(api_.CountCalls("GET"), 0);
}

TEST_F(PodReconcilerTest, TheProcessingTimeIncludesTheInspection) {
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  std::string text = metrics_.Render();
  EXPECT_THAT(text, testing::HasSubstr("mto_ppo_ctrl_time_to_process_gated_pod_seconds_count 1"));
  EXPECT_THAT(text, testing::HasSubstr("mto_ppo_ctrl_time_to_release_pod_seconds_count 1"));
}

TEST_F(PodReconcilerTest, PodsDeletedBetweenTermsAreForgotten) {
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  EXPECT_THAT(Reconcile(), IsOk());
  api_.Delete<Pod>({"ns", "web"});
  reconciler_.ForgetDeleted();
  EXPECT_EQ(known_.size(), 0u);
}

TEST_F(PodReconcilerTest, AReleasedPodIsNotWrittenAgain) {
  Pod gated = api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  api_.Update(gated);  // as in a stale cache
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
}

TEST_F(PodReconcilerTest, ADeletedPodIsForgotten) {
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(known_.size(), 1u);
  api_.Delete<Pod>({"ns", "web"});
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(known_.size(), 0u);
}

TEST_F(PodReconcilerTest, AdditionsAreInTheSameWriteAndDecideTheArchitecture) {
  Pod added = MakePod("").Requires(api::kArchLabel, "In", {"arm64"}).NodeSelector("pool", "a");
  Add(std::make_unique<FakeAdditions>(added, clock_, clock_.Now() + 1s));
  api_.Create<Pod>(GatedPod());
  EXPECT_NE(*Reconcile(), Outcome::Done()) << "the additions are not ready";
  EXPECT_TRUE(Gated());
  clock_.Advance(1s);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), ArchitectureSet{"arm64"});
  EXPECT_EQ(Web().spec().node_selector().at("pool"), "a");
  EXPECT_TRUE(images_.requests().empty());
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_THAT(Events(), testing::Contains(FakeAdditions::kReason).Times(1));
}

TEST_F(PodReconcilerTest, RefusedAdditionsDoNotCostTheRequirement) {
  Pod added = MakePod("").Requires(api::kArchLabel, "In", {"arm64"}).NodeSelector("pool", "a");
  Add(std::make_unique<FakeAdditions>(added, clock_, clock_.Now()));
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::Invalid("not in this namespace"), "PUT");
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_TRUE(Gated());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
  EXPECT_TRUE(Web().spec().node_selector().empty());
  EXPECT_THAT(Events(), testing::Not(testing::Contains(FakeAdditions::kReason)));
}

// The record of a failed inspection is a write of the pod as the API server has it.
TEST_F(PodReconcilerTest, AFailedInspectionIsRecordedWithoutAdditions) {
  Pod added = MakePod("").NodeSelector("pool", "a");
  Add(std::make_unique<FakeAdditions>(added, clock_, clock_.Now()));
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(placement::InspectionTries(Web(), 5), 1);
  EXPECT_TRUE(Web().spec().node_selector().empty());
}

TEST_F(PodReconcilerTest, TheGateIsAnEventOnce) {
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(events_.size(), 1u);
}

}  // namespace
}  // namespace cluster_controller
