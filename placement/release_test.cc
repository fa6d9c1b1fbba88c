// SPDX-License-Identifier: Apache-2.0
#include "placement/release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"

namespace placement {
namespace {

using api::MakeConfig;
using api::PodPlacementConfig;
using kube::MakePod;
using kube::core::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

MakePod Gated() {
  return std::move(
      MakePod("web").Gate("other").Gate(api::kLocalGate).Gate(api::kClusterGate).Image("a:1"));
}
MakePod ClusterGated() { return std::move(MakePod("web").Gate(api::kClusterGate).Image("a:1")); }

std::vector<std::string> Reasons(const Release& release) {
  std::vector<std::string> reasons;
  for (const PodEvent& event : release.events) reasons.emplace_back(event.reason);
  return reasons;
}

std::string Label(const Pod& pod, std::string_view key) { return std::string(LabelOf(pod, key)); }

int Preferences(const Pod& pod) {
  return pod.spec()
      .affinity()
      .node_affinity()
      .preferred_during_scheduling_ignored_during_execution_size();
}
std::string Required(const Pod& pod) {
  std::string text;
  auto& affinity = pod.spec().affinity().node_affinity();
  for (auto& term :
       affinity.required_during_scheduling_ignored_during_execution().node_selector_terms()) {
    for (auto& expression : term.match_expressions()) {
      text += expression.key() + " " + expression.operator_();
      for (auto& value : expression.values()) text += " " + value;
      text += ";";
    }
  }
  return text;
}

// "VALUE:EFFECT " of each toleration with the key of architectures.
std::string Tolerated(const Pod& pod) {
  std::string text;
  for (const auto& toleration : pod.spec().tolerations()) {
    if (toleration.key() == api::kArchLabel)
      text += toleration.value() + ":" + toleration.effect() + " ";
  }
  return text;
}

const api::ArchitectureTolerations kOn{.enabled = true};
const api::ArchitectureTolerations kOff{.enabled = false};

TEST(ReleaseTest, LocalSetsPreferencesAndDropsItsGateInOne) {
  Pod pod = Gated();
  PodPlacementConfig high = MakeConfig("high").Prefer("arm64", 75);
  PodPlacementConfig low = MakeConfig("low").Prefer("arm64", 5).Prefer("amd64", 25);
  Release release = ReleaseLocal(pod, {&high, &low});
  EXPECT_TRUE(release.released);
  EXPECT_FALSE(HasGate(pod, api::kLocalGate));
  EXPECT_TRUE(HasGate(pod, api::kClusterGate));
  EXPECT_TRUE(HasGate(pod, "other"));
  EXPECT_EQ(Preferences(pod), 2);
  EXPECT_EQ(Label(pod, api::kLocalGateLabel), "removed");
  EXPECT_EQ(Label(pod, api::kPreferredNodeAffinityLabel), "set");
  EXPECT_EQ(Label(pod, api::kNodeAffinityLabel), "");
  EXPECT_THAT(Reasons(release),
              ElementsAre(api::kReasonPredicateSet, api::kReasonPreferredDuplicates,
                          api::kReasonGateRemoved));
  EXPECT_THAT(release.events[0].message,
              HasSubstr("PodPlacementConfig-high, PodPlacementConfig-low"));
}

TEST(ReleaseTest, AConfigThatThePodsOwnPreferencesOverrideIsAnEventOfItsOwnOnce) {
  PodPlacementConfig config = MakeConfig("web").Prefer("arm64", 75);
  Pod pod = Gated();
  kube::core::PreferredSchedulingTerm& term =
      *pod.mutable_spec()
           ->mutable_affinity()
           ->mutable_node_affinity()
           ->add_preferred_during_scheduling_ignored_during_execution();
  term.set_weight(1);
  kube::core::NodeSelectorRequirement& expression =
      *term.mutable_preference()->add_match_expressions();
  expression.set_key("kubernetes.io/arch");
  expression.set_operator_("In");
  expression.add_values("amd64");

  Release shard = ReleaseLocal(pod, {&config});
  EXPECT_THAT(Reasons(shard),
              ElementsAre(api::kReasonPreferredDuplicates, api::kReasonGateRemoved));
  EXPECT_EQ(shard.events[0].message,
            "Skipped because the pod has preferences on kubernetes.io/arch of its own: arm64 of "
            "PodPlacementConfig-web");
  EXPECT_FALSE(shard.events[0].warning);
  Release cluster =
      ReleaseCluster(pod, {.configs = {&config}, .platforms = ArchitectureSet{"amd64"}});
  EXPECT_THAT(Reasons(cluster), ElementsAre(api::kReasonPredicateSet, api::kReasonGateRemoved));
}

TEST(ReleaseTest, LocalDropsItsGateEvenWithNothingToPrefer) {
  Pod pod = Gated();
  Release release = ReleaseLocal(pod, {});
  EXPECT_TRUE(release.released);
  EXPECT_THAT(Reasons(release), ElementsAre(api::kReasonGateRemoved));
  EXPECT_FALSE(HasGate(pod, api::kLocalGate));
  EXPECT_EQ(Preferences(pod), 0);
}

TEST(ReleaseTest, PodsWithoutTheGateAreUnchanged) {
  PodPlacementConfig config = MakeConfig("a").Prefer("arm64", 75);
  for (Pod pod : {MakePod("web").Build(), MakePod("web").Gate("other").Build(), Pod()}) {
    std::string before = pod.SerializeAsString();
    EXPECT_FALSE(ReleaseLocal(pod, {&config}).released);
    EXPECT_FALSE(ReleaseCluster(pod, {.platforms = ArchitectureSet{"amd64"}}).released);
    EXPECT_FALSE(TakeOverLocal(pod, {&config}).released);
    EXPECT_FALSE(ReleaseIgnored(pod, api::kClusterGate).released);
    EXPECT_FALSE(ReleaseBare(pod, api::kLocalGate).released);
    EXPECT_EQ(pod.SerializeAsString(), before);
  }
}

TEST(ReleaseTest, TheClusterGateStaysWhileThePodHasTheLocalOne) {
  Pod pod = Gated();
  std::string before = pod.SerializeAsString();
  Release release = ReleaseCluster(pod, {.platforms = ArchitectureSet{"amd64"}});
  EXPECT_FALSE(release.released);
  EXPECT_THAT(release.events, IsEmpty());
  EXPECT_EQ(pod.SerializeAsString(), before);
}

TEST(ReleaseTest, BareReleaseOfTheClusterGateDropsTheLocalOneToo) {
  Pod pod = Gated();
  Release release = ReleaseBare(pod, api::kClusterGate);
  EXPECT_TRUE(release.released);
  EXPECT_FALSE(release.placed);
  EXPECT_FALSE(HasGate(pod, api::kLocalGate));
  EXPECT_FALSE(HasGate(pod, api::kClusterGate));
  EXPECT_TRUE(HasGate(pod, "other"));
  EXPECT_EQ(Label(pod, api::kLocalGateLabel), "removed");
  EXPECT_EQ(Label(pod, api::kClusterGateLabel), "removed");

  Pod shards = Gated();
  EXPECT_TRUE(ReleaseBare(shards, api::kLocalGate).released);
  EXPECT_TRUE(HasGate(shards, api::kClusterGate));
  EXPECT_EQ(Label(shards, api::kClusterGateLabel), "");
}

TEST(ReleaseTest, TheLocalGateAloneIsTakenOverWithoutARequirement) {
  PodPlacementConfig config = MakeConfig("a").Prefer("arm64", 75);
  Pod pod = MakePod("web").Gate(api::kLocalGate).Image("a:1");
  Release release = TakeOverLocal(pod, {&config});
  EXPECT_TRUE(release.released);
  EXPECT_FALSE(HasGate(pod, api::kLocalGate));
  EXPECT_EQ(Preferences(pod), 1);
  EXPECT_EQ(Required(pod), "");
  EXPECT_EQ(Label(pod, api::kLocalGateLabel), "removed");
  EXPECT_EQ(Label(pod, api::kClusterGateLabel), "");
  EXPECT_THAT(Reasons(release), ::testing::Contains(api::kReasonShardTakeover));
}

TEST(ReleaseTest, ClusterSetsAllAndDropsItsGateInOne) {
  Pod pod = ClusterGated().Gate("other");
  api::Platform platforms[] = {{"arm64", 10}};
  Release release = ReleaseCluster(
      pod, {.cluster_platforms = platforms, .platforms = ArchitectureSet{"amd64", "arm64"}});
  EXPECT_TRUE(release.released);
  EXPECT_FALSE(HasGate(pod, api::kClusterGate));
  EXPECT_TRUE(HasGate(pod, "other"));
  EXPECT_EQ(Required(pod), "kubernetes.io/arch In amd64 arm64;");
  EXPECT_EQ(Preferences(pod), 1);
  EXPECT_EQ(Label(pod, api::kClusterGateLabel), "removed");
  EXPECT_EQ(Label(pod, api::kNodeAffinityLabel), "set");
  EXPECT_EQ(Label(pod, api::kPreferredNodeAffinityLabel), "set");
  EXPECT_TRUE(pod.metadata().labels().contains(std::string(api::kMultiArchLabel)));
  EXPECT_THAT(Reasons(release), ElementsAre(api::kReasonPredicateSet, api::kReasonPredicateSet,
                                            api::kReasonGateRemoved));
}

TEST(ReleaseTest, NoConfigLeavesNoPreference) {
  Pod pod = ClusterGated();
  ReleaseCluster(pod, {.platforms = ArchitectureSet{"amd64"}});
  EXPECT_EQ(Label(pod, api::kPreferredNodeAffinityLabel), "not-set");
  EXPECT_EQ(Preferences(pod), 0);
}

TEST(ReleaseTest, ClusterAddsThePreferencesThatTheShardMissed) {
  PodPlacementConfig config = MakeConfig("a").Prefer("arm64", 75);
  api::Platform platforms[] = {{"arm64", 10}, {"amd64", 5}};
  Pod missed = ClusterGated();
  ReleaseCluster(missed, {.configs = {&config},
                          .cluster_platforms = platforms,
                          .platforms = ArchitectureSet{"arm64"}});

  Pod done = Gated();
  ReleaseLocal(done, {&config});
  ReleaseCluster(done, {.configs = {&config},
                        .cluster_platforms = platforms,
                        .platforms = ArchitectureSet{"arm64"}});

  for (const Pod& pod : {missed, done}) {
    EXPECT_EQ(AnnotationOf(pod, api::kPreferredAffinitySourcesAnnotation),
              "arm64:75:PodPlacementConfig-a,arm64:10:ClusterPodPlacementConfig:skipped,amd64:5:"
              "ClusterPodPlacementConfig");
    EXPECT_EQ(Preferences(pod), 2);
  }
}

TEST(ReleaseTest, ATakeoverAppliesConfigsWithAnEvent) {
  PodPlacementConfig config = MakeConfig("a").Prefer("arm64", 75);
  Pod pod = Gated();
  Release release = ReleaseCluster(
      pod, {.configs = {&config}, .platforms = ArchitectureSet{"arm64"}, .take_over_shard = true});
  EXPECT_TRUE(release.released);
  EXPECT_FALSE(HasGate(pod, api::kLocalGate));
  EXPECT_FALSE(HasGate(pod, api::kClusterGate));
  EXPECT_EQ(Label(pod, api::kLocalGateLabel), "removed");
  EXPECT_EQ(Label(pod, api::kClusterGateLabel), "removed");
  EXPECT_EQ(Preferences(pod), 1);
  EXPECT_THAT(Reasons(release), ::testing::Contains(api::kReasonShardTakeover));

  // Without a local gate there is nothing to take over.
  Pod own = ClusterGated();
  EXPECT_THAT(Reasons(ReleaseCluster(
                  own, {.platforms = ArchitectureSet{"arm64"}, .take_over_shard = true})),
              ::testing::Not(::testing::Contains(api::kReasonShardTakeover)));
}

TEST(ReleaseTest, TheUsersArchitectureIsKeptAndPreferencesStillApply) {
  PodPlacementConfig config = MakeConfig("a").Prefer("arm64", 75);
  Pod pod = ClusterGated().NodeSelector("kubernetes.io/arch", "arm64");
  Release release = ReleaseCluster(pod, {.configs = {&config}});
  EXPECT_EQ(Required(pod), "");
  EXPECT_EQ(Preferences(pod), 1);
  EXPECT_EQ(Label(pod, api::kNodeAffinityLabel), "not-set");
  EXPECT_THAT(Reasons(release),
              ElementsAre(api::kReasonPredicateSet, api::kReasonPredicatesConflict,
                          api::kReasonGateRemoved));
}

TEST(ReleaseTest, NoCommonArchitectureHasAnEvent) {
  Pod pod = ClusterGated();
  Release release = ReleaseCluster(pod, {.platforms = ArchitectureSet{}});
  EXPECT_EQ(Required(pod), "multiarch.openshift.io/no-supported-arch Exists;");
  EXPECT_THAT(Reasons(release),
              ElementsAre(api::kReasonNoSupportedArchitectures, api::kReasonGateRemoved));
}

TEST(ReleaseTest, AFailedInspectionFallsBack) {
  Pod pod = ClusterGated();
  Release release =
      ReleaseCluster(pod, {.inspection_error = "503", .fallback_architecture = "amd64"});
  EXPECT_EQ(Required(pod), "kubernetes.io/arch In amd64;");
  EXPECT_TRUE(release.events[1].warning);
  EXPECT_THAT(Reasons(release), ElementsAre(api::kReasonInspectionError, api::kReasonFallbackSet,
                                            api::kReasonGateRemoved));
  EXPECT_TRUE(release.events[0].warning);
  EXPECT_THAT(release.events[0].message, HasSubstr("503"));

  Pod anywhere = ClusterGated();
  release = ReleaseCluster(anywhere, {.inspection_error = "503", .inspection_tries = 5});
  EXPECT_EQ(Label(anywhere, api::kInspectErrorCountLabel), "5");
  EXPECT_EQ(AnnotationOf(anywhere, api::kInspectErrorAnnotation), "503");
  EXPECT_TRUE(release.released);
  EXPECT_EQ(Required(anywhere), "");
  EXPECT_EQ(Label(anywhere, api::kNodeAffinityLabel), "not-set");
  EXPECT_THAT(Reasons(release), ElementsAre(api::kReasonInspectionError, api::kReasonGateRemoved));
}

TEST(ReleaseTest, IgnoredPodsOnlyLoseTheGate) {
  Pod pod = ClusterGated();
  Release release = ReleaseIgnored(pod, api::kClusterGate);
  EXPECT_TRUE(release.released);
  EXPECT_FALSE(release.placed);
  EXPECT_FALSE(HasGate(pod, api::kClusterGate));
  EXPECT_FALSE(pod.spec().has_affinity());
  EXPECT_EQ(pod.metadata().labels().size(), 1u) << "the gate's own";
  EXPECT_TRUE(pod.metadata().annotations().empty());
  EXPECT_THAT(Reasons(release), ElementsAre(api::kReasonGatedPodIgnored, api::kReasonGateRemoved));

  Pod both = Gated();
  EXPECT_TRUE(ReleaseIgnored(both, api::kClusterGate).released);
  EXPECT_FALSE(HasGate(both, api::kLocalGate));
  EXPECT_FALSE(HasGate(both, api::kClusterGate));
}

TEST(ReleaseTest, ASecondReleaseChangesNothing) {
  PodPlacementConfig config = MakeConfig("a").Prefer("arm64", 75);
  api::Platform platforms[] = {{"arm64", 10}, {"amd64", 5}};
  ClusterDecision decision{.configs = {&config},
                           .cluster_platforms = platforms,
                           .cluster_tolerations = &kOn,
                           .platforms = ArchitectureSet{"amd64", "arm64"}};
  Pod pod = ClusterGated().Requires("zone", "In", {"a"});
  ReleaseCluster(pod, decision);
  Pod once = pod;
  // As if a user had added the gate again.
  pod.mutable_spec()->add_scheduling_gates()->set_name(std::string(api::kClusterGate));
  Release again = ReleaseCluster(pod, decision);
  EXPECT_THAT(Reasons(again), ElementsAre(api::kReasonGateRemoved));
  EXPECT_EQ(Required(pod), Required(once));
  EXPECT_EQ(Preferences(pod), Preferences(once));
  EXPECT_EQ(Tolerated(pod), Tolerated(once));
  EXPECT_EQ(AnnotationOf(pod, api::kPreferredAffinitySourcesAnnotation),
            AnnotationOf(once, api::kPreferredAffinitySourcesAnnotation));
  EXPECT_EQ(pod.metadata().labels().size(), once.metadata().labels().size());
}

TEST(ReleaseTest, TolerationsComeWithTheRequirement) {
  Pod pod = ClusterGated();
  Release release = ReleaseCluster(
      pod, {.cluster_tolerations = &kOn, .platforms = ArchitectureSet{"amd64", "arm64"}});
  EXPECT_EQ(Tolerated(pod), "amd64:NoSchedule arm64:NoSchedule ");
  EXPECT_TRUE(release.additions);
  EXPECT_EQ(Required(pod), "kubernetes.io/arch In amd64 arm64;");
  EXPECT_FALSE(HasGate(pod, api::kClusterGate));
  EXPECT_THAT(Reasons(release), ElementsAre(api::kReasonPredicateSet, api::kReasonTolerationsSet,
                                            api::kReasonGateRemoved));
  EXPECT_EQ(release.events[1].message,
            "Added the tolerations of ClusterPodPlacementConfig for taints with the key "
            "kubernetes.io/arch: amd64:NoSchedule, arm64:NoSchedule");
}

TEST(ReleaseTest, WithoutThePluginThereAreNoTolerations) {
  const api::ArchitectureTolerations* none = nullptr;
  for (const api::ArchitectureTolerations* plugin : {&kOff, none}) {
    Pod pod = ClusterGated();
    Release release =
        ReleaseCluster(pod, {.cluster_tolerations = plugin, .platforms = ArchitectureSet{"arm64"}});
    EXPECT_EQ(pod.spec().tolerations_size(), 0);
    EXPECT_FALSE(release.additions);
    EXPECT_THAT(Reasons(release), ElementsAre(api::kReasonPredicateSet, api::kReasonGateRemoved));
  }
}

TEST(ReleaseTest, TheFirstConfigWithThePluginDecidesAboutTolerations) {
  PodPlacementConfig prefers = MakeConfig("a").Prefer("arm64", 75);
  PodPlacementConfig off = MakeConfig("b").Tolerate(false);
  PodPlacementConfig on = MakeConfig("c").Tolerate().Set(
      "/spec/plugins/architectureTolerations/effects", kube::Json::array({"NoExecute"}));
  auto tolerated = [](MatchingConfigs configs, const api::ArchitectureTolerations* cluster) {
    Pod pod = ClusterGated();
    ReleaseCluster(pod, {.configs = std::move(configs),
                         .cluster_tolerations = cluster,
                         .platforms = ArchitectureSet{"arm64"}});
    return Tolerated(pod);
  };
  EXPECT_EQ(tolerated({&prefers}, &kOn), "arm64:NoSchedule ");
  EXPECT_EQ(tolerated({&prefers, &off, &on}, &kOn), "") << "disabled by a config";
  EXPECT_EQ(tolerated({&prefers, &on, &off}, &kOff), "arm64:NoExecute ");
  EXPECT_EQ(tolerated({&on}, nullptr), "arm64:NoExecute ");
}

// The images of such pods are not inspected, or do not decide.
TEST(ReleaseTest, WithoutARequirementFromImagesThereAreNoTolerations) {
  struct {
    const char* name;
    Pod pod;
    ClusterDecision decision;
  } rows[] = {
      {"no architecture in common", ClusterGated(), {.platforms = ArchitectureSet{}}},
      {"fallback architecture",
       ClusterGated(),
       {.inspection_error = "503", .fallback_architecture = "arm64"}},
      {"no fallback architecture", ClusterGated(), {.inspection_error = "503"}},
      {"an architecture in the node selector",
       ClusterGated().NodeSelector("kubernetes.io/arch", "arm64"),
       {.platforms = ArchitectureSet{"arm64"}}},
      {"an architecture in each term",
       ClusterGated().Requires("kubernetes.io/arch", "In", {"arm64"}),
       {.platforms = ArchitectureSet{"arm64"}}},
      {"a requirement from an earlier release",
       ClusterGated()
           .Label(api::kNodeAffinityLabel, api::kSet)
           .Requires("kubernetes.io/arch", "In", {"arm64"}),
       {.platforms = ArchitectureSet{"arm64"}}},
  };
  for (auto& row : rows) {
    row.decision.cluster_tolerations = &kOn;
    Release release = ReleaseCluster(row.pod, row.decision);
    EXPECT_TRUE(release.released) << row.name;
    EXPECT_EQ(row.pod.spec().tolerations_size(), 0) << row.name;
    EXPECT_THAT(Reasons(release), ::testing::Not(::testing::Contains(api::kReasonTolerationsSet)))
        << row.name;
  }
  for (auto release : {ReleaseIgnored, ReleaseBare}) {
    Pod pod = ClusterGated();
    release(pod, api::kClusterGate);
    EXPECT_EQ(pod.spec().tolerations_size(), 0);
  }
}

// The user's s390x term stays, and nodes of s390x keep repelling the pod: its images do not run
// there.
TEST(ReleaseTest, ATermOfTheUserAddsNoToleration) {
  Pod pod =
      ClusterGated().Requires("kubernetes.io/arch", "In", {"s390x"}).Requires("zone", "In", {"a"});
  ReleaseCluster(pod,
                 {.cluster_tolerations = &kOn, .platforms = ArchitectureSet{"amd64", "arm64"}});
  EXPECT_EQ(Required(pod),
            "kubernetes.io/arch In s390x;zone In a;kubernetes.io/arch In amd64 arm64;");
  EXPECT_EQ(Tolerated(pod), "amd64:NoSchedule arm64:NoSchedule ");
}

TEST(ReleaseTest, TheShardNamesTheConfigThatDecidesAboutTolerations) {
  PodPlacementConfig prefers = MakeConfig("a").Prefer("arm64", 75);
  PodPlacementConfig tolerates = MakeConfig("b").Tolerate(false);
  Pod pod = Gated();
  ReleaseLocal(pod, {&prefers, &tolerates});
  EXPECT_EQ(AnnotationOf(pod, api::kLocalTolerationsAnnotation), "b");
  EXPECT_EQ(pod.spec().tolerations_size(), 0) << "the shard does not know the images";

  Pod without = Gated();
  ReleaseLocal(without, {&prefers});
  EXPECT_EQ(AnnotationOf(without, api::kLocalTolerationsAnnotation), "");

  Pod local = MakePod("web").Gate(api::kLocalGate);
  ReleaseLocal(local, {&tolerates});
  EXPECT_EQ(AnnotationOf(local, api::kLocalTolerationsAnnotation), "")
      << "without the cluster gate, the images are not inspected";
}

TEST(ReleaseTest, ATakeoverAddsTolerations) {
  PodPlacementConfig config = MakeConfig("a").Prefer("arm64", 75).Tolerate();
  Pod pod = ClusterGated().Gate(api::kLocalGate);
  ReleaseCluster(
      pod, {.configs = {&config}, .platforms = ArchitectureSet{"arm64"}, .take_over_shard = true});
  EXPECT_EQ(Tolerated(pod), "arm64:NoSchedule ");
  EXPECT_EQ(Preferences(pod), 1);
}

// An unknown field, number 1000, of a newer API.
const std::string kUnknown = "\xc2\x3e\x05newer";

TEST(ReleaseTest, UnknownFieldsSurvive) {
  Pod pod = Gated().Requires("zone", "In", {"a"}).Prefers(3, "disk", {"ssd"});
  auto add_unknown = [](google::protobuf::MessageLite* message) {
    return message->MergeFromString(kUnknown);
  };
  auto* affinity = pod.mutable_spec()->mutable_affinity();
  auto* required = affinity->mutable_node_affinity()
                       ->mutable_required_during_scheduling_ignored_during_execution();
  ASSERT_TRUE(add_unknown(&pod));
  ASSERT_TRUE(add_unknown(pod.mutable_metadata()));
  ASSERT_TRUE(add_unknown(pod.mutable_spec()));
  ASSERT_TRUE(add_unknown(affinity));
  ASSERT_TRUE(add_unknown(affinity->mutable_node_affinity()));
  ASSERT_TRUE(add_unknown(required));
  ASSERT_TRUE(add_unknown(required->mutable_node_selector_terms(0)));
  ASSERT_TRUE(add_unknown(affinity->mutable_node_affinity()
                              ->mutable_preferred_during_scheduling_ignored_during_execution(0)));
  ASSERT_TRUE(add_unknown(pod.mutable_spec()->mutable_containers(0)));
  ASSERT_TRUE(add_unknown(
      pod.mutable_spec()->mutable_scheduling_gates(0)));  // the gate "other", which stays at first
  ASSERT_TRUE(add_unknown(pod.mutable_spec()->add_tolerations()));
  constexpr int kPlaces = 11;

  PodPlacementConfig config = MakeConfig("a").Prefer("arm64", 75);
  Pod read;
  ASSERT_TRUE(read.ParseFromString(pod.SerializeAsString()));
  auto found = [&] {
    std::string written = read.SerializeAsString();
    int count = 0;
    for (size_t at = written.find(kUnknown); at != std::string::npos;
         at = written.find(kUnknown, at + 1))
      ++count;
    return count;
  };
  ReleaseLocal(read, {&config});
  ReleaseCluster(read, {.configs = {&config},
                        .cluster_tolerations = &kOn,
                        .platforms = ArchitectureSet{"arm64", "amd64"},
                        .await_other_gates = true});
  EXPECT_EQ(found(), kPlaces);
  DropGate(read, "other");
  ReleaseCluster(
      read,
      {.configs = {&config}, .cluster_tolerations = &kOn, .platforms = ArchitectureSet{"arm64"}});
  EXPECT_EQ(Tolerated(read), "arm64:NoSchedule ");
  EXPECT_EQ(found(), kPlaces - 1);
  EXPECT_FALSE(HasGate(read, api::kClusterGate));
}

// A config whose rules "large" and "small" prefer s390x and arm64.
MakeConfig WithRules(const char* name) {
  return MakeConfig(name).Rule("large", "true", "s390x", 80).Rule("small", "true", "arm64", 90);
}

TEST(ReleaseTest, MatchingRulesComeBeforeTheirConfigAndSayWhereTheyAreFrom) {
  PodPlacementConfig config = WithRules("a").Prefer("arm64", 5);
  MatchingConfig matching(&config);
  matching.rules.set(1);
  api::Platform cluster[] = {{"s390x", 1}};
  // The same answer of the shard and of the cluster controller.
  Pod by_shard = Gated(), by_cluster = Gated(), taken_over = MakePod("web").Gate(api::kLocalGate);
  EXPECT_TRUE(ReleaseLocal(by_shard, {matching}).released);
  EXPECT_TRUE(ReleaseCluster(by_cluster, {.configs = {matching},
                                          .cluster_platforms = cluster,
                                          .platforms = ArchitectureSet{"arm64"},
                                          .take_over_shard = true})
                  .released);
  EXPECT_TRUE(TakeOverLocal(taken_over, {matching}).released);
  std::string sources = "arm64:90:PodPlacementConfig-a/small,arm64:5:PodPlacementConfig-a:skipped";
  EXPECT_EQ(AnnotationOf(by_shard, api::kPreferredAffinitySourcesAnnotation), sources);
  EXPECT_EQ(AnnotationOf(taken_over, api::kPreferredAffinitySourcesAnnotation), sources);
  EXPECT_EQ(AnnotationOf(by_cluster, api::kPreferredAffinitySourcesAnnotation),
            sources + ",s390x:1:ClusterPodPlacementConfig");
  // The cluster controller, after the shard, knows nothing of the rule and keeps what it set.
  EXPECT_TRUE(ReleaseCluster(by_shard, {.configs = {&config},
                                        .cluster_platforms = cluster,
                                        .platforms = ArchitectureSet{"arm64"}})
                  .released);
  EXPECT_EQ(AnnotationOf(by_shard, api::kPreferredAffinitySourcesAnnotation),
            sources + ",s390x:1:ClusterPodPlacementConfig");
  EXPECT_EQ(Preferences(by_shard), 2);
}

TEST(ReleaseTest, PreferencesBeyondTheLimitAreAnEvent) {
  MakeConfig more = MakeConfig("more").Priority(0).Prefer("one", 1).Prefer("two", 2);
  std::vector<PodPlacementConfig> configs;
  for (size_t i = 0; i < kMaxArchitectures; ++i)
    configs.push_back(MakeConfig("a" + std::to_string(i)).Prefer("arch" + std::to_string(i), 1));
  configs.push_back(more);
  MatchingConfigs matching;
  for (const PodPlacementConfig& config : configs) matching.emplace_back(&config);
  Pod pod = Gated();
  Release release = ReleaseLocal(pod, matching);
  EXPECT_TRUE(release.released);
  EXPECT_EQ(Preferences(pod), 32);
  ASSERT_THAT(Reasons(release), testing::Contains(api::kReasonTooManyPreferences));
  for (const PodEvent& event : release.events) {
    if (event.reason != api::kReasonTooManyPreferences) continue;
    EXPECT_TRUE(event.warning);
    EXPECT_EQ(event.message,
              "Skipped because the pod has 32 architecture preferences of configurations, the "
              "largest number: one of PodPlacementConfig-more, two of PodPlacementConfig-more");
  }
}

TEST(ReleaseTest, ARequirementMayNameAnyArchitecture) {
  Pod pod = ClusterGated();
  Release release = ReleaseCluster(pod, {.platforms = ArchitectureSet{"operand", "riscv64"}});
  EXPECT_TRUE(release.released);
  EXPECT_EQ(Required(pod), "kubernetes.io/arch In riscv64;");
  EXPECT_TRUE(pod.metadata().labels().contains("multiarch.openshift.io/riscv64"));
  EXPECT_FALSE(pod.metadata().labels().contains(std::string(api::kOperandLabel)));

  Pod fallback = ClusterGated();
  ReleaseCluster(fallback, {.inspection_error = "503", .fallback_architecture = "loong64"});
  EXPECT_EQ(Required(fallback), "kubernetes.io/arch In loong64;");
}

TEST(ReleaseTest, PreferencesOfTheNamespaceMaySwitchOffThoseOfTheCluster) {
  PodPlacementConfig config = WithRules("a");
  MatchingConfig with_rule(&config);
  with_rule.rules.set(1);
  api::Platform cluster[] = {{"s390x", 100}};
  auto sources = [&](Pod pod, MatchingConfigs configs) {
    ReleaseCluster(pod, {.configs = configs,
                         .cluster_platforms = cluster,
                         .namespace_takes_precedence = true,
                         .platforms = ArchitectureSet{"arm64"},
                         .take_over_shard = true});
    return std::string(AnnotationOf(pod, api::kPreferredAffinitySourcesAnnotation));
  };
  EXPECT_EQ(sources(Gated(), {}), "s390x:100:ClusterPodPlacementConfig");
  EXPECT_EQ(sources(Gated(), {&config}), "s390x:100:ClusterPodPlacementConfig")
      << "no rule matches";
  EXPECT_EQ(sources(Gated(), {with_rule}), "arm64:90:PodPlacementConfig-a/small");
  // The shard knew of the rule, the cluster controller does not.
  Pod by_shard = Gated();
  ReleaseLocal(by_shard, {with_rule});
  EXPECT_EQ(sources(by_shard, {}), "arm64:90:PodPlacementConfig-a/small");
}

TEST(ReleaseTest, RulesThatWereNotEvaluatedAreOneEvent) {
  PodPlacementConfig a = WithRules("a").Prefer("arm64", 5), b = WithRules("b");
  MatchingConfigs configs = {&a, &b};
  configs[0].open = true;
  Pod pod = Gated();
  EXPECT_THAT(Reasons(ReleaseLocal(pod, configs)),
              ElementsAre(api::kReasonPredicateSet, api::kReasonGateRemoved))
      << "the shard has not asked";
  configs[0].rules_error = "too late";
  configs[1].rules_error = "refused";
  pod = Gated();
  Release release = ReleaseLocal(pod, configs);
  EXPECT_THAT(Reasons(release), ElementsAre(api::kReasonPredicateSet, api::kReasonRulesNotEvaluated,
                                            api::kReasonGateRemoved));
  EXPECT_TRUE(release.events[1].warning);
  EXPECT_THAT(release.events[1].message,
              HasSubstr("PodPlacementConfig-a, PodPlacementConfig-b: too late"));
}

const std::string kKueue = "kueue.x-k8s.io/admission";

// What the cluster controller decides first for a pod with another gate, with the tolerations of
// the cluster.
Release Decide(Pod& pod, std::optional<CommonPlatforms> platforms) {
  return ReleaseCluster(pod, {.cluster_tolerations = &kOn,
                              .platforms = std::move(platforms),
                              .inspection_error = "503",
                              .inspection_tries = 5,
                              .fallback_architecture = "s390x",
                              .await_other_gates = true});
}
// And once its own gate is the last one.
Release DecideLast(Pod& pod, std::optional<CommonPlatforms> platforms) {
  DropGate(pod, kKueue);
  return ReleaseCluster(pod, {.cluster_tolerations = &kOn,
                              .platforms = std::move(platforms),
                              .inspection_error = "503",
                              .fallback_architecture = "s390x"});
}

TEST(ReleaseTest, APodWithAnotherGateGetsAllButItsTolerationsAndKeepsTheGate) {
  // As the webhook labels it.
  Pod pod = ClusterGated().Gate(kKueue).Label(api::kNodeAffinityLabel, api::kNotSet);
  EXPECT_FALSE(IsDecided(pod, 5));
  EXPECT_TRUE(NeedsInspection(pod));
  api::Platform platforms[] = {{"arm64", 10}};
  Release release = ReleaseCluster(pod, {.cluster_platforms = platforms,
                                         .cluster_tolerations = &kOn,
                                         .platforms = ArchitectureSet{"amd64", "arm64"},
                                         .await_other_gates = true});
  EXPECT_TRUE(release.released) << "to be written";
  EXPECT_TRUE(release.awaits_other_gates);
  EXPECT_FALSE(release.additions);
  EXPECT_TRUE(HasGate(pod, api::kClusterGate));
  EXPECT_EQ(Label(pod, api::kClusterGateLabel), "");
  EXPECT_EQ(Required(pod), "kubernetes.io/arch In amd64 arm64;");
  EXPECT_EQ(Preferences(pod), 1);
  EXPECT_EQ(Tolerated(pod), "");
  EXPECT_THAT(Reasons(release), ElementsAre(api::kReasonPredicateSet, api::kReasonPredicateSet,
                                            api::kReasonGateAdded));
  EXPECT_EQ(release.events.back().message,
            "Waiting for the scheduling gates of other controllers: " + kKueue);
  EXPECT_TRUE(IsDecided(pod, 5));
  EXPECT_FALSE(NeedsInspection(pod));

  // Its last gate.
  DropGate(pod, kKueue);
  EXPECT_TRUE(NeedsInspection(pod));
  release = ReleaseCluster(pod, {.cluster_platforms = platforms,
                                 .cluster_tolerations = &kOn,
                                 .platforms = ArchitectureSet{"amd64", "arm64"}});
  EXPECT_TRUE(release.released);
  EXPECT_FALSE(release.awaits_other_gates);
  EXPECT_EQ(pod.spec().scheduling_gates_size(), 0);
  EXPECT_EQ(Required(pod), "kubernetes.io/arch In amd64 arm64;");
  EXPECT_EQ(Preferences(pod), 1);
  EXPECT_EQ(Tolerated(pod), "amd64:NoSchedule arm64:NoSchedule ");
  EXPECT_THAT(Reasons(release), ElementsAre(api::kReasonTolerationsSet, api::kReasonGateRemoved));
}

TEST(ReleaseTest, TheLastInspectionOfAPodMayOnlyRestrictIt) {
  const ArchitectureSet both = {"amd64", "arm64"};
  struct Row {
    const char* name;
    std::optional<CommonPlatforms> last;
    const char* required;
    const char* tolerated;
    std::vector<std::string_view> reasons;
  };
  const std::string kBoth = "kubernetes.io/arch In amd64 arm64;";
  for (const Row& row : {
           Row{"more",
               ArchitectureSet{"amd64", "arm64", "s390x"},
               "",
               "amd64:NoSchedule arm64:NoSchedule ",
               {api::kReasonTolerationsSet, api::kReasonGateRemoved}},
           Row{"less",
               ArchitectureSet{"arm64", "s390x"},
               "kubernetes.io/arch In arm64;",
               "arm64:NoSchedule ",
               {api::kReasonPredicateSet, api::kReasonTolerationsSet, api::kReasonGateRemoved}},
           Row{"nothing left",
               ArchitectureSet{"s390x"},
               "multiarch.openshift.io/no-supported-arch Exists;",
               "",
               {api::kReasonNoSupportedArchitectures, api::kReasonGateRemoved}},
           Row{"failed",
               std::nullopt,
               "",
               "amd64:NoSchedule arm64:NoSchedule ",
               {api::kReasonStaleInspection, api::kReasonTolerationsSet, api::kReasonGateRemoved}},
       }) {
    Pod pod = ClusterGated().Gate(kKueue);
    Decide(pod, both);
    Release release = DecideLast(pod, row.last);
    EXPECT_TRUE(release.released) << row.name;
    EXPECT_EQ(Required(pod), kBoth + row.required) << row.name;
    EXPECT_EQ(Tolerated(pod), row.tolerated) << row.name;
    EXPECT_THAT(Reasons(release), testing::ElementsAreArray(row.reasons)) << row.name;
    EXPECT_EQ(pod.spec().scheduling_gates_size(), 0) << row.name;
  }
}

// The fallback could not be taken back.
TEST(ReleaseTest, WhileAPodAwaitsOtherGatesItGetsNoFallback) {
  Pod pod = ClusterGated().Gate(kKueue);
  Release release = Decide(pod, std::nullopt);
  EXPECT_TRUE(release.awaits_other_gates);
  EXPECT_TRUE(IsDecided(pod, 5));
  EXPECT_EQ(Required(pod), "");
  EXPECT_EQ(Label(pod, api::kNodeAffinityLabel), "not-set");
  EXPECT_TRUE(NeedsInspection(pod));

  Pod failed = pod;
  DecideLast(failed, std::nullopt);
  EXPECT_EQ(Required(failed), "kubernetes.io/arch In s390x;");
  EXPECT_EQ(Label(failed, api::kFallbackArchLabel), "s390x");

  DecideLast(pod, ArchitectureSet{"arm64"});
  EXPECT_EQ(Required(pod), "kubernetes.io/arch In arm64;");
  EXPECT_EQ(Label(pod, api::kNodeAffinityLabel), "set");
  EXPECT_EQ(Tolerated(pod), "arm64:NoSchedule ");
}

TEST(ReleaseTest, AReleaseBeforeOtherGatesSaysWhyAndAddsNoTolerations) {
  for (bool decided : {false, true}) {
    Pod pod = ClusterGated().Gate(kKueue);
    if (decided) Decide(pod, ArchitectureSet{"arm64"});
    Release release = ReleaseCluster(
        pod, {.cluster_tolerations = &kOn,
              .platforms = decided ? std::optional<CommonPlatforms>() : ArchitectureSet{"arm64"},
              .not_awaited = "too many"});
    EXPECT_TRUE(release.released);
    EXPECT_FALSE(HasGate(pod, api::kClusterGate));
    EXPECT_TRUE(HasGate(pod, kKueue));
    EXPECT_EQ(Required(pod), "kubernetes.io/arch In arm64;");
    EXPECT_EQ(Tolerated(pod), "");
    EXPECT_EQ(release.events.back().message,
              "Removed the scheduling gate multiarch.openshift.io/scheduling-gate before those of "
              "other controllers, without tolerations: too many");
    EXPECT_EQ(release.events.size(), decided ? 1u : 2u);
  }
}

TEST(ReleaseTest, ATakeoverMayAwaitOtherGatesToo) {
  PodPlacementConfig config = MakeConfig("a").Prefer("arm64", 75).Tolerate();
  Pod pod = Gated();
  Release release = ReleaseCluster(pod, {.configs = {&config},
                                         .platforms = ArchitectureSet{"arm64"},
                                         .await_other_gates = true,
                                         .take_over_shard = true});
  EXPECT_TRUE(release.awaits_other_gates);
  EXPECT_FALSE(release.placed) << "it cannot run yet";
  EXPECT_FALSE(HasGate(pod, api::kLocalGate));
  EXPECT_TRUE(HasGate(pod, api::kClusterGate));
  EXPECT_EQ(Preferences(pod), 1);
  EXPECT_EQ(Tolerated(pod), "");
  EXPECT_TRUE(IsDecided(pod, 5));
}

TEST(ReleaseTest, APodWithItsOwnArchitectureOnlyWaits) {
  Pod own = ClusterGated().Gate(kKueue).NodeSelector("kubernetes.io/arch", "arm64");
  EXPECT_TRUE(IsDecided(own, 5));
  EXPECT_FALSE(NeedsInspection(own));
  Pod local = own;
  local.mutable_spec()->add_scheduling_gates()->set_name(std::string(api::kLocalGate));
  EXPECT_FALSE(IsDecided(local, 5)) << "a takeover removes the local gate";
}

TEST(ReleaseTest, WithoutOtherGatesThereIsNothingToAwait) {
  Pod pod = ClusterGated();
  Release release = Decide(pod, ArchitectureSet{"arm64"});
  EXPECT_FALSE(release.awaits_other_gates);
  EXPECT_TRUE(release.placed);
  EXPECT_FALSE(HasGate(pod, api::kClusterGate));
  EXPECT_EQ(Tolerated(pod), "arm64:NoSchedule ");
  EXPECT_FALSE(IsDecided(pod, 5)) << "released";
}

}  // namespace
}  // namespace placement
