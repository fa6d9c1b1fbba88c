// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "api/amd64_levels.h"
#include "api/names.h"
#include "api/templates.h"
#include "cluster-controller/nodes/testing/node_with_images.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/architecture.h"
#include "templates/template_feature.h"
#include "templates/template_reconciler.h"
#include "templates/testing/template_feature_fixture.h"
#include "templates/workload_watch.h"

namespace templates {
namespace {

using kube::MakePod;
using kube::core::Pod;
using kube::workloads::DaemonSet;
using kube::workloads::Job;
using placement::ArchitectureSet;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

const std::string kAnnotation(api::kTemplateArchitecturesAnnotation);
const kube::Json kPlugin = {{"templates", {{"suspendedJobs", true}}}};

class SuspendedJobsTest : public TemplateFeatureTest {
 protected:
  void SetUp() override {
    images_.SetDefault(ArchitectureSet{"amd64", "arm64"});
    Use(kPlugin);
  }
  static Job Large(Job job) {
    (*job.mutable_metadata()->mutable_annotations())["notes"] = std::string(kMaxWorkloadBytes, 'x');
    return job;
  }
  static Job Train() { return MakeJob("train", MakePod("").Image("r.io/app:1")); }
};

// The registry does not answer.
class SilentRegistryTest : public SuspendedJobsTest {
 protected:
  void SetUp() override { Use(kPlugin); }
};

TEST_F(SuspendedJobsTest, NothingIsWatchedUnlessAPluginIsOn) {
  EXPECT_EQ(api_.CountCalls("WATCH /apis/batch/v1/jobs"), 1);
  EXPECT_EQ(api_.CountCalls("daemonsets"), 0);
  int watches = api_.open_watches();
  Use({{"templates", {{"suspendedJobs", false}}}});
  EXPECT_EQ(api_.open_watches(), watches - 1);
  Create(Train());
  EXPECT_EQ(api_.CountCalls("jobs/train"), 0);
}

TEST_F(SuspendedJobsTest, GetTheRequirementOnce) {
  Create(Train());
  EXPECT_THAT(Required<Job>("train"), ElementsAre("amd64", "arm64"));
  Job train = *api_.Get<Job>({"ns", "train"});
  EXPECT_EQ(train.metadata().annotations().at(kAnnotation), "amd64, arm64");
  EXPECT_TRUE(train.spec().suspend());
  EXPECT_EQ(Puts(), 1);
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("Job/train ArchAwareTemplateSet: ")));
  EXPECT_GT(observer_.reconciles, 0);
  // Another client restores what it had.
  train.mutable_metadata()->clear_annotations();
  train.mutable_spec()->mutable_template_()->mutable_spec()->clear_affinity();
  api_.Update(train);
  kube::Drain(io_);
  EXPECT_EQ(Puts(), 1);
  EXPECT_EQ(metrics_.changed_templates.Value(), 1);
}

TEST_F(SuspendedJobsTest, OnlyNewOnesAreChanged) {
  Use(kube::Json::object());
  Create(MakeJob("old", MakePod("").Image("r.io/app:1")));
  Advance(kNewJob);
  Create(Train());
  Use(kPlugin);
  EXPECT_THAT(Required<Job>("train"), ElementsAre("amd64", "arm64"));
  EXPECT_THAT(Required<Job>("old"), IsEmpty());
}

TEST_F(SuspendedJobsTest, WhichAreLeftUnchanged) {
  CreateNamespace("opted-out", api::kExcludeLabel);
  const Pod plain = MakePod("").Image("r.io/app:1");
  Create(MakeJob("running", plain, /*suspend=*/false));
  Job stopping = MakeJob("stopping", plain);
  stopping.mutable_status()->mutable_start_time()->set_seconds(1);
  Create(stopping);
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
  Create(Train());
  EXPECT_EQ(Puts(), 1);
}

TEST_F(SuspendedJobsTest, OnlyThoseOfSelectedNamespaces) {
  CreateNamespace("of-team", "team");
  kube::Json has_team = {{"key", "team"}, {"operator", "Exists"}};
  Use(kPlugin, {{"matchExpressions", {has_team}}});
  Create(Train());
  EXPECT_EQ(Puts(), 0);
  Create(MakeJob("train", MakePod("").Namespace("of-team").Image("r.io/app:1")));
  EXPECT_EQ(api_.CountCalls("PUT /apis/batch/v1/namespaces/of-team/jobs/train"), 1);
}

// Its pods are placed by their gates if the webhooks gate them.
TEST_F(SuspendedJobsTest, OneWhoseNamespaceCannotBeReadIsLeftUnchanged) {
  api_.FailNext(kube::Error::FromHttpStatus(403, "Forbidden", "no"), "GET /api/v1/namespaces/ns");
  Create(Train());
  Create(MakeJob("gone", MakePod("").Namespace("deleted").Image("r.io/app:1")));
  EXPECT_EQ(Puts(), 0);
}

TEST_F(SuspendedJobsTest, ALevelOfX8664IsRequiredOnlyWithItsPlugin) {
  images_.SetPlatforms("r.io/v3:1", {{.os = "linux", .architecture = "amd64", .amd64_level = 3}});
  const std::string label = api::Amd64LevelLabel(3);
  auto has_level = [&](const std::string& job) {
    return api_.Get<Job>({"ns", job})->SerializeAsString().find(label) != std::string::npos;
  };
  Create(MakeJob("without", MakePod("").Image("r.io/v3:1")));
  EXPECT_THAT(Required<Job>("without"), ElementsAre("amd64"));
  EXPECT_FALSE(has_level("without"));
  kube::Json plugins = kPlugin;
  plugins["amd64Levels"] = {{"enabled", true}};
  Use(plugins);
  Create(MakeJob("with", MakePod("").Image("r.io/v3:1")));
  EXPECT_THAT(Required<Job>("with"), ElementsAre("amd64"));
  EXPECT_TRUE(has_level("with"));
  EXPECT_THAT(Events(), Contains(AllOf(HasSubstr("Job/with "), HasSubstr(label))));
}

TEST_F(SuspendedJobsTest, ImagesThatAreNotKnownInTimeLeaveTheJobUnchanged) {
  images_.SetDefault(kube::Error::Unavailable("503"));
  Create(Train());
  for (int attempt = 1; attempt < 5; ++attempt) {
    EXPECT_THAT(Events(), IsEmpty());
    EXPECT_EQ(images_.inspected().size(), static_cast<size_t>(attempt));
    Advance(20s);
  }
  EXPECT_THAT(Events(), ElementsAre(AllOf(HasSubstr("Job/train ArchAwareTemplateUnchanged: "),
                                          HasSubstr("503"))));
  EXPECT_EQ(Puts(), 0);
  Advance(10min);
  EXPECT_EQ(images_.inspected().size(), 5u);
  EXPECT_EQ(metrics_.unchanged_templates.Value(), 1);
  // A metric of pods counts no templates.
  EXPECT_EQ(placement_metrics_.stale_inspections.Value(), 0);
}

TEST_F(SuspendedJobsTest, OneThatStartsMeanwhileIsLeftUnchanged) {
  images_.SetDefault(kube::Error::Unavailable("503"));
  Job train = Create(Train());
  train.mutable_spec()->set_suspend(false);
  api_.Update(train);
  images_.SetDefault(ArchitectureSet{"amd64"});
  Advance(20s);
  EXPECT_EQ(Puts(), 0);
}

TEST_F(SuspendedJobsTest, AConflictIsDecidedAgain) {
  bool first = true;
  api_.BeforeEach([&](const std::string& call) {
    if (!call.starts_with("PUT ") || !std::exchange(first, false)) return;
    Job job = *api_.Get<Job>({"ns", "train"});
    (*job.mutable_metadata()->mutable_labels())["queue"] = "a";
    api_.Update(job);
  });
  Create(Train());
  Advance(1s);
  EXPECT_EQ(Puts(), 2);
  Job train = *api_.Get<Job>({"ns", "train"});
  EXPECT_EQ(train.metadata().labels().at("queue"), "a");
  EXPECT_THAT(Required<Job>("train"), ElementsAre("amd64", "arm64"));
}

TEST_F(SuspendedJobsTest, OneThatTheApiServerRefusesIsLeftUnchanged) {
  api_.FailNext(kube::Error::Invalid("by a policy"), "PUT ", 5);
  Create(Train());
  for (int attempt = 1; attempt < 5; ++attempt) Advance(20s);
  Advance(10min);
  EXPECT_EQ(Puts(), 5);
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("by a policy")));
}

// It is no refusal: no attempt is lost.
TEST_F(SuspendedJobsTest, AnOutageOfTheApiServerIsWaitedFor) {
  api_.FailNext(kube::Error::Unavailable("503"), "PUT ", 7);
  Create(Train());
  for (int second = 0; second < 60; ++second) Advance(1s);
  EXPECT_EQ(Puts(), 8);
  EXPECT_THAT(Required<Job>("train"), ElementsAre("amd64", "arm64"));
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("ArchAwareTemplateSet")));
}

TEST_F(SuspendedJobsTest, ImagesWithoutACommonArchitectureLeaveTheJobUnchanged) {
  images_.SetResult("r.io/app:1", ArchitectureSet{"amd64"});
  images_.SetResult("r.io/log:1", ArchitectureSet{"arm64"});
  Create(MakeJob("train", MakePod("").Image("r.io/app:1").Image("r.io/log:1")));
  EXPECT_EQ(Puts(), 0);
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("have no architecture in common")));
}

TEST_F(SuspendedJobsTest, ALargeOneIsNotEvenRead) {
  Create(Large(Train()));
  EXPECT_EQ(api_.CountCalls("jobs/train"), 0);
  // Its author enlarges it after it was seen.
  api_.BeforeEach([&](const std::string& call) {
    if (call == "GET /apis/batch/v1/namespaces/ns/jobs/grows")
      api_.Update(Large(*api_.Get<Job>({"ns", "grows"})));
  });
  Create(MakeJob("grows", MakePod("").Image("r.io/app:1")));
  EXPECT_EQ(Puts(), 0);
  EXPECT_THAT(images_.inspected(), IsEmpty());
  CreateNamespace("opted-out", api::kExcludeLabel);
  Create(Large(MakeJob("elsewhere", MakePod("").Namespace("opted-out").Image("r.io/app:1"))));
  EXPECT_EQ(metrics_.templates_left_out.Value(), 3);
  // An event once, not with each change.
  Job train = *api_.Get<Job>({"ns", "train"});
  (*train.mutable_metadata()->mutable_labels())["queue"] = "a";
  api_.Update(train);
  kube::Drain(io_);
  const std::string kSize = "128 KiB";
  EXPECT_THAT(Events(),
              UnorderedElementsAre(
                  AllOf(HasSubstr("Job/train ArchAwareTemplateUnchanged: "), HasSubstr(kSize)),
                  AllOf(HasSubstr("Job/grows ArchAwareTemplateUnchanged: "), HasSubstr(kSize))));
}

// Those that stay unchanged do not fill what may wait.
TEST_F(SuspendedJobsTest, OneThatIsDecidedNoLongerWaits) {
  images_.SetResult("r.io/none:1", ArchitectureSet());
  for (size_t i = 0; i < WaitingOptions().per_namespace + 1; ++i)
    Create(MakeJob("a" + std::to_string(i), MakePod("").Image("r.io/none:1")));
  Create(Train());
  EXPECT_EQ(Puts(), 1);
  EXPECT_EQ(metrics_.templates_left_out.Value(), 0);
}

TEST_F(SilentRegistryTest, TooManyAreListedAgain) {
  const size_t many = WaitingOptions().per_namespace + 10;
  for (size_t i = 0; i < many; ++i)
    api_.Create(MakeJob("a" + std::to_string(i), MakePod("").Image("r.io/app:1")));
  kube::Drain(io_);
  EXPECT_EQ(metrics_.templates_left_out.Value(), 10);
  CreateNamespace("other");
  Create(MakeJob("train", MakePod("").Namespace("other").Image("r.io/other:1")));
  EXPECT_EQ(metrics_.templates_left_out.Value(), 10);
  images_.SetDefault(ArchitectureSet{"arm64"});
  kube::Drain(io_);
  EXPECT_EQ(Puts(), static_cast<int>(many - 10 + 1));
  Advance(kListAgainAfter);
  EXPECT_EQ(Puts(), static_cast<int>(many + 1));
  // There is no reason for a further list.
  int lists = api_.CountCalls("WATCH /apis/batch/v1/jobs");
  Advance(10min);
  EXPECT_EQ(api_.CountCalls("WATCH /apis/batch/v1/jobs"), lists);
}

TEST_F(SilentRegistryTest, SomeOfThoseForWhichThereIsNoRoomGetAnEvent) {
  client_.hang_on = "/api/v1/namespaces/ns";
  const size_t left_out = kLeftOutOptions.per_namespace + 5;
  for (size_t i = 0; i < WaitingOptions().per_namespace + left_out; ++i)
    api_.Create(MakeJob("a" + std::to_string(i), MakePod("").Image("r.io/app:1")));
  kube::Drain(io_);
  EXPECT_EQ(metrics_.templates_left_out.Value(), left_out);
  client_.Resume();
  kube::Drain(io_);
  EXPECT_THAT(Events(), AllOf(SizeIs(kLeftOutOptions.per_namespace),
                              Each(HasSubstr("at most 500 of a namespace"))));
  // Others with the next list, and none twice.
  Advance(kListAgainAfter);
  EXPECT_THAT(Events(), SizeIs(left_out));
  Advance(2 * kListAgainAfter);
  EXPECT_THAT(Events(), SizeIs(left_out));
}

// One tenant does not make the controller list all workloads of the cluster every minute.
TEST_F(SilentRegistryTest, ListsThatLeaveSomeOutBecomeRare) {
  kube::Json plugins = kPlugin;
  plugins["daemonSets"] = {{"patchTemplates", true}};
  Use(plugins);
  for (size_t i = 0; i <= WaitingOptions().per_namespace; ++i)
    api_.Create(MakeJob("a" + std::to_string(i), MakePod("").Image("r.io/app:1")));
  kube::Drain(io_);
  for (int minute = 0; minute < 9; ++minute) Advance(1min);
  // At first, and after 1, 3 and 7 minutes.
  EXPECT_EQ(api_.CountCalls("WATCH /apis/batch/v1/jobs"), 4);
  EXPECT_EQ(api_.CountCalls("WATCH /apis/apps/v1/daemonsets"), 1);
}

// Gated pods of the same namespace wait for few of them.
TEST_F(SilentRegistryTest, AtMostSoManyAreInspectedAtATime) {
  for (int i = 0; i < 10; ++i)
    Create(MakeJob("a" + std::to_string(i), MakePod("").Image("r.io/app:" + std::to_string(i))));
  EXPECT_EQ(images_.inspected().size(), kTemplatesAtATime.per_namespace);
  images_.SetDefault(ArchitectureSet{"arm64"});
  kube::Drain(io_);
  EXPECT_EQ(Puts(), 10);
}

TEST_F(SilentRegistryTest, SilentImagesOfSomeNamespacesDelayNoOther) {
  kube::Json plugins = kPlugin;
  plugins["daemonSets"] = {{"patchTemplates", true}};
  Use(plugins);
  for (const std::string ns : {"a", "b", "c", "d"}) {
    CreateNamespace(ns);
    for (size_t i = 0; i <= kTemplatesAtATime.per_namespace; ++i) {
      std::string name = ns + std::to_string(i);
      Create(MakeJob(name, MakePod("").Namespace(ns).Image(name + ".io/app:1")));
    }
  }
  EXPECT_EQ(images_.inspected().size(), kTemplatesAtATime.total);
  images_.SetResult("r.io/app:1", ArchitectureSet{"arm64"});
  Create(MakeDaemonSet("agent", MakePod("").Image("r.io/app:1")));
  EXPECT_THAT(Required<DaemonSet>("agent"), ElementsAre("arm64"));
}

TEST_F(SilentRegistryTest, WithoutThePluginNothingWaits) {
  for (int i = 0; i < 10; ++i)
    Create(MakeJob("a" + std::to_string(i), MakePod("").Image("r.io/app:" + std::to_string(i))));
  Use(kube::Json::object());
  images_.SetDefault(ArchitectureSet{"arm64"});
  kube::Drain(io_);
  EXPECT_EQ(Puts(), 0);
  Use(kPlugin);
  EXPECT_EQ(Puts(), 10);
}

// As at the end of a term of leadership whose Lease was lost: the term is destroyed next.
TEST_F(SuspendedJobsTest, NoCallOutlivesTheTasksOfTheTerm) {
  client_.hang_on = "jobs/train";
  Create(Train());
  EXPECT_EQ(client_.hanging, 1);
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 20ms)),
              kube::FailsWith(kube::Code::kDeadlineExceeded));
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  EXPECT_EQ(client_.hanging, 0);
}

TEST_F(SuspendedJobsTest, NoWatchOutlivesTheTasksOfTheTerm) {
  client_.hang_on = "/apis/apps/v1/daemonsets";
  kube::Json plugins = kPlugin;
  plugins["daemonSets"] = {{"patchTemplates", true}, {"report", true}};
  Use(plugins);
  // The watch, and the list of the report.
  EXPECT_EQ(client_.hanging, 2);
  EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  EXPECT_EQ(client_.hanging, 0);
}

// The nodes that have the image are others when the Job starts.
TEST_F(SuspendedJobsTest, ImagesThatAreKnownOnlyFromNodesLeaveTheJobUnchanged) {
  api_.Create(cluster_controller::NodeWithImages("n", "linux", "arm64", {{"r.io/app:1"}}));
  images_.SetDefault(kube::Error::NotFound("404"));
  Create(MakeJob("never", MakePod("").Image("r.io/app:1", "Never")));
  Advance(20s);
  Create(MakeJob("preloaded", MakePod("").Image("r.io/app:1", "IfNotPresent")));
  Advance(10min);
  EXPECT_EQ(Puts(), 0);
  EXPECT_THAT(Events(), UnorderedElementsAre(HasSubstr("Job/never ArchAwareTemplateUnchanged: "),
                                             HasSubstr("Job/preloaded ArchAwareTemplateUnchanged: "
                                                       "The pod template is unchanged: an image "
                                                       "of it is known only from the nodes")));
}

TEST_F(SuspendedJobsTest, PullSecretsOfTheTemplateAreUsed) {
  Create(MakeJob("train", MakePod("").Image("r.io/app:1").PullSecret("registry")));
  EXPECT_GE(api_.CountCalls("GET /api/v1/namespaces/ns/secrets/registry"), 1);
  EXPECT_EQ(Puts(), 1);
}

}  // namespace
}  // namespace templates
