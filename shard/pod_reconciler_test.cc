// SPDX-License-Identifier: Apache-2.0
#include "shard/pod_reconciler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/base/task_group.h"
#include "kube/cache/reader.h"
#include "kube/controller/rights.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"
#include "rules/asker.h"
#include "rules/testing/fake_rule_policy.h"
#include "watches/fresh_configs.h"

namespace shard {
namespace {

using api::MakeConfig;
using api::PodPlacementConfig;
using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::MakePod;
using kube::Outcome;
using kube::core::Pod;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

// The cache of a watch: the current pods, or those at the time of `Freeze()`.
class Pods final : public kube::PodReader {
 public:
  explicit Pods(kube::FakeApiServer& api) : api_(api) {}

  void Freeze(Pod pod) { frozen_ = std::move(pod); }

  // Reader
  std::optional<Pod> Get(const kube::ObjectKey& key) const override {
    return frozen_ ? frozen_ : api_.Get<Pod>(key);
  }
  void ForEach(const std::function<void(const Pod&)>&) const override {}
  size_t size() const override { return 0; }
  bool synced() const override { return true; }

 private:
  kube::FakeApiServer& api_;
  std::optional<Pod> frozen_;
};

class PodReconcilerTest : public ::testing::Test {
 protected:
  PodReconcilerTest() { tasks_.Spawn("configs", configs_.Run()); }
  ~PodReconcilerTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  PodPlacementConfig Config(const char* name, int priority, const char* architecture, int weight) {
    return MakeConfig(name).Priority(priority).Prefer(architecture, weight);
  }

  PodPlacementConfig WithRules(const char* name) {
    return MakeConfig(name)
        .Priority(1)
        .Rule("large", "large", "s390x", 80)
        .Rule("small", "small", "arm64", 90);
  }

  MakePod Gated() {
    return std::move(MakePod("web")
                         .Namespace("ns")
                         .Gate(api::kLocalGate)
                         .Gate(api::kClusterGate)
                         .Image("r.io/app:1"));
  }

  kube::Result<Outcome> Reconcile() {
    return kube::Run(io_, reconciler_.Reconcile({{"ns", "web"}}));
  }

  Pod Web() { return api_.Get<Pod>({"ns", "web"}).value(); }
  std::string Sources() {
    return std::string(placement::AnnotationOf(Web(), api::kPreferredAffinitySourcesAnnotation));
  }
  int Preferences() {
    return Web()
        .spec()
        .affinity()
        .node_affinity()
        .preferred_during_scheduling_ignored_during_execution_size();
  }

  std::vector<std::string> Events() {
    kube::TaskGroup tasks(io_.get_executor());
    tasks.Spawn("events", events_.Run());
    kube::Drain(io_);
    kube::IgnoreError(kube::Run(io_, tasks.Stop(kube::RealClock(), 5s)), "the events are sent");
    std::vector<std::string> reasons;
    for (const kube::core::Event& event : api_.List<kube::core::Event>("ns"))
      reasons.push_back(event.reason());
    return reasons;
  }

  // A broken watch does not have the change.
  void CreateUnseen(const PodPlacementConfig& config) {
    kube::Drain(io_);
    api_.FailNext(Error::Unavailable("503"), "WATCH", 1000);
    api_.CloseWatches();
    kube::Drain(io_);
    api_.Create(config);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  Pods pods_{api_};
  kube::Metrics metrics_;
  ShardMetrics shard_metrics_{metrics_};
  watches::FreshConfigs configs_{api_, clock_, "ns"};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::EventRecorder events_{api_, clock_, {.component = "shard", .busy = {}}};
  kube::Rights rights_{api_, clock_, {{.verb = "update", .resource = "pods", .ns = "ns"}}};
  rules::FakeRulePolicy client_{api_};
  rules::Asker rules_{client_, clock_};
  PodReconciler reconciler_{{.client = api_,
                             .clock = clock_,
                             .pods = pods_,
                             .configs = configs_,
                             .rules = rules_,
                             .events = events_,
                             .rights = rights_,
                             .metrics = shard_metrics_}};
};

TEST_F(PodReconcilerTest, SetsPreferencesAndDropsTheGateInOneWrite) {
  api_.Create(Config("low", 1, "arm64", 5));
  api_.Create(Config("high", 9, "arm64", 75));
  api_.Create(Config("other", 5, "amd64", 25));
  api_.Create<Pod>(Gated());
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_TRUE(placement::HasGate(Web(), api::kClusterGate));
  EXPECT_EQ(Sources(),
            "arm64:75:PodPlacementConfig-high,amd64:25:PodPlacementConfig-other,"
            "arm64:5:PodPlacementConfig-low:skipped");
  EXPECT_EQ(api_.CountCalls("GET"), 1) << "of what is announced";
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_EQ(shard_metrics_.processed_pods.Value(), 1);
  EXPECT_THAT(Events(), ::testing::UnorderedElementsAre(api::kReasonPredicateSet,
                                                        api::kReasonPreferredDuplicates,
                                                        api::kReasonGateRemoved));
}

TEST_F(PodReconcilerTest, IgnoresOtherPods) {
  EXPECT_THAT(Reconcile(), kube::IsOk());
  api_.Create<Pod>(MakePod("web").Namespace("ns").Gate(api::kClusterGate));
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_EQ(api_.CountCalls("GET"), 0);
  EXPECT_EQ(api_.CountCalls("PUT"), 0);
}

TEST_F(PodReconcilerTest, ReadsAConfigThatTheWatchDoesNotHaveYet) {
  CreateUnseen(Config("new", 1, "arm64", 75));
  api_.Create<Pod>(Gated().Annotation(api::kLocalConfigsAnnotation, "new,gone"));
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_EQ(Sources(), "arm64:75:PodPlacementConfig-new");
}

TEST_F(PodReconcilerTest, ADeletedConfigDoesNotDelayThePod) {
  api_.Create<Pod>(Gated().Annotation(api::kLocalConfigsAnnotation, "gone"));
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
}

TEST_F(PodReconcilerTest, FailsWhileTheConfigsCannotBeRead) {
  CreateUnseen(Config("new", 1, "arm64", 75));
  api_.Create<Pod>(Gated().Annotation(api::kLocalConfigsAnnotation, "new"));
  api_.FailNext(Error::Unavailable("503"), "GET /apis/multiarch");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kUnavailable));
  EXPECT_TRUE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_EQ(Preferences(), 1);
}

TEST_F(PodReconcilerTest, AConflictIsRetriedFromTheNewestPod) {
  api_.Create(Config("a", 1, "arm64", 75));
  Pod old_pod = api_.Create<Pod>(Gated());
  pods_.Freeze(old_pod);
  // Meanwhile, the user has added a preference.
  Pod newer = Gated().Prefers(1, "kubernetes.io/arch", {"amd64"});
  newer.mutable_metadata()->set_uid(old_pod.metadata().uid());
  api_.Update<Pod>(newer);
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_EQ(Preferences(), 1);
  EXPECT_EQ(Sources(), "arm64:75:PodPlacementConfig-a:skipped");
}

TEST_F(PodReconcilerTest, AConflictWithAnotherReleaseIsDone) {
  pods_.Freeze(api_.Create<Pod>(Gated()));
  Pod released = Web();
  placement::DropGate(released, api::kLocalGate);
  api_.Update<Pod>(released);
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_EQ(shard_metrics_.processed_pods.Value(), 0);
}

TEST_F(PodReconcilerTest, EndlessConflictsGoBackToTheQueue) {
  api_.Create<Pod>(Gated());
  api_.FailNext(Error::Conflict("again"), "PUT", 100);
  EXPECT_THAT(Reconcile(), FailsWith(Code::kConflict));
  EXPECT_EQ(api_.CountCalls("PUT"), 4);
}

TEST_F(PodReconcilerTest, ADeletedPodIsDone) {
  pods_.Freeze(api_.Create<Pod>(Gated()));
  api_.Delete<Pod>({"ns", "web"});
  EXPECT_THAT(Reconcile(), kube::IsOk());
}

TEST_F(PodReconcilerTest, AnotherPodOfTheSameNameIsNotWritten) {
  pods_.Freeze(api_.Create<Pod>(Gated()));
  api_.Delete<Pod>({"ns", "web"});
  api_.Create<Pod>(Gated());
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_TRUE(placement::HasGate(Web(), api::kLocalGate));
}

// The bare release is refused as well, for example for a missing permission.
TEST_F(PodReconcilerTest, AForbiddenWriteCausesAReviewOfPermissions) {
  tasks_.Spawn("rights", rights_.Run());
  api_.Create<Pod>(Gated());
  api_.FailNext(Error::PermissionDenied("pods is forbidden"), "PUT", 100);
  EXPECT_THAT(Reconcile(), FailsWith(Code::kPermissionDenied));
  kube::Drain(io_);
  EXPECT_GT(api_.CountCalls("selfsubjectaccessreviews"), 0);
}

TEST_F(PodReconcilerTest, ARefusedReleaseOnlyDropsTheGate) {
  api_.Create(Config("a", 1, "arm64", 75));
  for (Error refused :
       {Error::Invalid("no such field"), Error::PermissionDenied("a policy says no")}) {
    api_.Create<Pod>(Gated());
    api_.FailNext(refused, "PUT");
    EXPECT_THAT(Reconcile(), kube::IsOk());
    EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
    EXPECT_EQ(Preferences(), 0);
    api_.Delete<Pod>({"ns", "web"});
  }
  EXPECT_THAT(Events(), ::testing::Contains(api::kReasonGateRemovalFailed));
}

TEST_F(PodReconcilerTest, AnyRefusalCountsAsOne) {
  api_.Create<Pod>(Gated());
  api_.FailNext(Error::FromHttpStatus(451, "", "denied the request"), "PUT");
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
}

TEST_F(PodReconcilerTest, APodThatCannotBeWrittenGetsOneEvent) {
  api_.Create<Pod>(Gated());
  api_.FailNext(Error::PermissionDenied("a policy says no"), "PUT", 100);
  for (int i = 0; i < 10; ++i) EXPECT_THAT(Reconcile(), FailsWith(Code::kPermissionDenied));
  EXPECT_TRUE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_EQ(events_.size(), 2u) << "the decided write's refusal, and the bare one's";
}

TEST_F(PodReconcilerTest, AMissingPermissionLosesNoPreference) {
  api_.Create(Config("a", 1, "arm64", 75));
  api_.Create<Pod>(Gated());
  api_.FailNext(Error::PermissionDenied(
                    R"(pods "web" is forbidden: User "shard" cannot update resource "pods")"),
                "PUT");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kPermissionDenied));
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_EQ(Preferences(), 1);
}

TEST_F(PodReconcilerTest, AnIgnoredPodOnlyLosesTheGate) {
  api_.Create(Config("a", 1, "arm64", 75));
  api_.Create<Pod>(Gated().Owner("apps/v1", "DaemonSet", "agent"));
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_EQ(Preferences(), 0);
  EXPECT_THAT(Events(), ::testing::UnorderedElementsAre(api::kReasonGatedPodIgnored,
                                                        api::kReasonGateRemoved));
}

TEST_F(PodReconcilerTest, APodThatOptsOutOnlyLosesTheGate) {
  api_.Create(Config("a", 1, "arm64", 75));
  api_.Create<Pod>(
      Gated().Label(api::kLocalGateLabel, api::kGated).Label(api::kExcludeLabel, "false"));
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_EQ(Preferences(), 0);
  EXPECT_THAT(Events(), ::testing::UnorderedElementsAre(api::kReasonGatedPodIgnored,
                                                        api::kReasonGateRemoved));
}

TEST_F(PodReconcilerTest, AnOutageIsRetriedWithAnEvent) {
  api_.Create(Config("a", 1, "arm64", 75));
  api_.Create<Pod>(Gated());
  api_.FailNext(Error::Unavailable("503"), "PUT");
  EXPECT_THAT(Reconcile(), FailsWith(Code::kUnavailable, HasSubstr("drop the local gate")));
  EXPECT_TRUE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_EQ(Preferences(), 1);
  EXPECT_THAT(Events(),
              ::testing::UnorderedElementsAre(api::kReasonGateRemovalFailed,
                                              api::kReasonPredicateSet, api::kReasonGateRemoved));
}

// --- Rules. "large" and "small" match pods of these kinds (FakeRulePolicy).

TEST_F(PodReconcilerTest, RecordedRulesNeedNoQuestion) {
  api_.Create(WithRules("a"));
  api_.Create<Pod>(Gated().Annotation(api::kLocalConfigsAnnotation, "a/large,a/small"));
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_EQ(client_.questions(), 0);
  EXPECT_EQ(Sources(), "s390x:80:PodPlacementConfig-a/large,arm64:90:PodPlacementConfig-a/small");
}

TEST_F(PodReconcilerTest, AsksAboutRulesThatAreNotRecorded) {
  client_.Enforce(api_.Create(WithRules("a")));
  api_.Create<Pod>(Gated().Annotation("kind", "small"));
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_EQ(client_.questions(), 1);
  EXPECT_EQ(api_.CountCalls("PUT"), 1) << "the question is none";
  EXPECT_EQ(Sources(), "arm64:90:PodPlacementConfig-a/small");
}

TEST_F(PodReconcilerTest, WaitsForTheAnswerAtMostTenSeconds) {
  api_.Create(WithRules("a"));
  api_.Create<Pod>(Gated().Annotation("kind", "small"));
  kube::Duration waited{};
  while (placement::HasGate(Web(), api::kLocalGate)) {
    kube::Result<Outcome> outcome = Reconcile();
    ASSERT_THAT(outcome, kube::IsOk());
    kube::Duration wait = outcome->delay().value_or(0ms);
    clock_.Advance(wait);
    waited += wait;
    ASSERT_LE(waited, 11s);
  }
  EXPECT_GE(waited, 10s);
  EXPECT_EQ(Preferences(), 0);
  EXPECT_EQ(api_.CountCalls("PUT"), 1);
  EXPECT_THAT(Events(), ::testing::UnorderedElementsAre(api::kReasonRulesNotEvaluated,
                                                        api::kReasonGateRemoved));
}

TEST_F(PodReconcilerTest, AConflictOfTheQuestionIsDecidedFromTheNewestPod) {
  client_.Enforce(api_.Create(WithRules("a")));
  Pod old_pod = api_.Create<Pod>(Gated().Annotation("kind", "small"));
  pods_.Freeze(old_pod);
  Pod newer = Gated().Annotation("kind", "large");
  newer.mutable_metadata()->set_uid(old_pod.metadata().uid());
  api_.Update<Pod>(newer);
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_EQ(Sources(), "s390x:80:PodPlacementConfig-a/large");
  EXPECT_EQ(client_.questions(), 2);
}

TEST_F(PodReconcilerTest, ARefusedQuestionCostsOnlyTheRules) {
  PodPlacementConfig config = WithRules("a");
  config.spec.plugins = Config("a", 1, "arm64", 75).spec.plugins;
  client_.Enforce(api_.Create(config));
  api_.Create<Pod>(Gated().Annotation("kind", "small"));
  api_.FailNext(Error::Invalid("webhook x does not support dry run"), "dryRun=All");
  EXPECT_THAT(Reconcile(), kube::IsOk());
  EXPECT_FALSE(placement::HasGate(Web(), api::kLocalGate));
  EXPECT_EQ(Sources(), "arm64:75:PodPlacementConfig-a");
  EXPECT_THAT(Events(), ::testing::Contains(api::kReasonRulesNotEvaluated));
}

TEST_F(PodReconcilerTest, APodThatIsDeletedWhileItsRulesAreAskedIsDone) {
  client_.Enforce(api_.Create(WithRules("a")));
  pods_.Freeze(api_.Create<Pod>(Gated()));
  api_.Delete<Pod>({"ns", "web"});
  EXPECT_THAT(Reconcile(), kube::IsOk());
}

}  // namespace
}  // namespace shard
