// SPDX-License-Identifier: Apache-2.0
// What PodReconciler does with pods that have gates of other controllers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/names.h"
#include "cluster-controller/pod_reconciler.h"
#include "cluster-controller/testing/fake_additions.h"
#include "cluster-controller/testing/pod_reconciler_fixture.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "placement/architecture.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"
#include "placement/release.h"

namespace cluster_controller {
namespace {

using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::IsOk;
using kube::MakePod;
using kube::Outcome;
using kube::core::Pod;
using placement::ArchitectureSet;
using namespace std::chrono_literals;

// Pods with gates of other controllers, such as Kueue's.
class OtherGatesTest : public PodReconcilerTest {
 protected:
  static constexpr char kKueue[] = "kueue.x-k8s.io/admission";

  // With the labels of the webhook.
  Pod AwaitingPod() {
    return GatedPod()
        .Gate(kKueue)
        .Label(api::kNodeAffinityLabel, api::kNotSet)
        .Label(api::kPreferredNodeAffinityLabel, api::kNotSet);
  }
  // With tolerations in the cluster's config.
  void CreateAwaiting() {
    CreateClusterConfig({{"plugins", Tolerations(true)}});
    api_.Create<Pod>(AwaitingPod());
    ASSERT_THAT(Reconcile(), IsOk());
    ASSERT_TRUE(Gated());
  }
  // As its controller does.
  void RemoveOther() {
    Pod web = Web();
    placement::DropGate(web, kKueue);
    placement::RemoveLabel(web, kKueue);
    api_.Update(web);
  }
  void ShardWorks() {
    kube::apps::Deployment deployment;
    deployment.mutable_metadata()->set_namespace_("ns");
    deployment.mutable_status()->set_available_replicas(1);
    shards_.OnDeployment(kube::EventType::kModified, deployment);
    kube::coordination::Lease lease;
    lease.mutable_metadata()->set_namespace_("ns");
    lease.mutable_spec()->set_holder_identity("shard");
    shards_.OnLease(kube::EventType::kModified, lease);
  }
  Outcome Pass() {
    auto outcome = Reconcile();
    EXPECT_THAT(outcome, IsOk());
    return outcome ? *outcome : Outcome::Done();
  }
};

TEST_F(OtherGatesTest, ThePodIsWrittenOnceAndAwaitsTheOtherGate) {
  CreateConfig("prefer-arm64", "arm64");
  CreateAwaiting();
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
  EXPECT_EQ(Preferences(), 1);
  EXPECT_THAT(Tolerated(), testing::IsEmpty());
  EXPECT_EQ(placement::LabelOf(Web(), api::kClusterGateLabel), api::kGated);
  size_t inspected = images_.requests().size();
  // Events of the pod and new terms cost nothing.
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Pass(), Outcome::After(7 * 24h));
    known_.BeginTerm();
  }
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_EQ(images_.requests().size(), inspected);
  EXPECT_EQ(placement_metrics_.processed_pods.Value(), 0);

  clock_.Advance(5h);
  kube::Drain(io_);
  EXPECT_EQ(api_.CountCalls("nodes"), 0) << "it may be gated for days";
  RemoveOther();
  EXPECT_EQ(Pass(), Outcome::Done());
  EXPECT_EQ(Web().spec().scheduling_gates_size(), 0);
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
  EXPECT_EQ(Preferences(), 1);
  EXPECT_THAT(Tolerated(), testing::ElementsAre("amd64", "arm64"));
  EXPECT_EQ(api_.CountCalls("PUT"), 2);
  EXPECT_GT(images_.requests().size(), inspected) << "a tag may have moved";
  EXPECT_EQ(placement_metrics_.processed_pods.Value(), 1);
  std::string metrics = metrics_.Render();
  EXPECT_THAT(metrics, testing::HasSubstr("mto_ppo_ctrl_time_to_release_pod_seconds_sum 0\n"));
}

TEST_F(OtherGatesTest, APodWithItsOwnArchitectureOnlyWaits) {
  CreateConfig("prefer-arm64", "arm64");
  api_.Create<Pod>(GatedPod().Gate(kKueue).NodeSelector(api::kArchLabel, "arm64"));
  EXPECT_EQ(Pass(), Outcome::After(7 * 24h));
  EXPECT_EQ(api_.CountCalls("PUT"), 0);
  RemoveOther();
  EXPECT_EQ(Pass(), Outcome::Done());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Preferences(), 1);
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_TRUE(images_.requests().empty());
}

TEST_F(OtherGatesTest, ATagThatMovedRestrictsTheRequirement) {
  CreateAwaiting();
  images_.SetDefault(ArchitectureSet{"arm64", "s390x"});
  clock_.Advance(5h);
  RemoveOther();
  Pass();
  EXPECT_FALSE(Gated());
  EXPECT_TRUE(Web().metadata().labels().contains("multiarch.openshift.io/arm64"));
  EXPECT_FALSE(Web().metadata().labels().contains("multiarch.openshift.io/amd64"));
  EXPECT_THAT(Tolerated(), testing::ElementsAre("arm64"));
}

// A requirement is known, so the pod does not wait for the registry again.
TEST_F(OtherGatesTest, AFailureOfTheLastInspectionDelaysNoPod) {
  CreateAwaiting();
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  clock_.Advance(5h);
  RemoveOther();
  EXPECT_EQ(Pass(), Outcome::Done());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
  EXPECT_THAT(Tolerated(), testing::ElementsAre("amd64", "arm64"));
  EXPECT_THAT(Events(), testing::Contains(api::kReasonStaleInspection));
}

TEST_F(OtherGatesTest, ImagesThatCouldNotBeInspectedAreInspectedOnceMore) {
  CreateClusterConfig({{"fallbackArchitecture", "s390x"}});
  images_.SetDefault(Error::Unavailable("registry r.io: 503"));
  api_.Create<Pod>(AwaitingPod());
  for (int attempt = 0; attempt < 5; ++attempt) {
    Pass();
    clock_.Advance(1min);
  }
  EXPECT_EQ(images_.requests().size(), 5u);
  Pass();
  EXPECT_EQ(images_.requests().size(), 5u) << "decided, without a requirement";
  EXPECT_TRUE(Gated());
  EXPECT_EQ(Required(), ArchitectureSet{});

  // A new process.
  known_.Forget({"ns", "web"});
  images_.SetDefault(ArchitectureSet{"arm64"});
  RemoveOther();
  Pass();
  clock_.Advance(5s);
  Pass();
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), ArchitectureSet{"arm64"});
}

// A pod does not evade an administrator's policies by a gate of its own.
TEST_F(OtherGatesTest, AdditionsButTheirTolerationsAreInTheFirstWrite) {
  Pod added = MakePod("").NodeSelector("pool", "a");
  added.mutable_spec()->add_tolerations()->set_key("pool");
  Add(std::make_unique<FakeAdditions>(added, clock_, clock_.Now()));
  api_.Create<Pod>(AwaitingPod());
  Pass();
  EXPECT_TRUE(Gated());
  EXPECT_EQ(Web().spec().node_selector().at("pool"), "a");
  EXPECT_EQ(Web().spec().tolerations_size(), 0);
  RemoveOther();
  Pass();
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Web().spec().tolerations_size(), 1);
}

TEST_F(OtherGatesTest, APodThatOptsOutGetsNoTolerationsOfAdditions) {
  Pod added = MakePod("");
  added.mutable_spec()->add_tolerations()->set_key("pool");
  Add(std::make_unique<FakeAdditions>(added, clock_, clock_.Now()));
  api_.Create<Pod>(GatedPod().Gate(kKueue).Label(api::kExcludeLabel, ""));
  Pass();
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Web().spec().tolerations_size(), 0);
}

// Nothing can be added to so many terms, and the labels say the same as before.
TEST_F(OtherGatesTest, APodThatTakesNoRequirementIsWrittenOnce) {
  CreateClusterConfig({});
  Pod pod = AwaitingPod();
  auto& required = *pod.mutable_spec()
                        ->mutable_affinity()
                        ->mutable_node_affinity()
                        ->mutable_required_during_scheduling_ignored_during_execution();
  for (int i = 0; i < 20'000; ++i) {
    auto& expression = *required.add_node_selector_terms()->add_match_expressions();
    expression.set_key("zone");
    expression.set_operator_("Exists");
  }
  api_.Create<Pod>(pod);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Pass(), Outcome::After(7 * 24h));
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  clock_.Advance(7 * 24h);
  EXPECT_EQ(Pass(), Outcome::Done());
  EXPECT_FALSE(Gated());
}

TEST_F(OtherGatesTest, APodThatIsBeingDeletedAwaitsNothing) {
  Pod pod = AwaitingPod();
  pod.mutable_metadata()->add_finalizers("kueue.x-k8s.io/managed");
  pod.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1);
  api_.Create<Pod>(pod);
  EXPECT_EQ(Pass(), Outcome::Done());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(known_.awaiting(), 0u);
}

// Its author decides it while it waits for a result.
TEST_F(OtherGatesTest, APodThatNeedsNoInspectionAnyMoreLeavesTheInspector) {
  CreateClusterConfig({});
  images_.ClearDefault();
  api_.Create<Pod>(AwaitingPod());
  Pass();
  ASSERT_TRUE(queue_.WaitingSince({"ns", "web"}));
  Pod pod = Web();
  (*pod.mutable_spec()->mutable_node_selector())[std::string(api::kArchLabel)] = "arm64";
  api_.Update(pod);
  EXPECT_EQ(Pass(), Outcome::After(7 * 24h));
  EXPECT_FALSE(queue_.WaitingSince({"ns", "web"}));
}

TEST_F(OtherGatesTest, ARefusedFirstWriteRemovesTheGateAlone) {
  api_.Create<Pod>(AwaitingPod());
  api_.FailNext(Error::Invalid("spec: Forbidden"), "PUT");
  Pass();
  EXPECT_FALSE(Gated());
  EXPECT_TRUE(placement::HasGate(Web(), kKueue));
  EXPECT_EQ(Required(), ArchitectureSet{});
}

TEST_F(OtherGatesTest, ThePodIsDecidedAgainAfterAConflict) {
  api_.Create<Pod>(AwaitingPod());
  api_.FailNext(Error::Conflict("newer"), "PUT");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kConflict));
  Pass();
  EXPECT_TRUE(Gated());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
}

TEST_F(OtherGatesTest, TheDeletionOfTheClusterConfigReleasesThePodAtOnce) {
  CreateAwaiting();
  size_t inspected = images_.requests().size();
  api_.Delete<api::ClusterPodPlacementConfig>({"", std::string(api::kClusterConfigName)});
  EXPECT_EQ(Pass(), Outcome::Done());
  EXPECT_FALSE(Gated());
  EXPECT_TRUE(placement::HasGate(Web(), kKueue));
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
  EXPECT_THAT(Tolerated(), testing::IsEmpty());
  EXPECT_EQ(images_.requests().size(), inspected);
}

// Such as for a controller that waits for the last gate as well (I3).
TEST_F(OtherGatesTest, NoPodAwaitsOthersForEver) {
  CreateAwaiting();
  clock_.Advance(7 * 24h - 10s);
  EXPECT_EQ(Pass(), Outcome::After(10s));
  clock_.Advance(10s);
  EXPECT_EQ(Pass(), Outcome::Done());
  EXPECT_FALSE(Gated());
  EXPECT_TRUE(placement::HasGate(Web(), kKueue));
  EXPECT_THAT(Tolerated(), testing::IsEmpty());
}

TEST_F(OtherGatesTest, APodBeyondTheLimitIsReleasedAtOnce) {
  CreateClusterConfig({{"plugins", Tolerations(true)}});
  for (int i = 0; i < 1000; ++i) {
    Pod other = MakePod("other-" + std::to_string(i));
    known_.Add(other);
    ASSERT_TRUE(known_.AwaitOtherGates(kube::KeyOf(other)));
  }
  api_.Create<Pod>(AwaitingPod());
  EXPECT_EQ(Pass(), Outcome::Done());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
  EXPECT_THAT(Tolerated(), testing::IsEmpty());
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  bool told = false;
  Events();
  for (const kube::core::Event& event : api_.List<kube::core::Event>("ns"))
    told |= event.message().find("at most 1000 of a namespace and 5000") != std::string::npos;
  EXPECT_TRUE(told);
}

TEST_F(OtherGatesTest, GatesOfOthersAreNotCountedAsOurs) {
  CreateAwaiting();
  clock_.Advance(1h);
  EXPECT_EQ(known_.OldestAge(), 0s);
  EXPECT_EQ(placement_metrics_.pods_gated.Value(), 0);
  EXPECT_EQ(placement_metrics_.pods_awaiting_other_gates.Value(), 1);
  // The last gate is this operator's: from now on it counts.
  images_.SetDefault(ArchitectureSet{"arm64"});
  RemoveOther();
  api_.FailNext(Error::Unavailable("503"), "PUT");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kUnavailable));
  clock_.Advance(1min);
  EXPECT_EQ(known_.OldestAge(), 1min);
  EXPECT_EQ(placement_metrics_.pods_gated.Value(), 1);
  EXPECT_EQ(placement_metrics_.pods_awaiting_other_gates.Value(), 0);
  Pass();
  EXPECT_FALSE(Gated());
}

TEST_F(OtherGatesTest, APodThatOptsOutOrIsIgnoredDoesNotWait) {
  for (Pod pod : {Pod(GatedPod().Gate(kKueue).Label(api::kExcludeLabel, "")),
                  Pod(GatedPod().Gate(kKueue).NodeSelector(api::kControlPlaneNodeLabel, ""))}) {
    api_.Create<Pod>(pod);
    Pass();
    EXPECT_FALSE(Gated());
    EXPECT_TRUE(placement::HasGate(Web(), kKueue));
    EXPECT_FALSE(Web().spec().has_affinity());
    api_.Delete<Pod>({"ns", "web"});
    Pass();
  }
  EXPECT_EQ(known_.awaiting(), 0u);
}

TEST_F(OtherGatesTest, ATakeoverAwaitsTheOtherGatesToo) {
  CreateConfig("prefer-arm64", "arm64");
  api_.Create<Pod>(GatedPod().Gate(kKueue).Gate(api::kLocalGate));
  EXPECT_EQ(Pass(), Outcome::After(30s)) << "the shard's turn";
  clock_.Advance(30s);
  Pass();
  EXPECT_TRUE(Gated());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_EQ(Preferences(), 1);
  EXPECT_EQ(placement_metrics_.shard_takeovers.Value(), 1);
  RemoveOther();
  Pass();
  EXPECT_EQ(Web().spec().scheduling_gates_size(), 0);
  EXPECT_EQ(Preferences(), 1);
}

TEST_F(OtherGatesTest, ATakenOverPodGetsTheTolerationsOfAPodOfItsShard) {
  using api::MakeConfig;
  struct Row {
    const char* name;
    bool cluster;
    std::vector<api::PodPlacementConfig> configs;
    std::vector<std::string> tolerated;
  };
  const MakeConfig prefers = MakeConfig("prefers").Priority(1).Prefer("arm64", 50);
  const std::vector<std::string> both = {"amd64", "arm64"};
  for (const Row& row : {
           Row{"of the namespace", false, {MakeConfig("on").Tolerate()}, both},
           Row{"off in the namespace", true, {MakeConfig("off").Tolerate(false)}, {}},
           Row{"of the cluster", true, {prefers}, both},
           Row{"of none", false, {prefers}, {}},
           Row{"of the second config", false, {prefers, MakeConfig("on").Tolerate()}, both},
           Row{"of the first of two",
               true,
               {MakeConfig("off").Priority(2).Tolerate(false), MakeConfig("on").Tolerate()},
               {}},
       }) {
    std::vector<std::string> names;
    for (bool take_over : {false, true}) {
      SCOPED_TRACE(std::string(row.name) + (take_over ? ", taken over" : ", by the shard"));
      api::MakeClusterConfig cluster;
      cluster.Tolerate(row.cluster);
      api_.CreateJson(kube::ResourceOf<api::ClusterPodPlacementConfig>::value, cluster.Build());
      placement::MatchingConfigs configs;
      for (const api::PodPlacementConfig& config : row.configs) {
        api_.Create(config);
        configs.emplace_back(&config);
      }
      Pod pod = GatedPod().Gate(kKueue).Gate(api::kLocalGate);
      if (!take_over) placement::ReleaseLocal(pod, configs);
      api_.Create<Pod>(pod);
      Pass();
      clock_.Advance(30s);
      Pass();
      EXPECT_TRUE(Gated());
      EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
      EXPECT_THAT(Tolerated(), testing::IsEmpty());
      names.emplace_back(placement::AnnotationOf(Web(), api::kLocalTolerationsAnnotation));
      RemoveOther();
      Pass();
      EXPECT_EQ(Web().spec().scheduling_gates_size(), 0);
      EXPECT_EQ(Tolerated(), row.tolerated);

      api_.Delete<Pod>({"ns", "web"});
      Pass();
      for (const api::PodPlacementConfig& config : row.configs)
        api_.Delete<api::PodPlacementConfig>(kube::KeyOf(config));
      api_.Delete<api::ClusterPodPlacementConfig>({"", std::string(api::kClusterConfigName)});
    }
    EXPECT_EQ(names[0], names[1]) << row.name;
  }
}

// Or a namespace whose shard comes and goes keeps places that others need.
TEST_F(OtherGatesTest, APodWhoseShardWorksAgainLeavesTheInspector) {
  images_.ClearDefault();
  api_.Create<Pod>(GatedPod().Gate(kKueue).Gate(api::kLocalGate));
  Pass();
  clock_.Advance(30s);
  Pass();
  ASSERT_TRUE(queue_.WaitingSince({"ns", "web"}));
  ShardWorks();
  EXPECT_EQ(Pass(), Outcome::After(30s));
  EXPECT_FALSE(queue_.WaitingSince({"ns", "web"}));
  EXPECT_EQ(api_.CountCalls("PUT"), 0);
}

}  // namespace
}  // namespace cluster_controller
