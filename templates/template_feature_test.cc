// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "api/names.h"
#include "api/templates.h"
#include "api/testing/make_config.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/node_images.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/pull_secrets.h"
#include "cluster-controller/template_key.h"
#include "cluster-controller/templates.h"
#include "inspection/testing/fake_inspector.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace cluster_controller {
namespace {

using kube::MakePod;
using kube::core::Pod;
using kube::workloads::DaemonSet;
using kube::workloads::Job;
using placement::ArchitectureSet;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

const std::string kAnnotation(api::kTemplateArchitecturesAnnotation);

class TemplatesTest : public testing::Test {
 protected:
  TemplatesTest() {
    auto wake = [this](const kube::ObjectKey& key) { templates_.Wake(key); };
    queue_.OnResult(wake);
    inspector_.OnTurn(wake);
    node_images_.OnListed(wake);
    tasks_.Spawn("configs", configs_.Run());
    tasks_.Spawn("templates", templates_.Run());
    kube::Drain(io_);
  }
  ~TemplatesTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  void SetUp() override { images_.SetDefault(ArchitectureSet{"amd64", "arm64"}); }

  // The plugins of the ClusterPodPlacementConfig.
  void Use(const kube::Json& plugins, const kube::Json& selector = nullptr) {
    api::MakeClusterConfig config;
    config.Set("/spec/plugins", plugins);
    if (!selector.is_null()) config.Set("/spec/namespaceSelector", selector);
    auto parsed = api::ClusterPodPlacementConfig::FromJson(config.Build());
    ASSERT_TRUE(parsed) << parsed.error();
    templates_.Follow(&*parsed);
    kube::Drain(io_);
  }
  void UseJobs() { Use({{"templates", {{"suspendedJobs", true}}}}); }
  void Advance(kube::Duration time) {
    clock_.Advance(time);
    kube::Drain(io_);
  }

  static Job MakeJob(const std::string& name, const Pod& pod, bool suspend = true) {
    Job job;
    job.mutable_metadata()->set_name(name);
    job.mutable_metadata()->set_namespace_(pod.metadata().namespace_());
    job.mutable_spec()->set_suspend(suspend);
    auto& made = *job.mutable_spec()->mutable_template_();
    *made.mutable_metadata()->mutable_labels() = pod.metadata().labels();
    *made.mutable_spec() = pod.spec();
    return job;
  }
  Job Create(const Job& job) {
    Job created = api_.Create(job);
    kube::Drain(io_);
    return created;
  }
  DaemonSet CreateDaemonSet(const std::string& name, const Pod& pod) {
    DaemonSet daemon_set;
    daemon_set.mutable_metadata()->set_name(name);
    daemon_set.mutable_metadata()->set_namespace_(pod.metadata().namespace_());
    *daemon_set.mutable_spec()->mutable_template_()->mutable_spec() = pod.spec();
    DaemonSet created = api_.Create(daemon_set);
    kube::Drain(io_);
    return created;
  }
  void CreateNode(const std::string& name, const std::string& architecture) {
    kube::core::Node node;
    node.mutable_metadata()->set_name(name);
    (*node.mutable_metadata()->mutable_labels())[std::string(api::kArchLabel)] = architecture;
    api_.Create(node);
  }

  template <class Workload>
  std::vector<std::string> Required(const std::string& name) {
    std::vector<std::string> required;
    Workload workload = *api_.Get<Workload>({"ns", name});
    const auto& affinity = workload.spec().template_().spec().affinity().node_affinity();
    for (const auto& term :
         affinity.required_during_scheduling_ignored_during_execution().node_selector_terms()) {
      for (const auto& expression : term.match_expressions()) {
        if (expression.key() == api::kArchLabel)
          required.insert(required.end(), expression.values().begin(), expression.values().end());
      }
    }
    return required;
  }
  int Puts() { return api_.CountCalls("PUT "); }
  std::vector<std::string> Events() {
    kube::TaskGroup tasks(io_.get_executor());
    tasks.Spawn("events", events_.Run());
    kube::Drain(io_);
    kube::IgnoreError(kube::Run(io_, tasks.Stop(kube::RealClock(), 5s)), "the events are sent");
    std::vector<std::string> events;
    for (const kube::core::Event& event : api_.List<kube::core::Event>())
      events.push_back(event.involved_object().kind() + "/" + event.involved_object().name() + " " +
                       event.reason() + ": " + event.message());
    return events;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
  watches::FreshConfigs configs_{api_, clock_, ""};
  inspection::FakeInspector images_;
  PullSecrets secrets_{api_, clock_};
  NodeImages node_images_{api_, clock_, tasks_};
  kube::Metrics metrics_;
  PlacementMetrics placement_metrics_{metrics_};
  TemplateMetrics template_metrics_{metrics_};
  InspectionQueue queue_{images_, clock_, tasks_, placement_metrics_};
  PodInspector inspector_{queue_, secrets_, node_images_, placement_metrics_, clock_};
  NamespaceSelection namespaces_{api_};
  Templates templates_{
      {"operator-ns", api_, clock_, events_, configs_, inspector_, namespaces_, template_metrics_}};
};

// The registry does not answer.
class SilentRegistryTest : public TemplatesTest {
 protected:
  void SetUp() override {}
};

TEST_F(TemplatesTest, NothingIsWatchedUnlessAPluginIsOn) {
  Use(kube::Json::object());
  EXPECT_EQ(api_.CountCalls("jobs"), 0);
  EXPECT_EQ(api_.CountCalls("daemonsets"), 0);
  UseJobs();
  EXPECT_EQ(api_.CountCalls("WATCH /apis/batch/v1/jobs"), 1);
  EXPECT_EQ(api_.CountCalls("daemonsets"), 0);
  int watches = api_.open_watches();
  Use({{"templates", {{"suspendedJobs", false}}}});
  EXPECT_EQ(api_.open_watches(), watches - 1);
}

TEST_F(TemplatesTest, ASuspendedJobGetsTheRequirementOnce) {
  UseJobs();
  Create(MakeJob("train", MakePod("").Image("r.io/app:1")));
  EXPECT_THAT(Required<Job>("train"), ElementsAre("amd64", "arm64"));
  Job train = *api_.Get<Job>({"ns", "train"});
  EXPECT_EQ(train.metadata().annotations().at(kAnnotation), "amd64,arm64");
  EXPECT_TRUE(train.spec().suspend());
  EXPECT_EQ(Puts(), 1);
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("Job/train ArchAwareTemplateSet: ")));
  // Another client restores what it had.
  train.mutable_metadata()->clear_annotations();
  train.mutable_spec()->mutable_template_()->mutable_spec()->clear_affinity();
  api_.Update(train);
  kube::Drain(io_);
  EXPECT_EQ(Puts(), 1);
  EXPECT_EQ(template_metrics_.changed_templates.Value(), 1);
}

TEST_F(TemplatesTest, JobsThatExistedBeforeThePluginAreChanged) {
  Create(MakeJob("train", MakePod("").Image("r.io/app:1")));
  EXPECT_THAT(Required<Job>("train"), IsEmpty());
  UseJobs();
  EXPECT_THAT(Required<Job>("train"), ElementsAre("amd64", "arm64"));
}

TEST_F(TemplatesTest, WhichJobsAreLeftUnchanged) {
  for (const char* name : {"ns", "opted-out"}) {
    kube::core::Namespace ns;
    ns.mutable_metadata()->set_name(name);
    if (std::string(name) != "ns")
      (*ns.mutable_metadata()->mutable_labels())[std::string(api::kExcludeLabel)] = "";
    api_.Create(ns);
  }
  UseJobs();
  const Pod plain = MakePod("").Image("r.io/app:1");
  Create(MakeJob("running", plain, /*suspend=*/false));
  Job resumed = MakeJob("suspended-again", plain);
  resumed.mutable_status()->mutable_start_time()->set_seconds(1);
  Create(resumed);
  Create(
      MakeJob("of-author", MakePod("").Image("r.io/app:1").NodeSelector(api::kArchLabel, "s390x")));
  Create(MakeJob("opts-out", MakePod("").Image("r.io/app:1").Label(api::kExcludeLabel, "")));
  Job labelled = MakeJob("labelled", plain);
  (*labelled.mutable_metadata()->mutable_labels())[std::string(api::kExcludeLabel)] = "";
  Create(labelled);
  Create(MakeJob("elsewhere", MakePod("").Namespace("opted-out").Image("r.io/app:1")));
  Create(MakeJob("system", MakePod("").Namespace("kube-system").Image("r.io/app:1")));
  Create(MakeJob("operand", MakePod("").Namespace("operator-ns").Image("r.io/app:1")));
  EXPECT_EQ(Puts(), 0);
  EXPECT_THAT(Events(), IsEmpty());
  Create(MakeJob("train", plain));
  EXPECT_EQ(Puts(), 1);
}

TEST_F(TemplatesTest, OnlySelectedNamespaces) {
  Use({{"templates", {{"suspendedJobs", true}}}}, {{"matchLabels", {{"team", "a"}}}});
  kube::core::Namespace ns;
  ns.mutable_metadata()->set_name("ns");
  api_.Create(ns);
  Create(MakeJob("train", MakePod("").Image("r.io/app:1")));
  EXPECT_EQ(Puts(), 0);
}

TEST_F(TemplatesTest, ImagesThatAreNotKnownInTimeLeaveTheJobUnchanged) {
  UseJobs();
  images_.SetDefault(kube::Error::Unavailable("503"));
  Create(MakeJob("train", MakePod("").Image("r.io/app:1")));
  for (int attempt = 1; attempt < 5; ++attempt) {
    EXPECT_THAT(Events(), IsEmpty());
    EXPECT_EQ(images_.inspected().size(), static_cast<size_t>(attempt));
    Advance(20s);
  }
  EXPECT_THAT(Events(),
              ElementsAre(testing::AllOf(HasSubstr("Job/train ArchAwareTemplateUnchanged: "),
                                         HasSubstr("503"))));
  EXPECT_EQ(Puts(), 0);
  Advance(10min);
  EXPECT_EQ(images_.inspected().size(), 5u);
  EXPECT_EQ(template_metrics_.unchanged_templates.Value(), 1);
}

TEST_F(TemplatesTest, AJobThatStartsMeanwhileIsLeftUnchanged) {
  UseJobs();
  images_.SetDefault(kube::Error::Unavailable("503"));
  Job train = Create(MakeJob("train", MakePod("").Image("r.io/app:1")));
  train.mutable_spec()->set_suspend(false);
  api_.Update(train);
  images_.SetDefault(ArchitectureSet{"amd64"});
  Advance(20s);
  EXPECT_EQ(Puts(), 0);
}

TEST_F(TemplatesTest, AConflictIsDecidedAgain) {
  UseJobs();
  bool first = true;
  api_.BeforeEach([&](const std::string& call) {
    if (!call.starts_with("PUT ") || !std::exchange(first, false)) return;
    Job job = *api_.Get<Job>({"ns", "train"});
    (*job.mutable_metadata()->mutable_labels())["queue"] = "a";
    api_.Update(job);
  });
  Create(MakeJob("train", MakePod("").Image("r.io/app:1")));
  Advance(1s);
  EXPECT_EQ(Puts(), 2);
  Job train = *api_.Get<Job>({"ns", "train"});
  EXPECT_EQ(train.metadata().labels().at("queue"), "a");
  EXPECT_THAT(Required<Job>("train"), ElementsAre("amd64", "arm64"));
}

TEST_F(TemplatesTest, AJobThatTheApiServerRefusesIsLeftUnchanged) {
  UseJobs();
  api_.FailNext(kube::Error::Invalid("by a policy"), "PUT ", 5);
  Create(MakeJob("train", MakePod("").Image("r.io/app:1")));
  for (int attempt = 1; attempt < 5; ++attempt) Advance(20s);
  Advance(10min);
  EXPECT_EQ(Puts(), 5);
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("by a policy")));
}

TEST_F(TemplatesTest, ImagesWithoutACommonArchitectureLeaveTheJobUnchanged) {
  UseJobs();
  images_.SetResult("r.io/app:1", ArchitectureSet{"amd64"});
  images_.SetResult("r.io/log:1", ArchitectureSet{"arm64"});
  Create(MakeJob("train", MakePod("").Image("r.io/app:1").Image("r.io/log:1")));
  EXPECT_EQ(Puts(), 0);
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("have no architecture in common")));
}

// One namespace cannot take the memory for names.
TEST_F(TemplatesTest, AtMostSoManyJobsOfANamespaceWait) {
  images_.SetDefault(kube::Error::Unavailable("503"));
  for (size_t i = 0; i < kMaxWaitingOfNamespace + 10; ++i)
    api_.Create(MakeJob("a" + std::to_string(i), MakePod("").Image("r.io/app:1")));
  size_t names = 0;
  WorkloadWatch<Job> watch(
      api_, clock_, "", [](const Job& job) { return WantsTemplate(job, {}); },
      [&](kube::EventType type, const kube::ObjectKey&) {
        names += type == kube::EventType::kAdded ? 1 : 0;
      });
  tasks_.Spawn("watch", watch.Run());
  kube::Drain(io_);
  EXPECT_EQ(names, kMaxWaitingOfNamespace);
  api_.Create(MakeJob("b", MakePod("").Namespace("other").Image("r.io/app:1")));
  kube::Drain(io_);
  EXPECT_EQ(names, kMaxWaitingOfNamespace + 1);
  // One that is kept stays when it changes, and one that is deleted makes room.
  Job kept = *api_.Get<Job>({"ns", "a0"});
  (*kept.mutable_metadata()->mutable_labels())["a"] = "b";
  api_.Update(kept);
  for (const auto& job : api_.List<Job>("ns")) {
    if (job.metadata().name() != "a0") api_.Delete<Job>(kube::KeyOf(job));
  }
  kube::Drain(io_);
  api_.Create(MakeJob("c", MakePod("").Image("r.io/app:1")));
  kube::Drain(io_);
  EXPECT_EQ(names, kMaxWaitingOfNamespace + 2);
  kube::IgnoreError(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), "watch is local");
}

TEST_F(TemplatesTest, AtMostSoManyJobsOfTheClusterWait) {
  constexpr size_t kOfNamespace = 400;
  static_assert(kOfNamespace < kMaxWaitingOfNamespace);
  for (size_t i = 0; i < kMaxWaiting + 20; ++i) {
    std::string ns = "ns" + std::to_string(i / kOfNamespace);
    api_.Create(MakeJob("a" + std::to_string(i), MakePod("").Namespace(ns).Image("r.io/app:1")));
  }
  size_t names = 0;
  WorkloadWatch<Job> watch(
      api_, clock_, "", [](const Job& job) { return WantsTemplate(job, {}); },
      [&](kube::EventType, const kube::ObjectKey&) { ++names; });
  tasks_.Spawn("watch", watch.Run());
  kube::Drain(io_);
  EXPECT_EQ(names, kMaxWaiting);
  kube::IgnoreError(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), "watch is local");
}

// Gated pods of the same namespace wait for few of them.
TEST_F(SilentRegistryTest, AtMostSoManyJobsAreInspectedAtATime) {
  UseJobs();
  for (int i = 0; i < 10; ++i)
    Create(MakeJob("a" + std::to_string(i), MakePod("").Image("r.io/app:" + std::to_string(i))));
  EXPECT_EQ(images_.inspected().size(), kTemplatesAtATime.per_namespace);
  images_.SetDefault(ArchitectureSet{"arm64"});
  kube::Drain(io_);
  EXPECT_EQ(Puts(), 10);
}

TEST_F(SilentRegistryTest, ADeletedJobGivesItsTurnToAnother) {
  UseJobs();
  for (int i = 0; i < 5; ++i)
    Create(MakeJob("a" + std::to_string(i), MakePod("").Image("r.io/app:" + std::to_string(i))));
  EXPECT_EQ(images_.inspected().size(), 4u);
  api_.Delete<Job>({"ns", "a0"});
  kube::Drain(io_);
  EXPECT_EQ(images_.inspected().size(), 5u);
}

TEST_F(TemplatesTest, PullSecretsOfTheTemplateAreUsed) {
  UseJobs();
  Create(MakeJob("train", MakePod("").Image("r.io/app:1").PullSecret("registry")));
  EXPECT_GE(api_.CountCalls("GET /api/v1/namespaces/ns/secrets/registry"), 1);
  EXPECT_EQ(Puts(), 1);
}

TEST_F(TemplatesTest, ANewDaemonSetGetsTheRequirement) {
  Use({{"daemonSets", {{"patchTemplates", true}}}});
  CreateDaemonSet("agent", MakePod("").Image("r.io/app:1"));
  EXPECT_THAT(Required<DaemonSet>("agent"), ElementsAre("amd64", "arm64"));
  EXPECT_EQ(Puts(), 1);
}

// A change would restart its pods.
TEST_F(TemplatesTest, ADaemonSetThatExistsForLongIsLeftUnchanged) {
  CreateDaemonSet("agent", MakePod("").Image("r.io/app:1"));
  Advance(kNewDaemonSet + 1s);
  Use({{"daemonSets", {{"patchTemplates", true}}}});
  EXPECT_EQ(Puts(), 0);
}

TEST_F(TemplatesTest, DaemonSetsThatLackAnArchitectureAreReported) {
  CreateNode("a", "amd64");
  CreateNode("b", "arm64");
  CreateNode("c", "arm64");
  images_.SetResult("r.io/amd64:1", ArchitectureSet{"amd64"});
  CreateDaemonSet("agent", MakePod("").Image("r.io/amd64:1"));
  CreateDaemonSet("multi", MakePod("").Image("r.io/app:1"));
  CreateDaemonSet("selects",
                  MakePod("").Image("r.io/amd64:1").NodeSelector(api::kArchLabel, "amd64"));
  CreateDaemonSet("opts-out", MakePod("").Namespace("kube-system").Image("r.io/amd64:1"));
  Use({{"daemonSets", {{"report", true}}}});
  EXPECT_THAT(Events(), ElementsAre(testing::AllOf(
                            HasSubstr("DaemonSet/agent ArchAwareDaemonSetLacksArchitecture: "),
                            HasSubstr("arm64 (node b)"))));
  EXPECT_EQ(template_metrics_.daemon_sets_lacking_architecture.Value(), 1);
  EXPECT_EQ(Puts(), 0);
  EXPECT_EQ(api_.CountCalls("WATCH /apis/apps"), 0);
  // The event is repeated before the API server drops it, not with every report.
  Advance(11min);
  EXPECT_EQ(Events().size(), 1u);
  // The images are for both now.
  images_.SetResult("r.io/amd64:1", ArchitectureSet{"amd64", "arm64"});
  Advance(11min);
  EXPECT_EQ(template_metrics_.daemon_sets_lacking_architecture.Value(), 0);
  int lists = api_.CountCalls("GET /apis/apps/v1/daemonsets");
  EXPECT_EQ(lists, 3);
  Use({{"daemonSets", {{"report", false}}}});
  Advance(1h);
  EXPECT_EQ(api_.CountCalls("GET /apis/apps/v1/daemonsets"), lists);
}

TEST_F(TemplatesTest, AReportThatFailsIsRepeatedSoon) {
  CreateNode("b", "arm64");
  images_.SetDefault(ArchitectureSet{"amd64"});
  CreateDaemonSet("agent", MakePod("").Image("r.io/app:1"));
  api_.FailNext(kube::Error::FromHttpStatus(403, "Forbidden", "not yet"), "GET /apis/apps");
  Use({{"daemonSets", {{"report", true}}}});
  EXPECT_EQ(template_metrics_.daemon_sets_lacking_architecture.Value(), 0);
  Advance(kRetryReportAfter);
  EXPECT_EQ(template_metrics_.daemon_sets_lacking_architecture.Value(), 1);
}

TEST_F(TemplatesTest, DaemonSetsBeyondALimitAreCounted) {
  CreateNode("b", "arm64");
  images_.SetDefault(ArchitectureSet{"amd64"});
  Pod large = MakePod("").Image("r.io/app:1");
  for (size_t bytes = 0; bytes <= kMaxDaemonSetBytes; bytes += 200)
    large.mutable_spec()->add_tolerations()->set_value(std::string(200, 'x'));
  CreateDaemonSet("large", large);
  CreateDaemonSet("agent", MakePod("").Image("r.io/app:1"));
  Use({{"daemonSets", {{"report", true}}}});
  EXPECT_EQ(template_metrics_.daemon_sets_lacking_architecture.Value(), 1);
  EXPECT_EQ(template_metrics_.daemon_sets_not_compared.Value(), 1);
}

TEST_F(TemplatesTest, AReportKeepsAtMostSoManyBytes) {
  constexpr size_t kMany = kMaxDaemonSetsBytes / kMaxDaemonSetBytes + 10;
  Pod large = MakePod("").Image("r.io/app:1");
  large.mutable_spec()->add_tolerations()->set_value(std::string(kMaxDaemonSetBytes - 200, 'x'));
  for (size_t i = 0; i < kMany; ++i) CreateDaemonSet("a" + std::to_string(i), large);
  Use({{"daemonSets", {{"report", true}}}});
  EXPECT_GE(template_metrics_.daemon_sets_not_compared.Value(), 9);
  EXPECT_LE(template_metrics_.daemon_sets_not_compared.Value(), 10);
}

TEST_F(TemplatesTest, AReportComparesAtMostSoManyDaemonSets) {
  for (size_t i = 0; i < kMaxDaemonSets + 7; ++i)
    CreateDaemonSet("a" + std::to_string(i), MakePod("").Image("r.io/app:1"));
  Use({{"daemonSets", {{"report", true}}}});
  EXPECT_EQ(template_metrics_.daemon_sets_not_compared.Value(), 7);
}

TEST_F(SilentRegistryTest, ImagesThatDoNotAnswerEndNoReport) {
  CreateNode("b", "arm64");
  images_.SetResult("r.io/amd64:1", ArchitectureSet{"amd64"});
  CreateDaemonSet("agent", MakePod("").Image("r.io/silent:1"));
  CreateDaemonSet("other", MakePod("").Image("r.io/amd64:1"));
  Use({{"daemonSets", {{"report", true}}}});
  EXPECT_EQ(template_metrics_.daemon_sets_lacking_architecture.Value(), 0);
  Advance(kInspectDaemonSetWithin);
  EXPECT_EQ(template_metrics_.daemon_sets_lacking_architecture.Value(), 1);
  EXPECT_EQ(template_metrics_.daemon_sets_not_compared.Value(), 1);
}

}  // namespace
}  // namespace cluster_controller
