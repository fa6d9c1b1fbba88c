// SPDX-License-Identifier: Apache-2.0
#include "exec-format/learning/learner.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "cluster-controller/findings/image_findings.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/namespace_selection.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/pull_secrets.h"
#include "exec-format/findings/finding_limits.h"
#include "exec-format/testing/image_maker.h"
#include "exec-format/testing/make_elf.h"
#include "exec-format/testing/make_layer.h"
#include "inspection/testing/registry_fixture.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "watches/fresh_configs.h"

namespace exec_format {
namespace {

using cluster_controller::PodInspector;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

constexpr char kOperator[] = "operator-ns";
const std::string kAmd64 = MakeElf({.machine = EM_X86_64});
const std::string kArm64 = MakeElf({.machine = EM_AARCH64});

class LearnerTest : public inspection::RegistryFixture {
 protected:
  LearnerTest() {
    inspection::InspectorConfig config;
    config.registries_conf = inspection::InsecureRegistriesConf(registry_.host());
    EXPECT_TRUE(images_->SetConfig(config));
    inspector_.Use(&findings_);
    Start();
    Configure({{"execFormatErrorMonitor", {{"enabled", true}}}});
  }
  ~LearnerTest() override { Stop(); }

  void Start() {
    learner_ = std::make_unique<Learner>(
        cluster_controller::TermParts{kOperator, api_, clock_, events_, configs_, inspector_,
                                      namespaces_, *images_, findings_},
        metrics_);
    tasks_ = std::make_unique<kube::TaskGroup>(io_.get_executor());
    learner_->Start(*tasks_);
    kube::Drain(io_);
  }
  void Stop() {
    EXPECT_THAT(kube::Run(io_, tasks_->Stop(kube::RealClock(), 5s)), kube::IsOk());
    learner_.reset();
  }
  void Configure(const kube::Json& plugins) {
    api::MakeClusterConfig config;
    config.Set("/metadata/uid", "config-uid");
    for (const auto& [name, plugin] : plugins.items()) config.Set("/spec/plugins/" + name, plugin);
    auto parsed = api::ClusterPodPlacementConfig::FromJson(config.Build());
    ASSERT_TRUE(parsed) << parsed.error();
    learner_->Follow(&*parsed);
    kube::Drain(io_);
  }

  // An image for amd64 and arm64 with the same program in both.
  std::string PutApp(const std::string& program, const std::string& tag = "1") {
    const std::vector<std::string> layers = {Gzip(LayerMaker().File("app", program).Make())};
    return PutIndexOf(
        registry_, "app",
        {{.architecture = "amd64", .layers = layers}, {.architecture = "arm64", .layers = layers}},
        tag);
  }
  Failure FailureOf(const std::string& ns, const std::string& uid, kube::Json container = {},
                    const std::string& path = "/app", const std::string& tag = "1") {
    kube::Json of_pod = {{"name", "app"}, {"image", registry_.host() + "/app:" + tag}};
    if (container.is_object()) of_pod.update(container);
    const kube::Json pod = {
        {"metadata", {{"namespace", ns}, {"name", "web"}, {"uid", uid}}},
        {"spec", {{"containers", {of_pod}}}},
        {"status", {{"containerStatuses", {{{"name", "app"}, {"imageID", "app@" + image_id_}}}}}}};
    auto failed = FailedContainerOf(pod, "app", path);
    EXPECT_TRUE(failed);
    kube::core::ObjectReference about;
    about.set_kind("Pod");
    about.set_namespace_(ns);
    about.set_name("web");
    about.set_uid(uid);
    return {std::move(*failed), std::move(about), "node-1"};
  }
  // Reports it, and waits until the image was looked at.
  void Fail(Failure failure, const std::string& architecture = "arm64") {
    learner_->OnFailure(std::move(failure), architecture);
    AwaitLooks();
  }
  void AwaitLooks() {
    clock_.Advance(kLookPeriod);
    const double before = metrics_.looks.Value();
    ASSERT_TRUE(kube::RunUntil(io_, [&] { return metrics_.looks.Value() > before; }));
    kube::Drain(io_);
  }
  std::vector<std::string> Findings() {
    std::vector<std::string> texts;
    for (const ImageFinding& finding : api_.List<ImageFinding>())
      texts.push_back(finding.architecture + " for " + (finding.ns.empty() ? "all" : finding.ns) +
                      ": " + Describe(finding));
    return texts;
  }
  std::vector<std::string> Events() {
    kube::TaskGroup tasks(io_.get_executor());
    tasks.Spawn("events", events_.Run());
    kube::Drain(io_);
    kube::IgnoreError(kube::Run(io_, tasks.Stop(kube::RealClock(), 5s)), "the events are sent");
    std::vector<std::string> events;
    for (const kube::core::Event& event : api_.List<kube::core::Event>())
      events.push_back(event.reason() + ": " + event.message());
    return events;
  }
  placement::ArchitectureSet Wrong(const std::string& digest, const std::string& ns) {
    kube::Drain(io_);
    return findings_.WrongFor(digest, ns);
  }

  std::string image_id_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup queue_tasks_{io_.get_executor()};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
  watches::FreshConfigs configs_{api_, clock_, ""};
  std::unique_ptr<inspection::ImageInspector> images_ =
      inspection::NewImageInspector(io_.get_executor(), clock_);
  cluster_controller::PullSecrets secrets_{api_, clock_};
  kube::Metrics all_metrics_;
  cluster_controller::PlacementMetrics placement_metrics_{all_metrics_};
  LearningMetrics metrics_{all_metrics_};
  cluster_controller::InspectionQueue queue_{*images_, clock_, queue_tasks_, placement_metrics_};
  PodInspector inspector_{queue_, secrets_, placement_metrics_, clock_};
  cluster_controller::NamespaceSelection namespaces_{api_};
  cluster_controller::ImageFindings findings_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<kube::TaskGroup> tasks_;
};

TEST_F(LearnerTest, AnImageWithTheWrongProgramIsNotPlacedThereAgain) {
  const std::string digest = PutApp(kAmd64);
  Fail(FailureOf("team-a", "u1"));
  EXPECT_THAT(Findings(), ElementsAre("arm64 for all: the program /app is built for amd64"));
  EXPECT_THAT(Wrong(digest, "team-b"), ElementsAre("arm64"));
  EXPECT_THAT(Events(), ElementsAre(AllOf(HasSubstr("ArchAwareImageFinding: New pods of "),
                                          HasSubstr("are not placed on arm64"),
                                          HasSubstr("/app is built for amd64"))));
  EXPECT_EQ(metrics_.learned.Value(), 1);
  EXPECT_EQ(metrics_.findings.Value(), 1);
  const ImageFinding stored = api_.List<ImageFinding>().front();
  EXPECT_EQ(stored.node, "node-1");
  EXPECT_EQ(stored.of_namespace, "team-a");
  ASSERT_EQ(stored.metadata().owner_references_size(), 1);

  // It is known, and costs no second read of its layers.
  registry_.ClearLog();
  Fail(FailureOf("team-b", "u2"));
  EXPECT_EQ(api_.List<ImageFinding>().size(), 1U);
  for (const std::string& request : registry_.log()) EXPECT_THAT(request, HasSubstr("/manifests/"));
}

// A file that a container wrote over its program, or a node that lies: the image itself is right.
TEST_F(LearnerTest, ARightImageHasNoFinding) {
  const std::string digest = PutApp(kArm64);
  Fail(FailureOf("team-a", "u1"));
  Fail(FailureOf("team-a", "u2"));
  EXPECT_THAT(Findings(), IsEmpty());
  EXPECT_THAT(Wrong(digest, "team-a"), IsEmpty());
}

TEST_F(LearnerTest, ACommandOfATenantCountsForItAlone) {
  const std::string digest =
      PutIndexOf(registry_, "app",
                 {{.architecture = "amd64",
                   .layers = {Gzip(
                       LayerMaker().File("app", kAmd64).File("sdk/firmware.elf", kArm64).Make())}}},
                 "1");
  Fail(FailureOf("mallory", "u1", {{"command", {"/sdk/firmware.elf"}}}, "/sdk/firmware.elf"),
       "amd64");
  EXPECT_THAT(Findings(),
              ElementsAre("amd64 for mallory: the program /sdk/firmware.elf is built for arm64"));
  EXPECT_THAT(Wrong(digest, "mallory"), ElementsAre("amd64"));
  EXPECT_THAT(Wrong(digest, "team-a"), IsEmpty());
}

TEST_F(LearnerTest, AVolumeProvesNothing) {
  PutApp(kAmd64);
  const kube::Json container = {{"command", {"/app"}},
                                {"volumeMounts", {{{"name", "v"}, {"mountPath", "/app"}}}}};
  Fail(FailureOf("mallory", "u1", container));
  Fail(FailureOf("mallory", "u2", container));
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(LearnerTest, WhatCannotBeReadCountsFromTheSecondPodOn) {
  const std::string layer = Gzip(LayerMaker().File("app", kAmd64).Make());
  const std::vector<MadeImage> images = {
      {.architecture = "arm64", .layers = {layer}, .layer_type = "application/x-unknown"}};
  const std::string digest = PutIndexOf(registry_, "app", images, "1");
  image_id_ = digest;
  Fail(FailureOf("team-a", "u1"));
  Fail(FailureOf("team-a", "u1"));
  EXPECT_THAT(Findings(), IsEmpty()) << "the same pod again";
  Fail(FailureOf("team-b", "u2"));
  EXPECT_THAT(Findings(), IsEmpty()) << "of another namespace";
  Fail(FailureOf("team-a", "u3"));
  EXPECT_THAT(
      Findings(),
      ElementsAre("arm64 for team-a: the program /app failed with an exec format error in two "
                  "pods"));
  EXPECT_THAT(Wrong(digest, "team-b"), IsEmpty());
}

TEST_F(LearnerTest, AFirstFailureIsForgottenAfterADay) {
  const std::string layer = Gzip(LayerMaker().File("app", kAmd64).Make());
  image_id_ = PutIndexOf(
      registry_, "app",
      {{.architecture = "arm64", .layers = {layer}, .layer_type = "application/x-unknown"}}, "1");
  Fail(FailureOf("team-a", "u1"));
  clock_.Advance(kSecondPodWithin);
  Fail(FailureOf("team-a", "u2"));
  EXPECT_THAT(Findings(), IsEmpty());
  Fail(FailureOf("team-a", "u3"));
  EXPECT_EQ(Findings().size(), 1U);
}

TEST_F(LearnerTest, AnAdministratorDeletesOrForbidsAFinding) {
  const std::string digest = PutApp(kAmd64);
  Fail(FailureOf("team-a", "u1"));
  ImageFinding finding = api_.List<ImageFinding>().front();
  EXPECT_THAT(kube::Run(io_, kube::Delete<ImageFinding>(api_, kube::KeyOf(finding))), kube::IsOk());
  EXPECT_THAT(Wrong(digest, "team-a"), IsEmpty());

  Fail(FailureOf("team-a", "u2"));
  EXPECT_THAT(Wrong(digest, "team-a"), ElementsAre("arm64")) << "it was found again";
  finding = api_.List<ImageFinding>().front();
  finding.ignored = true;
  api_.Update(finding);
  EXPECT_THAT(Wrong(digest, "team-a"), IsEmpty());
  Fail(FailureOf("team-a", "u3"));
  EXPECT_THAT(Wrong(digest, "team-a"), IsEmpty());
  EXPECT_TRUE(api_.List<ImageFinding>().front().ignored);

  Configure({{"imageFindings", {{"enabled", false}}}});
  EXPECT_EQ(Findings().size(), 1U) << "an administrator's is kept";
}

TEST_F(LearnerTest, WithoutThePluginThereAreNone) {
  const std::string digest = PutApp(kAmd64);
  Fail(FailureOf("team-a", "u1"));
  Configure(
      {{"execFormatErrorMonitor", {{"enabled", true}}}, {"imageFindings", {{"enabled", false}}}});
  EXPECT_THAT(Wrong(digest, "team-a"), IsEmpty());
  EXPECT_THAT(Findings(), IsEmpty());
  learner_->OnFailure(FailureOf("team-a", "u2"), "arm64");
  clock_.Advance(1h);
  kube::Drain(io_);
  EXPECT_EQ(metrics_.looks.Value(), 1);
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(LearnerTest, AFindingExpires) {
  const std::string digest = PutApp(kAmd64);
  Fail(FailureOf("team-a", "u1"));
  clock_.Advance(kFindingLifetime - 1h);
  EXPECT_THAT(Wrong(digest, ""), ElementsAre("arm64"));
  clock_.Advance(1h);
  EXPECT_THAT(Wrong(digest, ""), IsEmpty());
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(LearnerTest, AFindingThatIsSeenAgainCountsLonger) {
  PutApp(kAmd64);
  Fail(FailureOf("team-a", "u1"));
  const auto first = api_.List<ImageFinding>().front().seen;
  clock_.Advance(kFindingRefresh / 2);
  Fail(FailureOf("team-a", "u1"));
  EXPECT_EQ(api_.List<ImageFinding>().front().seen, first) << "not at each failure";
  ImageFinding labelled = api_.List<ImageFinding>().front();
  (*labelled.mutable_metadata()->mutable_labels())["team"] = "images";
  api_.Update(labelled);
  kube::Drain(io_);
  clock_.Advance(kFindingRefresh);
  Fail(FailureOf("team-a", "u1"));
  EXPECT_GT(api_.List<ImageFinding>().front().seen, first + kFindingRefresh);
  EXPECT_EQ(api_.List<ImageFinding>().front().metadata().owner_references_size(), 1);
  EXPECT_EQ(api_.List<ImageFinding>().front().metadata().labels().at("team"), "images")
      << "an administrator's";
}

TEST_F(LearnerTest, ATermBeginsWithWhatIsStored) {
  const std::string digest = PutApp(kAmd64);
  Fail(FailureOf("team-a", "u1"));
  Stop();
  findings_.Clear();
  Start();
  EXPECT_THAT(Wrong(digest, ""), IsEmpty()) << "the config is not known yet";
  EXPECT_EQ(Findings().size(), 1U) << "nothing is deleted before that";
  Configure({{"execFormatErrorMonitor", {{"enabled", true}}}});
  EXPECT_THAT(Wrong(digest, ""), ElementsAre("arm64"));
}

TEST_F(LearnerTest, NothingCountsBeforeTheArchitecturesOfNodesAreKnown) {
  api_.CreateJson(
      kube::kNodes,
      {{"apiVersion", "v1"},
       {"kind", "Node"},
       {"metadata", {{"name", "node-1"}, {"labels", {{std::string(api::kArchLabel), "arm64"}}}}}});
  const std::string digest = PutApp(kAmd64);
  api_.FailNext(kube::Error::Unavailable("down"), "/nodes", 1);
  Fail(FailureOf("team-a", "u1"));
  EXPECT_THAT(Findings(), IsEmpty());
  Fail(FailureOf("team-a", "u1"));
  EXPECT_EQ(Findings().size(), 1U);
  EXPECT_THAT(Wrong(digest, ""), ElementsAre("arm64"));
  EXPECT_THAT(findings_.offered(), ElementsAre("arm64"));

  // Those of an earlier term.
  Stop();
  findings_.Clear();
  Start();
  api_.FailNext(kube::Error::Unavailable("down"), "/nodes", 1);
  Configure({{"execFormatErrorMonitor", {{"enabled", true}}}});
  EXPECT_THAT(Wrong(digest, ""), IsEmpty());
  clock_.Advance(1min);
  EXPECT_THAT(Wrong(digest, ""), ElementsAre("arm64"));
}

TEST_F(LearnerTest, ANamespaceHasItsShare) {
  for (size_t i = 0; i < kMaxFindingsOfNamespace; ++i) {
    ImageFinding finding;
    finding.mutable_metadata()->set_name("arm64-" + std::to_string(i));
    finding.mutable_metadata()->set_namespace_(kOperator);
    finding.digest = "sha256:" + std::to_string(i);
    finding.architecture = "arm64";
    finding.of_namespace = "mallory";
    finding.seen = std::chrono::floor<std::chrono::seconds>(clock_.WallNow()) - (i + 1) * 1h;
    api_.Create(finding);
  }
  kube::Drain(io_);
  const std::string digest = PutApp(kAmd64);
  Fail(FailureOf("mallory", "u1"));
  EXPECT_EQ(Findings().size(), kMaxFindingsOfNamespace);
  EXPECT_EQ(metrics_.evicted.Value(), 1);
  EXPECT_THAT(Wrong(digest, ""), ElementsAre("arm64"));
  EXPECT_THAT(Wrong("sha256:31", ""), IsEmpty()) << "the oldest";
}

TEST_F(LearnerTest, ImagesAreReadAtAPace) {
  PutApp(kAmd64);
  for (int i = 0; i < kLooksAtOnce + 1; ++i)
    learner_->OnFailure(FailureOf("team-a", "u" + std::to_string(i)), "arm64");
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return metrics_.looks.Value() == kLooksAtOnce; }));
  kube::Drain(io_);
  EXPECT_EQ(metrics_.looks.Value(), kLooksAtOnce);
  clock_.Advance(kLookPeriod);
  EXPECT_TRUE(kube::RunUntil(io_, [&] { return metrics_.looks.Value() == kLooksAtOnce + 1; }));
}

TEST_F(LearnerTest, ARegistryThatFailsProvesNothing) {
  Fail(FailureOf("team-a", "u1"));
  EXPECT_TRUE(kube::RunUntil(io_, [&] { return metrics_.failed_looks.Value() == 1; }));
  EXPECT_THAT(Findings(), IsEmpty());
}

TEST_F(LearnerTest, LooksFirstIfItIsConfigured) {
  const std::string digest = PutApp(kAmd64);
  const kube::core::Pod pod =
      kube::MakePod("web").Namespace("team-a").Image(registry_.host() + "/app:1");
  auto inspect = [&] {
    auto images = kube::Run(io_, inspector_.Inspect(pod));
    if (images && !*images) {
      EXPECT_TRUE(kube::RunUntil(io_, [&] { return queue_.queued() + queue_.in_flight() == 0; }));
      images = kube::Run(io_, inspector_.Inspect(pod));
    }
    EXPECT_TRUE(images && *images);
    return images && *images ? **images : cluster_controller::PodImages();
  };
  EXPECT_THAT(inspect().platforms.On("linux"), ElementsAre("amd64", "arm64"));
  kube::Drain(io_);
  EXPECT_EQ(metrics_.looks.Value(), 0) << "not by default";

  Configure({{"imageFindings", {{"enabled", true}, {"inspectEntrypoints", true}}}});
  EXPECT_THAT(inspect().platforms.On("linux"), ElementsAre("amd64", "arm64"))
      << "no pod waits for it";
  ASSERT_TRUE(kube::RunUntil(io_, [&] { return findings_.Has(digest); }));
  EXPECT_THAT(Findings(), ElementsAre("arm64 for all: the program /app is built for amd64"));
  EXPECT_EQ(api_.List<ImageFinding>().front().node, "");

  const cluster_controller::PodImages images = inspect();
  EXPECT_THAT(images.platforms.On("linux"), ElementsAre("amd64"));
  EXPECT_THAT(images.avoided, ElementsAre("arm64"));
  EXPECT_THAT(images.wrong_image, HasSubstr("/app:1"));
  kube::Drain(io_);
  EXPECT_EQ(metrics_.looks.Value(), 1) << "a digest is looked at once";
}

TEST_F(LearnerTest, ALevelIsFoundIfPodsArePlacedByLevels) {
  const std::string v3 = MakeElf({.machine = EM_X86_64, .amd64_level = 3});
  const std::vector<MadeImage> images = {
      {.architecture = "amd64", .layers = {Gzip(LayerMaker().File("app", v3).Make())}},
      {.architecture = "arm64", .layers = {Gzip(LayerMaker().File("app", kArm64).Make())}}};
  const std::string digest = PutIndexOf(registry_, "app", images, "1");
  Fail(FailureOf("team-a", "u1"), "amd64");
  EXPECT_THAT(Findings(), IsEmpty()) << "nobody would use it";
  Configure(
      {{"execFormatErrorMonitor", {{"enabled", true}}}, {"amd64Levels", {{"enabled", true}}}});
  Fail(FailureOf("team-a", "u2"), "amd64");
  EXPECT_THAT(Findings(), ElementsAre("amd64 for all: the program /app needs x86-64-v3"));
  kube::Drain(io_);
  EXPECT_EQ(findings_.Amd64LevelFor(digest, "team-b"), 3);
  EXPECT_THAT(findings_.WrongFor(digest, "team-b"), IsEmpty());
  EXPECT_THAT(Events(), IsEmpty());
}

}  // namespace
}  // namespace exec_format
