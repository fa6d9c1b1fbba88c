// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_reconciler.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <set>
#include <utility>

#include "api/names.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/pod_inspector.h"
#include "configs/fresh_configs.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"
#include "placement/requirement.h"

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
  std::optional<Result<ArchitectureSet>> Remembered(const inspection::ImageRequest&) override { return std::nullopt; }
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
  ~PodReconcilerTest() override { EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk()); }

  MakePod GatedPod() {
    return MakePod("web").Gate(api::kClusterGate).Label(api::kClusterGateLabel, api::kGated).Image("r.io/app:1");
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
    for (auto& term : affinity.required_during_scheduling_ignored_during_execution().node_selector_terms()) {
      for (auto& expression : term.match_expressions()) {
        if (expression.key() == api::kArchLabel) required.insert(expression.values().begin(), expression.values().end());
      }
    }
    return required;
  }
  int Preferences() {
    return Web().spec().affinity().node_affinity().preferred_during_scheduling_ignored_during_execution_size();
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

  // With a finalizer, as the operator gives it one.
  void CreateClusterConfig(kube::Json spec) {
    kube::Json config = {{"apiVersion", "multiarch.openshift.io/v1beta1"}, {"kind", "ClusterPodPlacementConfig"}};
    config["metadata"] = {{"name", api::kClusterConfigName}, {"finalizers", {api::kPodPlacementFinalizer}}};
    config["spec"] = std::move(spec);
    api_.CreateJson(kube::ResourceOf<api::ClusterPodPlacementConfig>::value, config);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
  configs::FreshConfigs configs_{api_, clock_, {}};
  FakeImages images_;
  PullSecrets secrets_{api_, clock_};
  kube::Metrics metrics_;
  ControllerMetrics controller_metrics_{metrics_};
  InspectionQueue queue_{images_, clock_, tasks_, controller_metrics_};
  PodInspector inspector_{queue_, secrets_, controller_metrics_, clock_};
  ShardWatch shards_{clock_, 30s};
  LiveReader<Pod> pods_{api_};
  LiveReader<api::ClusterPodPlacementConfig> cluster_configs_{api_};
  PodReconciler reconciler_{{api_, clock_, tasks_, events_, configs_, inspector_, shards_, controller_metrics_, pods_,
                             cluster_configs_}};
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

TEST_F(PodReconcilerTest, ANewLeaderGoesOnCountingAndStartsThePauseAnew) {
  images_.error_ = Error::Unavailable("registry r.io: 503");
  api_.Create<Pod>(GatedPod().Label(api::kInspectErrorCountLabel, "3"));
  auto outcome = Reconcile();
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(images_.asked_.empty());
  ASSERT_TRUE(outcome->delay().has_value());
  clock_.Advance(*outcome->delay());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(placement::InspectionTries(Web()), 4);
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
  EXPECT_EQ(reconciler_.waiting(), 1u);
  api_.Delete<Pod>({"ns", "web"});
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(reconciler_.waiting(), 0u);
}

TEST_F(PodReconcilerTest, AFirstSightIsToldOnce) {
  api_.Create<Pod>(GatedPod().Gate(api::kLocalGate));
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(events_.size(), 1u);
}

}  // namespace
}  // namespace cluster_controller
