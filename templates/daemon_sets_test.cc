// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "cluster-controller/nodes/testing/node_with_images.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/architecture.h"
#include "templates/daemon_set_report.h"
#include "templates/template_reconciler.h"
#include "templates/testing/template_feature_fixture.h"
#include "templates/workload_watch.h"

namespace templates {
namespace {

using kube::MakePod;
using kube::core::Pod;
using kube::workloads::DaemonSet;
using placement::ArchitectureSet;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

const kube::Json kPatch = {{"daemonSets", {{"patchTemplates", true}}}};
const kube::Json kReportOn = {{"daemonSets", {{"report", true}}}};

class DaemonSetsTest : public TemplateFeatureTest {
 protected:
  void SetUp() override { images_.SetDefault(ArchitectureSet{"amd64", "arm64"}); }

  void CreateDaemonSet(const std::string& name, const Pod& pod) {
    api_.Create(MakeDaemonSet(name, pod));
  }
  void CreateNode(const std::string& name, const std::string& architecture,
                  const std::string& os = "linux") {
    kube::core::Node node;
    node.mutable_metadata()->set_name(name);
    auto& labels = *node.mutable_metadata()->mutable_labels();
    labels[std::string(api::kArchLabel)] = architecture;
    labels[std::string(api::kOsLabel)] = os;
    api_.Create(node);
  }
  // What is kept of it has little more than `bytes`.
  static Pod OfSize(const std::string& ns, const std::string& image, size_t bytes) {
    Pod pod = MakePod("").Namespace(ns).Image(image);
    pod.mutable_spec()->add_tolerations()->set_value(std::string(bytes, 'x'));
    return pod;
  }
  // What is kept of it has almost kMaxDaemonSetBytes.
  static Pod Large(const std::string& ns) {
    return OfSize(ns, "r.io/app:1", kMaxDaemonSetBytes - 200);
  }
  // Of namespaces before "z", such that less than 400 bytes are left of those of all.
  void FillTheReport() {
    constexpr size_t kLarge = kMaxBytesOfNamespace / kMaxDaemonSetBytes;
    constexpr size_t kNamespaces = kMaxBytes / kMaxBytesOfNamespace + 1;
    for (size_t ns = 0; ns < kNamespaces; ++ns) {
      CreateNamespace("ns" + std::to_string(ns));
      for (size_t i = 0; i < kLarge; ++i)
        CreateDaemonSet("a" + std::to_string(i), Large("ns" + std::to_string(ns)));
    }
    CreateNamespace("nt");
    for (size_t i = 0; i < kMaxDaemonSetsOfNamespace; ++i)
      CreateDaemonSet("a" + std::to_string(i), OfSize("nt", "r.io/app:1", 250));
  }
  double Lacking() { return metrics_.daemon_sets_lacking_architecture.Value(); }
  double NotCompared() { return metrics_.daemon_sets_not_compared.Value(); }
};

// The registry does not answer.
class SilentRegistryTest : public DaemonSetsTest {
 protected:
  void SetUp() override {}
};

TEST_F(DaemonSetsTest, ANewOneGetsTheRequirement) {
  Use(kPatch);
  Create(MakeDaemonSet("agent", MakePod("").Image("r.io/app:1")));
  EXPECT_THAT(Required<DaemonSet>("agent"), ElementsAre("amd64", "arm64"));
  EXPECT_EQ(Puts(), 1);
}

// A change would replace all of its pods.
TEST_F(DaemonSetsTest, OneThatExistsForLongIsLeftUnchanged) {
  CreateDaemonSet("agent", MakePod("").Image("r.io/app:1"));
  Advance(kNewDaemonSet);
  Use(kPatch);
  EXPECT_EQ(Puts(), 0);
}

TEST_F(DaemonSetsTest, AttemptsEndWhileItIsNew) {
  images_.SetDefault(kube::Error::Unavailable("503"));
  Use(kPatch);
  Create(MakeDaemonSet("agent", MakePod("").Image("r.io/app:1")));
  for (int second = 0; second < kNewDaemonSet.count(); ++second) Advance(1s);
  EXPECT_EQ(images_.inspected().size(), 5u);
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("DaemonSet/agent ArchAwareTemplateUnchanged: ")));
  images_.SetDefault(ArchitectureSet{"amd64"});
  Advance(10min);
  EXPECT_EQ(Puts(), 0);
}

TEST_F(SilentRegistryTest, ImagesThatAreKnownTooLateLeaveItUnchanged) {
  Use(kPatch);
  Create(MakeDaemonSet("agent", MakePod("").Image("r.io/app:1")));
  Advance(kNewDaemonSet);
  images_.SetDefault(ArchitectureSet{"amd64"});
  kube::Drain(io_);
  EXPECT_EQ(Puts(), 0);
}

// Its rollout has ended by then, and a change would replace all of its pods.
TEST_F(DaemonSetsTest, ASlowReadOfASecretLeavesItUnchanged) {
  Use(kPatch);
  int reads = 0;
  api_.BeforeEach([&](const std::string& call) {
    // Once for the inspection, once with its result.
    if (call.ends_with("secrets/registry") && ++reads == 2) clock_.Advance(kNewDaemonSet);
  });
  Create(MakeDaemonSet("agent", MakePod("").Image("r.io/app:1").PullSecret("registry")));
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(Puts(), 0);
  EXPECT_THAT(Events(), ElementsAre(AllOf(HasSubstr("DaemonSet/agent ArchAwareTemplateUnchanged: "),
                                          HasSubstr("the first 30 seconds"))));
  EXPECT_EQ(metrics_.templates_left_out.Value(), 1);
}

TEST_F(DaemonSetsTest, ThePluginMayBeSwitchedOffDuringARead) {
  Use(kPatch);
  int reads = 0;
  api_.BeforeEach([&](const std::string& call) {
    if (call.ends_with("secrets/registry") && ++reads == 2) feature_.Follow(nullptr);
  });
  Create(MakeDaemonSet("agent", MakePod("").Image("r.io/app:1").PullSecret("registry")));
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(Puts(), 0);
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(DaemonSetsTest, ThoseThatLackAnArchitectureAreReported) {
  CreateNode("a", "amd64");
  CreateNode("b", "arm64");
  CreateNode("c", "arm64");
  images_.SetResult("r.io/amd64:1", ArchitectureSet{"amd64"});
  CreateDaemonSet("agent", MakePod("").Image("r.io/amd64:1"));
  CreateDaemonSet("multi", MakePod("").Image("r.io/app:1"));
  CreateDaemonSet("selects",
                  MakePod("").Image("r.io/amd64:1").NodeSelector(api::kArchLabel, "amd64"));
  CreateDaemonSet("system", MakePod("").Namespace("kube-system").Image("r.io/amd64:1"));
  Use(kReportOn);
  EXPECT_THAT(Events(),
              ElementsAre(AllOf(HasSubstr("DaemonSet/agent ArchAwareDaemonSetLacksArchitecture: "),
                                HasSubstr("linux/arm64 (node b)"))));
  EXPECT_EQ(Lacking(), 1);
  EXPECT_EQ(NotCompared(), 0);
  EXPECT_EQ(Puts(), 0);
  EXPECT_EQ(api_.CountCalls("WATCH /apis/apps"), 0);
  // The event is repeated before the API server drops it, not with every report.
  Advance(11min);
  EXPECT_EQ(Events().size(), 1u);
  // The images are for both now.
  images_.SetResult("r.io/amd64:1", ArchitectureSet{"amd64", "arm64"});
  Advance(11min);
  EXPECT_EQ(Lacking(), 0);
  int lists = api_.CountCalls("GET /apis/apps/v1/daemonsets");
  EXPECT_EQ(lists, 3);
  Use({{"daemonSets", {{"report", false}}}});
  Advance(1h);
  EXPECT_EQ(api_.CountCalls("GET /apis/apps/v1/daemonsets"), lists);
}

TEST_F(DaemonSetsTest, AnotherOperatingSystemIsNamed) {
  CreateNode("a", "amd64", "windows");
  CreateDaemonSet("agent", MakePod("").Image("r.io/app:1"));
  Use(kReportOn);
  EXPECT_THAT(Events(), ElementsAre(AllOf(HasSubstr("windows/amd64 (node a)"),
                                          HasSubstr("kubernetes.io/os"))));
}

// Its images were for one architecture when it was created.
TEST_F(DaemonSetsTest, ARequirementThatExcludesNodesOfNewImagesIsReported) {
  CreateNode("a", "amd64");
  CreateNode("b", "arm64");
  CreateNode("c", "s390x");
  images_.SetResult("r.io/app:1", ArchitectureSet{"amd64"});
  Use(kPatch);
  Create(MakeDaemonSet("agent", MakePod("").Image("r.io/app:1")));
  EXPECT_THAT(Required<DaemonSet>("agent"), ElementsAre("amd64"));
  Create(MakeDaemonSet("selects",
                       MakePod("").Image("r.io/app:2").NodeSelector(api::kArchLabel, "amd64")));
  Use(kReportOn);
  EXPECT_THAT(Events(), ElementsAre(HasSubstr("ArchAwareTemplateSet")));
  DaemonSet agent = *api_.Get<DaemonSet>({"ns", "agent"});
  agent.mutable_spec()->mutable_template_()->mutable_spec()->mutable_containers(0)->set_image(
      "r.io/app:2");
  api_.Update(agent);
  Advance(kReportEvery + 1s);
  EXPECT_THAT(Events(),
              UnorderedElementsAre(
                  HasSubstr("ArchAwareTemplateSet"),
                  AllOf(HasSubstr("DaemonSet/agent ArchAwareDaemonSetLacksArchitecture: "),
                        HasSubstr("does not run on nodes that its images are for: linux/arm64 "
                                  "(node b). "),
                        HasSubstr("required amd64"))));
  EXPECT_EQ(Lacking(), 0);
}

TEST_F(DaemonSetsTest, TheReportEndsWithThePlugin) {
  CreateNode("b", "arm64");
  images_.SetDefault(ArchitectureSet{"amd64"});
  CreateDaemonSet("agent", MakePod("").Image("r.io/app:1"));
  Use(kReportOn);
  EXPECT_EQ(Lacking(), 1);
  Use(kube::Json::object());
  EXPECT_EQ(Lacking(), 0);
}

TEST_F(DaemonSetsTest, ThoseOfOtherNamespacesAreNotReported) {
  CreateNode("b", "arm64");
  CreateNamespace("opted-out", api::kExcludeLabel);
  images_.SetDefault(ArchitectureSet{"amd64"});
  CreateDaemonSet("agent", MakePod("").Namespace("opted-out").Image("r.io/app:1"));
  CreateDaemonSet("gone", MakePod("").Namespace("deleted").Image("r.io/app:1"));
  Use(kReportOn);
  EXPECT_EQ(Lacking(), 0);
  // That of a namespace that cannot be read.
  EXPECT_EQ(NotCompared(), 1);
}

TEST_F(DaemonSetsTest, AReportThatFailsIsRepeatedSoon) {
  CreateNode("b", "arm64");
  images_.SetDefault(ArchitectureSet{"amd64"});
  CreateDaemonSet("agent", MakePod("").Image("r.io/app:1"));
  api_.FailNext(kube::Error::FromHttpStatus(403, "Forbidden", "not yet"), "GET /apis/apps");
  Use(kReportOn);
  EXPECT_EQ(Lacking(), 0);
  Advance(kRetryReportAfter);
  EXPECT_EQ(Lacking(), 1);
}

TEST_F(DaemonSetsTest, AReportThatKeepsFailingIsRepeatedRarely) {
  CreateDaemonSet("agent", MakePod("").Image("r.io/app:1"));
  api_.FailNext(kube::Error::FromHttpStatus(403, "Forbidden", "no"), "GET /api/v1/nodes", 1'000);
  Use(kReportOn);
  for (int i = 0; i < 60; ++i) Advance(10s);
  // After 0, 10, 30, 70, 150 and 310 seconds.
  EXPECT_EQ(api_.CountCalls("GET /api/v1/nodes"), 6);
  for (int i = 0; i < 60; ++i) Advance(1min);
  EXPECT_LE(api_.CountCalls("GET /api/v1/nodes"), 6 + 7);
  // Nothing else was asked for.
  EXPECT_EQ(api_.CountCalls("GET /apis/apps"), 0);
  EXPECT_THAT(images_.inspected(), IsEmpty());
}

TEST_F(DaemonSetsTest, ALargeOneIsCounted) {
  CreateNode("b", "arm64");
  images_.SetDefault(ArchitectureSet{"amd64"});
  Pod pod = Large("ns");
  pod.mutable_spec()->add_tolerations()->set_value(std::string(300, 'x'));
  CreateDaemonSet("large", pod);
  DaemonSet larger = MakeDaemonSet("larger", MakePod("").Image("r.io/app:1"));
  (*larger.mutable_metadata()->mutable_annotations())["a"] = std::string(kMaxWorkloadBytes, 'x');
  api_.Create(larger);
  CreateDaemonSet("agent", MakePod("").Image("r.io/app:1"));
  Use(kReportOn);
  EXPECT_EQ(Lacking(), 1);
  EXPECT_EQ(NotCompared(), 2);
}

// One namespace hides none of the others.
TEST_F(DaemonSetsTest, ANamespaceHasAShareOfTheReport) {
  CreateNode("b", "arm64");
  images_.SetDefault(ArchitectureSet{"amd64"});
  for (size_t i = 0; i < kMaxDaemonSetsOfNamespace + 7; ++i)
    CreateDaemonSet("a" + std::to_string(i), MakePod("").Image("r.io/app:1"));
  CreateNamespace("nt");
  constexpr size_t kLarge = kMaxBytesOfNamespace / kMaxDaemonSetBytes;
  for (size_t i = 0; i < kLarge + 2; ++i) CreateDaemonSet("a" + std::to_string(i), Large("nt"));
  CreateNamespace("z");
  CreateDaemonSet("agent", MakePod("").Namespace("z").Image("r.io/app:1"));
  Use(kReportOn);
  EXPECT_EQ(NotCompared(), 7 + 2);
  EXPECT_EQ(Lacking(), kMaxDaemonSetsOfNamespace + kLarge + 1);
}

TEST_F(DaemonSetsTest, AReportKeepsAtMostSoManyBytesAndAlwaysSomeOfANamespace) {
  CreateNode("b", "arm64");
  images_.SetResult("r.io/amd64:1", ArchitectureSet{"amd64"});
  FillTheReport();
  CreateNamespace("z");
  for (size_t i = 0; i < kAlwaysOfNamespace + 1; ++i)
    CreateDaemonSet("a" + std::to_string(i), OfSize("z", "r.io/amd64:1", 400));
  Use(kReportOn);
  EXPECT_EQ(Lacking(), kAlwaysOfNamespace);
  EXPECT_GE(NotCompared(), kMaxBytesOfNamespace / kMaxDaemonSetBytes + 1);
}

TEST_F(DaemonSetsTest, NamespacesThatAreNotSelectedTakeNoRoom) {
  CreateNode("b", "arm64");
  images_.SetResult("r.io/amd64:1", ArchitectureSet{"amd64"});
  FillTheReport();
  CreateNamespace("z", "team");
  for (size_t i = 0; i < kMaxDaemonSetsOfNamespace; ++i)
    CreateDaemonSet("a" + std::to_string(i), MakePod("").Namespace("z").Image("r.io/amd64:1"));
  kube::Json has_team = {{"key", "team"}, {"operator", "Exists"}};
  Use(kReportOn, {{"matchExpressions", {has_team}}});
  EXPECT_EQ(Lacking(), kMaxDaemonSetsOfNamespace);
  EXPECT_EQ(NotCompared(), 0);
}

TEST_F(DaemonSetsTest, AReportComparesAtMostSoMany) {
  for (size_t i = 0; i < kMaxDaemonSets + 7; ++i) {
    std::string ns = std::string("ns-") + static_cast<char>('a' + i / kMaxDaemonSetsOfNamespace);
    if (i % kMaxDaemonSetsOfNamespace == 0) CreateNamespace(ns);
    CreateDaemonSet("a" + std::to_string(i), MakePod("").Namespace(ns).Image("r.io/app:1"));
  }
  // The last namespace has always some.
  Use(kReportOn);
  EXPECT_EQ(NotCompared(), 7 - kAlwaysOfNamespace);
}

TEST_F(DaemonSetsTest, ImagesWithTooManyPlatformsAreNotCompared) {
  CreateNode("b", "arm64");
  std::vector<placement::Platform> platforms;
  for (size_t i = 0; i <= kMaxPlatforms; ++i)
    platforms.push_back({.os = "linux", .architecture = "a" + std::to_string(i)});
  images_.SetPlatforms("r.io/app:1", std::move(platforms));
  CreateDaemonSet("agent", MakePod("").Image("r.io/app:1"));
  Use(kReportOn);
  EXPECT_EQ(Lacking(), 0);
  EXPECT_EQ(NotCompared(), 1);
}

// It is not on the other node, which does not say that it is not for it.
TEST_F(DaemonSetsTest, ImagesThatAreKnownOnlyFromNodesAreNotCompared) {
  CreateNode("b", "arm64");
  api_.Create(cluster_controller::NodeWithImages("a", "linux", "amd64", {{"r.io/app:1"}}));
  images_.SetDefault(kube::Error::NotFound("404"));
  CreateDaemonSet("never", MakePod("").Image("r.io/app:1", "Never"));
  CreateDaemonSet("preloaded", MakePod("").Image("r.io/app:1", "IfNotPresent"));
  Use(kReportOn);
  Advance(kInspectDaemonSetWithin);
  EXPECT_EQ(Lacking(), 0);
  EXPECT_EQ(NotCompared(), 2);
}

TEST_F(SilentRegistryTest, ImagesThatDoNotAnswerEndNoReport) {
  CreateNode("b", "arm64");
  images_.SetResult("r.io/amd64:1", ArchitectureSet{"amd64"});
  CreateDaemonSet("agent", MakePod("").Image("r.io/silent:1"));
  CreateDaemonSet("other", MakePod("").Image("r.io/amd64:1"));
  Use(kReportOn);
  EXPECT_EQ(Lacking(), 0);
  Advance(kInspectDaemonSetWithin);
  EXPECT_EQ(Lacking(), 1);
  EXPECT_EQ(NotCompared(), 1);
}

// The next report begins with those that had no turn.
TEST_F(SilentRegistryTest, SilentImagesOfManyNamespacesHideNoOther) {
  CreateNode("b", "arm64");
  constexpr size_t kSilent = kInspectedAtATime * (kInspectAllWithin / kInspectDaemonSetWithin) + 5;
  for (size_t i = 0; i < kSilent; ++i) {
    std::string ns = "a" + std::to_string(i);
    CreateNamespace(ns);
    CreateDaemonSet("agent", MakePod("").Namespace(ns).Image(ns + ".io/app:1"));
  }
  images_.SetResult("r.io/amd64:1", ArchitectureSet{"amd64"});
  CreateDaemonSet("agent", MakePod("").Image("r.io/amd64:1"));
  Use(kReportOn);
  auto end_report = [&] {
    for (kube::Duration passed = 0s; passed < kInspectAllWithin; passed += 10s) Advance(10s);
  };
  end_report();
  EXPECT_EQ(Lacking(), 0);
  EXPECT_EQ(NotCompared(), kSilent + 1);
  Advance(kReportEvery + 1s);
  end_report();
  EXPECT_EQ(Lacking(), 1);
  EXPECT_EQ(NotCompared(), kSilent);
}

// More than can be inspected within the time for a report.
TEST_F(SilentRegistryTest, SilentImagesOfATenantHideNoOtherNamespace) {
  CreateNode("b", "arm64");
  for (const char* ns : {"a", "b"}) {
    CreateNamespace(ns);
    for (int i = 0; i < 50; ++i) {
      std::string name = ns + std::to_string(i);
      CreateDaemonSet(name, MakePod("").Namespace(ns).Image("r.io/" + name));
    }
  }
  images_.SetResult("r.io/amd64:1", ArchitectureSet{"amd64"});
  CreateDaemonSet("agent", MakePod("").Image("r.io/amd64:1"));
  Use(kReportOn);
  for (kube::Duration passed = 0s; passed < kInspectAllWithin; passed += 10s) Advance(10s);
  EXPECT_EQ(Lacking(), 1);
  EXPECT_EQ(NotCompared(), 100);
}

}  // namespace
}  // namespace templates
