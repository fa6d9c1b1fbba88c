// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_reconciler.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <set>
#include <utility>

#include "api/names.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/namespace_selection.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/shard_watch.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"
#include "placement/requirement.h"
#include "watches/fresh_configs.h"

namespace cluster_controller {
namespace {

using kube::Async;
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

class FakeImages : public inspection::ImageInspector {
 public:
  Async<ArchitectureSet> Architectures(inspection::ImageRequest request) override {
    asked_.push_back(request.image);
    if (error_) co_return *error_;
    co_return answer_;
  }
  std::optional<Result<ArchitectureSet>> Remembered(const inspection::ImageRequest&) override {
    return std::nullopt;
  }
  Result<void> SetConfig(inspection::InspectorConfig) override { return kube::Ok(); }
  inspection::InspectorStats stats() const override { return {}; }

  ArchitectureSet answer_ = {"amd64", "arm64"};
  std::optional<Error> error_;
  std::vector<std::string> asked_;
};

// The API server itself, as a cache that is never late.
template <class T>
class LiveReader : public kube::Reader<T> {
 public:
  explicit LiveReader(kube::FakeApiServer& api) : api_(api) {}
  std::optional<T> Get(const kube::ObjectKey& key) const override { return api_.Get<T>(key); }
  void ForEach(const std::function<void(const T&)>& visit) const override {
    for (const T& object : api_.List<T>()) visit(object);
  }
  size_t size() const override { return api_.List<T>().size(); }
  bool synced() const override { return true; }

 private:
  kube::FakeApiServer& api_;
};

class PodReconcilerTest : public testing::Test {
 protected:
  PodReconcilerTest() { tasks_.Spawn("configs", configs_.Run()); }
  ~PodReconcilerTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  MakePod GatedPod() {
    return MakePod("web")
        .Gate(api::kClusterGate)
        .Label(api::kClusterGateLabel, api::kGated)
        .Image("r.io/app:1");
  }
  Result<Outcome> Reconcile() {
    // As the controller: again when an answer has come.
    bool woken = true;
    queue_.OnAnswer([&](const kube::ObjectKey&) { woken = true; });
    Result<Outcome> outcome = Outcome::Done();
    while (std::exchange(woken, false)) {
      outcome = kube::Run(io_, reconciler_.Reconcile({{"ns", "web"}}));
      kube::Drain(io_);
    }
    queue_.OnAnswer(nullptr);
    return outcome;
  }
  Pod Web() { return *api_.Get<Pod>({"ns", "web"}); }
  bool Gated() { return placement::HasGate(Web(), api::kClusterGate); }
  ArchitectureSet Required() {
    ArchitectureSet required;
    Pod web = Web();
    const auto& affinity = web.spec().affinity().node_affinity();
    for (auto& term :
         affinity.required_during_scheduling_ignored_during_execution().node_selector_terms()) {
      for (auto& expression : term.match_expressions()) {
        if (expression.key() == api::kArchLabel)
          required.insert(expression.values().begin(), expression.values().end());
      }
    }
    return required;
  }
  int Preferences() {
    return Web()
        .spec()
        .affinity()
        .node_affinity()
        .preferred_during_scheduling_ignored_during_execution_size();
  }
  void CreateConfig(const std::string& name, const std::string& architecture) {
    kube::Json platforms = {{{"architecture", architecture}, {"weight", 50}}};
    kube::Json plugins = {{"nodeAffinityScoring", {{"enabled", true}, {"platforms", platforms}}}};
    api_.CreateJson(kube::ResourceOf<api::PodPlacementConfig>::value,
                    {{"apiVersion", "multiarch.openshift.io/v1beta1"},
                     {"kind", "PodPlacementConfig"},
                     {"metadata", {{"name", name}, {"namespace", "ns"}}},
                     {"spec", {{"plugins", plugins}}}});
  }

  PodReconcilerParts Parts() {
    return {"operator-ns",
            api_,
            clock_,
            tasks_,
            events_,
            configs_,
            inspector_,
            shards_,
            namespaces_,
            known_,
            controller_metrics_,
            pods_,
            cluster_configs_};
  }
  std::vector<std::string> Events() {
    kube::TaskGroup tasks(io_.get_executor());
    tasks.Spawn("events", events_.Run());
    kube::Drain(io_);
    (void)kube::Run(io_, tasks.Stop(kube::RealClock(), 5s));
    std::vector<std::string> reasons;
    for (const kube::core::Event& event : api_.List<kube::core::Event>("ns"))
      reasons.push_back(event.reason());
    return reasons;
  }
  void CreateNamespace(const std::string& name, const std::string& team) {
    kube::core::Namespace ns;
    ns.mutable_metadata()->set_name(name);
    (*ns.mutable_metadata()->mutable_labels())["team"] = team;
    api_.Create(ns);
  }

  // With a finalizer, as the operator gives it one.
  void CreateClusterConfig(kube::Json spec) {
    kube::Json config = {{"apiVersion", "multiarch.openshift.io/v1beta1"},
                         {"kind", "ClusterPodPlacementConfig"}};
    config["metadata"] = {{"name", api::kClusterConfigName},
                          {"finalizers", {api::kPodPlacementFinalizer}}};
    config["spec"] = std::move(spec);
    api_.CreateJson(kube::ResourceOf<api::ClusterPodPlacementConfig>::value, config);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
  watches::FreshConfigs configs_{api_, clock_, {}};
  FakeImages images_;
  PullSecrets secrets_{api_, clock_};
  kube::Metrics metrics_;
  ControllerMetrics controller_metrics_{metrics_};
  InspectionQueue queue_{images_, clock_, tasks_, controller_metrics_};
  PodInspector inspector_{queue_, secrets_, controller_metrics_, clock_};
  ShardWatch shards_{clock_, 30s};
  NamespaceSelection namespaces_{api_};
  KnownPods known_{clock_};
  LiveReader<Pod> pods_{api_};
  LiveReader<api::ClusterPodPlacementConfig> cluster_configs_{api_};
  PodReconciler reconciler_{Parts()};
};

TEST_F(PodReconcilerTest, OneWriteSetsTheRequirementAndDropsTheGate) {
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
}

TEST_F(PodReconcilerTest, TheLocalGateIsWaitedForWhileTheImagesAreInspected) {
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->delay(), 30s);
  EXPECT_EQ(images_.asked_.size(), 1u);
  EXPECT_EQ(api_.CountCalls("PUT"), 0);
  EXPECT_TRUE(Gated());
}

TEST_F(PodReconcilerTest, ASilentShardIsTakenOverWithBothGatesInOneWrite) {
  CreateConfig("prefer-arm64", "arm64");
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  ASSERT_THAT(Reconcile(), IsOk());
  clock_.Advance(30s);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_EQ(Preferences(), 1);
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
}

TEST_F(PodReconcilerTest, APodThatCameWithoutTheLocalGateStillGetsItsPreference) {
  CreateConfig("prefer-arm64", "arm64");
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Preferences(), 1);
}

TEST_F(PodReconcilerTest, APodThatPassedItsShardCostsNoLookAtConfigs) {
  api_.Create<Pod>(GatedPod().Label(api::kLocalGateLabel, api::kRemoved));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(api_.CountCalls("GET"), 0);
}

TEST_F(PodReconcilerTest, AFailedInspectionIsToldOnThePodAndTriedAgainLater) {
  images_.error_ = Error::Unavailable("registry r.io: 503");
  api_.Create<Pod>(GatedPod());
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(outcome->delay().has_value());
  EXPECT_TRUE(Gated());
  EXPECT_EQ(placement::InspectionTries(Web()), 1);

  // The label's own event does not make the second try come sooner.
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(images_.asked_.size(), 1u);
  clock_.Advance(*outcome->delay());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(placement::InspectionTries(Web()), 2);
}

TEST_F(PodReconcilerTest, AFailureIsToldWithImageRegistryAndCause) {
  images_.error_ = Error::Unavailable("inspect r.io/app:1: registry r.io: 503 Service Unavailable");
  api_.Create<Pod>(GatedPod());
  ASSERT_THAT(Reconcile(), IsOk());
  Pod web = Web();
  EXPECT_TRUE(web.metadata().labels().contains(std::string(api::kInspectErrorLabel)));
  EXPECT_EQ(placement::LabelOf(web, api::kInspectErrorCountLabel), "1");
  EXPECT_EQ(placement::AnnotationOf(web, api::kInspectErrorAnnotation), images_.error_->message());
  // At once: one for the gate, one for the failure.
  EXPECT_EQ(events_.size(), 2u);
}

TEST_F(PodReconcilerTest, ANewLeaderGoesOnCountingAndTriesSoon) {
  images_.error_ = Error::Unavailable("registry r.io: 503");
  api_.Create<Pod>(GatedPod().Label(api::kInspectErrorCountLabel, "3"));
  EXPECT_THAT(Reconcile(), IsOk());
  clock_.Advance(5s);
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(placement::InspectionTries(Web()), 4);
}

TEST_F(PodReconcilerTest, ANewTermOfTheSameProcessKeepsThePause) {
  images_.error_ = Error::Unavailable("registry r.io: 503");
  api_.Create<Pod>(GatedPod());
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  ASSERT_TRUE(outcome->delay().has_value());
  kube::Duration left = *outcome->delay();
  // Terms much shorter than the pause.
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
  EXPECT_EQ(images_.asked_.size(), 2u);
}

TEST_F(PodReconcilerTest, TriesAreCountedThoughThePodCannotBeWritten) {
  images_.error_ = Error::Unavailable("registry r.io: 503");
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::PermissionDenied("a policy says no"), "PUT", 4);
  for (int attempt = 0; attempt < 5; ++attempt) {
    EXPECT_TRUE(Gated());
    EXPECT_THAT(Reconcile(), IsOk());
    clock_.Advance(10min);
  }
  EXPECT_FALSE(Gated());
  EXPECT_EQ(images_.asked_.size(), 5u);
}

TEST_F(PodReconcilerTest, ACountThatIsNoneOfOursEndsTheTriesAtMost) {
  images_.error_ = Error::Unavailable("registry r.io: 503");
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

TEST_F(PodReconcilerTest, AfterFiveTriesThePodGoesOnWithoutARequirement) {
  images_.error_ = Error::Unavailable("registry r.io: 503");
  api_.Create<Pod>(GatedPod());
  for (int attempt = 0; attempt < 5; ++attempt) {
    EXPECT_TRUE(Gated());
    EXPECT_THAT(Reconcile(), IsOk());
    clock_.Advance(1min);
  }
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), ArchitectureSet{});
  EXPECT_EQ(images_.asked_.size(), 5u);
  EXPECT_EQ(placement::LabelOf(Web(), api::kInspectErrorCountLabel), "5");
  EXPECT_EQ(api_.CountCalls("PUT"), 5) << "the count is in the write that drops the gate";
}

TEST_F(PodReconcilerTest, TheTriesAreSpreadOverTheRetryPeriod) {
  CreateClusterConfig({{"inspectionRetryPeriod", "31s"}});
  images_.error_ = Error::Unavailable("registry r.io: 503");
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

TEST_F(PodReconcilerTest, TheDeletionOfTheClustersConfigWaitsForNoFurtherTry) {
  CreateClusterConfig({{"fallbackArchitecture", "arm64"}});
  images_.error_ = Error::Unavailable("registry r.io: 503");
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

TEST_F(PodReconcilerTest, APodThatTheApiServerRefusesAsDecidedGoesOnWithoutIt) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::Invalid("spec: Forbidden"), "PUT");
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), ArchitectureSet{});
}

TEST_F(PodReconcilerTest, AnyRefusalCostsAPodWhatWasDecidedAndNotMore) {
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

TEST_F(PodReconcilerTest, ARefusalForgetsTheLocalGateNeither) {
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  EXPECT_THAT(Reconcile(), IsOk());
  clock_.Advance(30s);
  api_.FailNext(Error::PermissionDenied("a policy says no"), "PUT");
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Web().spec().scheduling_gates_size(), 0);
}

TEST_F(PodReconcilerTest, AMissingPermissionCostsNothingButTime) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(
      Error::PermissionDenied(R"(pods "web" is forbidden: User "x" cannot update resource "pods")"),
      "PUT");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kPermissionDenied));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
}

TEST_F(PodReconcilerTest, APodThatMayNotBeWrittenAtAllIsTriedOnAndToldOnce) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::PermissionDenied("a policy says no"), "PUT", 20);
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Reconcile(), FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(events_.size(), 2u) << "the gate, and the one failure";
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_THAT(Events(), testing::Contains(api::kReasonGateRemovalFailed));
}

TEST_F(PodReconcilerTest, AFailedRemovalIsTold) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::Unavailable("503"), "PUT");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kUnavailable));
  EXPECT_THAT(Events(),
              testing::UnorderedElementsAre(api::kReasonGateAdded, api::kReasonGateRemovalFailed));
}

TEST_F(PodReconcilerTest, ConflictsAreToldIfTheyDoNotEnd) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::Conflict("newer"), "PUT", 4);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Reconcile(), FailsWith(Code::kConflict));
  EXPECT_EQ(events_.size(), 1u) << "the gate alone";
  EXPECT_THAT(Reconcile(), FailsWith(Code::kConflict));
  EXPECT_EQ(events_.size(), 2u);
}

TEST_F(PodReconcilerTest, APodThatIsNotFoundButThereIsLookedAtAgain) {
  api_.Create<Pod>(GatedPod());
  api_.FailNext(Error::NotFound("no such pod"), "PUT");
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(outcome->delay().has_value());
}

TEST_F(PodReconcilerTest, TheLocalGateAloneIsTheShards) {
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
  EXPECT_TRUE(images_.asked_.empty());
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_THAT(Events(),
              testing::IsSupersetOf({api::kReasonShardTakeover, api::kReasonGateRemoved}));
}

TEST_F(PodReconcilerTest, AShardThatHangsWithALiveLeaseHoldsNoPod) {
  CreateConfig("prefer-arm64", "arm64");
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  kube::apps::Deployment deployment;
  deployment.mutable_metadata()->set_namespace_("ns");
  deployment.mutable_status()->set_available_replicas(1);
  shards_.OnDeployment(kube::EventType::kAdded, deployment);
  kube::coordination::Lease lease;
  lease.mutable_metadata()->set_namespace_("ns");
  lease.mutable_spec()->set_holder_identity("whoever");
  int looks = 0;
  for (; placement::HasGate(Web(), api::kLocalGate) && looks < 20; ++looks) {
    lease.mutable_spec()->mutable_renew_time()->set_seconds(looks);
    shards_.OnLease(kube::EventType::kModified, lease);
    auto outcome = Reconcile();
    ASSERT_THAT(outcome, IsOk());
    clock_.Advance(outcome->delay().value_or(0ms));
  }
  EXPECT_LE(looks, 4);
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Preferences(), 1);
}

TEST_F(PodReconcilerTest, APodThatIsNotOursToPlaceLosesItsGatesAlone) {
  CreateConfig("prefer-arm64", "arm64");
  for (Pod pod :
       {Pod(GatedPod().Owner("apps/v1", "DaemonSet", "agent")),
        Pod(GatedPod().NodeSelector(api::kControlPlaneNodeLabel, "").Gate(api::kLocalGate)),
        Pod(MakePod("web").Gate(api::kLocalGate).Owner("apps/v1", "DaemonSet", "agent"))}) {
    api_.Create<Pod>(pod);
    EXPECT_THAT(Reconcile(), IsOk());
    EXPECT_EQ(Web().spec().scheduling_gates_size(), 0);
    EXPECT_FALSE(Web().spec().has_affinity());
    api_.Delete<Pod>({"ns", "web"});
    EXPECT_THAT(Reconcile(), IsOk());
  }
  EXPECT_TRUE(images_.asked_.empty());
  EXPECT_THAT(Events(), testing::Contains(api::kReasonGatedPodIgnored));
}

TEST_F(PodReconcilerTest, AGateSetByHandInAnExcludedNamespaceIsDropped) {
  CreateClusterConfig({{"namespaceSelector", {{"matchLabels", {{"team", "a"}}}}}});
  CreateNamespace("ns", "b");
  api_.Create<Pod>(MakePod("web").Gate(api::kClusterGate).Image("r.io/app:1"));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_FALSE(Web().spec().has_affinity());
  EXPECT_TRUE(images_.asked_.empty());
  EXPECT_THAT(Events(), testing::Contains(api::kReasonGatedPodIgnored));
}

TEST_F(PodReconcilerTest, AGateSetByHandInASelectedNamespaceIsAsGoodAsOurs) {
  CreateClusterConfig({{"namespaceSelector", {{"matchLabels", {{"team", "a"}}}}}});
  CreateNamespace("ns", "a");
  api_.Create<Pod>(MakePod("web").Gate(api::kClusterGate).Image("r.io/app:1"));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
}

TEST_F(PodReconcilerTest, AGateSetByHandIsOursWhereTheNamespaceCannotBeRead) {
  CreateClusterConfig({{"namespaceSelector", {{"matchLabels", {{"team", "a"}}}}}});
  for (Error error : {Error::NotFound("gone"), Error::PermissionDenied("no")}) {
    api_.Create<Pod>(MakePod("web").Gate(api::kClusterGate).Image("r.io/app:1"));
    api_.FailNext(error, "GET /api/v1/namespaces/ns");
    EXPECT_THAT(Reconcile(), IsOk());
    EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
    api_.Delete<Pod>({"ns", "web"});
    EXPECT_THAT(Reconcile(), IsOk());
  }
  // What passes is waited for.
  api_.Create<Pod>(MakePod("web").Gate(api::kClusterGate).Image("r.io/app:1"));
  api_.FailNext(Error::Unavailable("503"), "GET /api/v1/namespaces/ns");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kUnavailable));
  EXPECT_TRUE(Gated());
}

TEST_F(PodReconcilerTest, APodThatOurWebhookGatedCostsNoLookAtItsNamespace) {
  CreateClusterConfig({{"namespaceSelector", {{"matchLabels", {{"team", "a"}}}}}});
  api_.Create<Pod>(GatedPod().Label(api::kLocalGateLabel, api::kRemoved));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(api_.CountCalls("GET"), 0);
}

TEST_F(PodReconcilerTest, OnePassOverAPodIncludesItsInspection) {
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  std::string text = metrics_.Render();
  EXPECT_THAT(text, testing::HasSubstr("mto_ppo_ctrl_time_to_process_gated_pod_seconds_count 1"));
  EXPECT_THAT(text, testing::HasSubstr("mto_ppo_ctrl_time_to_release_pod_seconds_count 1"));
}

TEST_F(PodReconcilerTest, WhatWentWhileNobodyWatchedIsForgotten) {
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  EXPECT_THAT(Reconcile(), IsOk());
  api_.Delete<Pod>({"ns", "web"});
  reconciler_.ForgetGone();
  EXPECT_EQ(known_.size(), 0u);
}

TEST_F(PodReconcilerTest, AReleasedPodIsNotWrittenAgain) {
  Pod gated = api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  api_.Update(gated);  // what a late cache would still show
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

TEST_F(PodReconcilerTest, AFirstSightIsToldOnce) {
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(events_.size(), 1u);
}

}  // namespace
}  // namespace cluster_controller
