// SPDX-License-Identifier: Apache-2.0
#include "placement/placed_at_creation.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "api/known_images.h"
#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/serialize_in_order.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"

namespace placement {
namespace {

using kube::MakePod;
using kube::core::Pod;

const api::ArchitectureTolerations kTolerate{.enabled = true};
const std::vector<api::Platform> kPreferArm = {{.architecture = "arm64", .weight = 10}};

ClusterDecision On(CommonPlatforms platforms) { return {.platforms = std::move(platforms)}; }

// The expressions of the required terms: "kubernetes.io/arch In amd64 arm64;" for each term.
std::string Required(const Pod& pod) {
  std::string text;
  const auto& affinity = pod.spec().affinity().node_affinity();
  for (const auto& term :
       affinity.required_during_scheduling_ignored_during_execution().node_selector_terms()) {
    for (const auto& expression : term.match_expressions()) {
      text += expression.key() + " " + expression.operator_();
      for (const auto& value : expression.values()) text += " " + value;
      text += ",";
    }
    text += ";";
  }
  return text;
}

TEST(PlaceAtCreationTest, SetsTheRequirementAndAddsNoGate) {
  Pod pod = MakePod("web").Image("a:1");
  ClusterDecision decision = On(ArchitectureSet{"amd64", "arm64"});
  decision.cluster_platforms = kPreferArm;
  decision.cluster_tolerations = &kTolerate;
  ASSERT_TRUE(PlaceAtCreation(pod, decision));
  EXPECT_EQ(Required(pod), "kubernetes.io/arch In amd64 arm64,;");
  EXPECT_EQ(pod.spec().scheduling_gates_size(), 0);
  EXPECT_EQ(pod.spec().tolerations_size(), 2);
  EXPECT_EQ(LabelOf(pod, api::kClusterGateLabel), "not-set");
  EXPECT_EQ(LabelOf(pod, api::kNodeAffinityLabel), "set");
  EXPECT_EQ(LabelOf(pod, api::kPreferredNodeAffinityLabel), "set");
  EXPECT_TRUE(WasPlacedAtCreation(pod));
}

TEST(PlaceAtCreationTest, APodWithAnyGateIsNotPlaced) {
  for (std::string_view gate : {std::string_view("other"), api::kLocalGate, api::kClusterGate}) {
    Pod pod = MakePod("web").Image("a:1").Gate(gate);
    EXPECT_FALSE(PlaceAtCreation(pod, On(ArchitectureSet{"amd64"}))) << gate;
  }
}

TEST(PlaceAtCreationTest, WithoutPlatformsOnlyAPodWithoutRequirementIsPlaced) {
  Pod pod = MakePod("web").Image("a:1");
  EXPECT_FALSE(PlaceAtCreation(pod, {}));
  pod = MakePod("web").Image("a:1").NodeSelector(api::kArchLabel, "amd64");
  ASSERT_FALSE(PlaceAtCreation(pod, {.cluster_platforms = kPreferArm}))
      << "its author gets an event about the requirement";
}

TEST(PlaceAtCreationTest, WhatItsAuthorShouldKnowIsLeftToTheController) {
  // No common architecture.
  Pod pod = MakePod("web").Image("a:1");
  EXPECT_FALSE(PlaceAtCreation(pod, On(CommonPlatforms())));
  // A preference of its own, which the configuration's is a duplicate of.
  pod = MakePod("web").Image("a:1").Prefers(1, api::kArchLabel, {"amd64"});
  ClusterDecision decision = On(ArchitectureSet{"amd64"});
  decision.cluster_platforms = kPreferArm;
  EXPECT_FALSE(PlaceAtCreation(pod, decision));
  // Images that were read long ago.
  pod = MakePod("web").Image("a:1");
  decision = On(ArchitectureSet{"amd64"});
  decision.stale_inspection = "read yesterday";
  EXPECT_FALSE(PlaceAtCreation(pod, decision));
}

TEST(PlaceAtCreationTest, ASecondCallWithTheSameImagesChangesNothing) {
  Pod pod = MakePod("web").Image("a:1").Requires("zone", "In", {"a"});
  ClusterDecision decision = On(ArchitectureSet{"amd64", "arm64"});
  decision.cluster_platforms = kPreferArm;
  decision.cluster_tolerations = &kTolerate;
  ASSERT_TRUE(PlaceAtCreation(pod, decision));
  const std::string once = kube::SerializeInOrder(pod);
  ASSERT_TRUE(PlaceAtCreation(pod, decision));
  EXPECT_EQ(kube::SerializeInOrder(pod), once);
}

// A webhook that was called later has added a container.
TEST(PlaceAtCreationTest, ASecondCallWithFurtherImagesNarrows) {
  Pod pod = MakePod("web").Image("a:1").Requires("zone", "In", {"a"});
  ASSERT_TRUE(PlaceAtCreation(pod, On(ArchitectureSet{"amd64", "arm64"})));
  ASSERT_TRUE(PlaceAtCreation(pod, On(ArchitectureSet{"arm64", "s390x"})));
  EXPECT_EQ(Required(pod),
            "zone In a,kubernetes.io/arch In amd64 arm64,kubernetes.io/arch In arm64,;");
  EXPECT_EQ(pod.spec().scheduling_gates_size(), 0);

  // The further image is not known.
  Pod unknown = pod;
  EXPECT_FALSE(PlaceAtCreation(unknown, {}));
  // Nothing is left.
  EXPECT_FALSE(PlaceAtCreation(pod, On(ArchitectureSet{"s390x"})));
}

TEST(PlaceAtCreationTest, TermsOfTheAuthorStayWhenItNarrows) {
  Pod pod = MakePod("web")
                .Image("a:1")
                .Requires(api::kArchLabel, "In", {"amd64", "arm64"})
                .Requires("zone", "In", {"a"});
  ASSERT_TRUE(PlaceAtCreation(pod, On(ArchitectureSet{"amd64", "arm64"})));
  ASSERT_TRUE(PlaceAtCreation(pod, On(ArchitectureSet{"arm64"})));
  EXPECT_EQ(Required(pod),
            "kubernetes.io/arch In amd64 arm64,;zone In a,kubernetes.io/arch In amd64 "
            "arm64,kubernetes.io/arch In arm64,;");
}

// All but those of the gate and of pods that are placed at creation.
std::map<std::string, std::string> OtherLabels(const Pod& pod) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : pod.metadata().labels()) {
    if (key != api::kClusterGateLabel && key != api::kPlacedAtCreationLabel) labels[key] = value;
  }
  return labels;
}

// Pods and decisions by a seeded generator.
class RandomPods {
 public:
  Pod MakeOne() {
    MakePod pod("web");
    pod.Image("a:1");
    if (Chance(3)) pod.Label("app", "web");
    if (Chance(6)) {  // a copy of another pod
      pod.Label(api::kNodeAffinityLabel, api::kSet).Label(api::kLocalGateLabel, api::kRemoved);
      pod.Label(api::kMultiArchLabel, "").Label(api::kPreferredNodeAffinityLabel, api::kSet);
    }
    if (Chance(4)) pod.NodeSelector("zone", "a");
    if (Chance(6)) pod.NodeSelector(api::kOsLabel, Chance(2) ? "windows" : "linux");
    if (Chance(8)) pod.NodeSelector(api::kArchLabel, "amd64");
    if (Chance(8)) pod.Os("windows");
    for (size_t terms = Below(3); terms > 0; --terms) {
      std::array<std::string_view, 4> keys = {"zone", api::kArchLabel, api::kOsLabel, "rack"};
      std::string_view key = keys[Below(keys.size())];
      pod.Requires(key, "In", {key == api::kOsLabel ? "linux" : Architecture()});
    }
    if (Chance(5)) pod.Prefers(5, Chance(2) ? api::kArchLabel : "zone", {Architecture()});
    return pod;
  }

  ClusterDecision Decide() {
    ClusterDecision decision;
    CommonPlatforms common;
    for (size_t n = Below(4); n > 0; --n)
      common.by_os[Chance(5) ? "windows" : "linux"].insert(std::string(Architecture()));
    if (Chance(6)) common.amd64_level = 3;
    decision.platforms = std::move(common);
    if (Chance(2)) decision.cluster_platforms = kPreferArm;
    if (Chance(2)) decision.cluster_tolerations = &kTolerate;
    return decision;
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t n) { return Below(n) == 0; }
  std::string_view Architecture() {
    constexpr std::array<std::string_view, 4> kAll = {"amd64", "arm64", "ppc64le", "s390x"};
    return kAll[Below(kAll.size())];
  }

  std::mt19937 random_{1};
};

// What is placed at creation is what the gated pod would get.
TEST(PlaceAtCreationTest, EqualsTheReleaseOfTheGatedPod) {
  RandomPods random;
  int placed = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Pod pod = random.MakeOne();
    const ClusterDecision decision = random.Decide();
    Pod at_creation = pod;
    if (!PlaceAtCreation(at_creation, decision)) continue;
    ++placed;

    Pod gated = pod;
    gated.mutable_spec()->add_scheduling_gates()->set_name(std::string(api::kClusterGate));
    // webhook/gate_patch.h
    SetLabel(gated, api::kNodeAffinityLabel, api::kNotSet);
    SetLabel(gated, api::kPreferredNodeAffinityLabel, api::kNotSet);
    RemoveLabel(gated, api::kLocalGateLabel);
    Release release = ReleaseCluster(gated, decision);
    ASSERT_TRUE(release.released);
    EXPECT_EQ(kube::SerializeInOrder(at_creation.spec()), kube::SerializeInOrder(gated.spec()));
    EXPECT_EQ(OtherLabels(at_creation), OtherLabels(gated));
  }
  EXPECT_GT(placed, 3'000);
}

// As the pod comes back to the cluster's webhook, after the shard's.
Pod WithBothGates(MakePod pod) {
  return pod.Gate(api::kClusterGate)
      .Gate(api::kLocalGate)
      .Label(api::kLocalGateLabel, api::kGated)
      .Label(api::kClusterGateLabel, api::kGated);
}

const Pod kWeb = WithBothGates(MakePod("web").Image("a:1"));

api::PodPlacementConfig Prefers(std::string_view architecture) {
  return api::MakeConfig("arm", "ns").Prefer(architecture, 70);
}

std::string Preferred(const Pod& pod) {
  std::string text;
  for (const auto& term : pod.spec()
                              .affinity()
                              .node_affinity()
                              .preferred_during_scheduling_ignored_during_execution()) {
    text += term.preference().match_expressions(0).values(0) + ":" + std::to_string(term.weight()) +
            " ";
  }
  return text;
}

TEST(PlaceBehindLocalGateTest, OnlyTheLocalGateIsLeft) {
  Pod pod = kWeb;
  ASSERT_TRUE(PlaceBehindLocalGate(pod, On(ArchitectureSet{"amd64", "arm64"})));
  ASSERT_EQ(pod.spec().scheduling_gates_size(), 1);
  EXPECT_TRUE(HasGate(pod, api::kLocalGate));
  EXPECT_EQ(LabelOf(pod, api::kLocalGateLabel), api::kGated);
  EXPECT_EQ(LabelOf(pod, api::kClusterGateLabel), api::kNotSet);
  EXPECT_EQ(Required(pod), "kubernetes.io/arch In amd64 arm64,;");

  pod = WithBothGates(MakePod("web").Image("a:1").Gate("kueue.x-k8s.io/admission"));
  EXPECT_FALSE(PlaceBehindLocalGate(pod, On(ArchitectureSet{"amd64"})));
  ClusterDecision decision = On(ArchitectureSet{"amd64"});
  decision.cluster_tolerations = &kTolerate;
  pod = kWeb;
  EXPECT_FALSE(PlaceBehindLocalGate(pod, decision)) << "a PodPlacementConfig may have others";
  pod = MakePod("web").Image("a:1");
  EXPECT_FALSE(PlaceBehindLocalGate(pod, On(ArchitectureSet{"amd64"}))) << "no local gate";
}

// The shard's release of a pod that was placed is the two releases of a pod with both gates.
TEST(PlaceBehindLocalGateTest, TheShardGivesWhatBothControllersGive) {
  const api::PodPlacementConfig arm = Prefers("arm64");
  const api::PodPlacementConfig amd = Prefers("amd64");
  const api::PodPlacementConfig tolerates = api::MakeConfig("tolerates", "ns").Tolerate();
  const api::PodPlacementConfig refuses = api::MakeConfig("refuses", "ns").Tolerate(false);
  for (const MatchingConfigs& configs :
       {MatchingConfigs{}, MatchingConfigs{{&arm}}, MatchingConfigs{{&amd}},
        MatchingConfigs{{&amd}, {&tolerates}}, MatchingConfigs{{&refuses}, {&arm}}}) {
    for (bool prefers : {false, true}) {
      for (bool namespace_first : {false, true}) {
        ClusterDecision decision = On(ArchitectureSet{"amd64", "arm64"});
        if (prefers) decision.cluster_platforms = kPreferArm;
        decision.namespace_takes_precedence = namespace_first;

        Pod placed = kWeb;
        ASSERT_TRUE(PlaceBehindLocalGate(placed, decision));
        ASSERT_TRUE(ReleaseLocal(placed, configs).released);

        Pod gated = kWeb;
        ASSERT_TRUE(ReleaseLocal(gated, configs).released);
        decision.configs = configs;
        decision.preferences_decided = true;
        ASSERT_TRUE(ReleaseCluster(gated, decision).placed);
        RemoveAnnotation(gated, api::kLocalTolerationsAnnotation);

        EXPECT_EQ(Preferred(placed), Preferred(gated));
        EXPECT_EQ(OtherLabels(placed), OtherLabels(gated));
        EXPECT_EQ(kube::SerializeInOrder(placed.spec()), kube::SerializeInOrder(gated.spec()));
        EXPECT_EQ(AnnotationOf(placed, api::kPreferredAffinitySourcesAnnotation),
                  AnnotationOf(gated, api::kPreferredAffinitySourcesAnnotation));
        const Pod once = placed;
        EXPECT_FALSE(ReleaseLocal(placed, configs).released);
        EXPECT_EQ(kube::SerializeInOrder(placed), kube::SerializeInOrder(once));
      }
    }
  }
}

TEST(PlaceBehindLocalGateTest, TolerationsThatAreRefusedAreLeftOut) {
  const api::PodPlacementConfig tolerates = api::MakeConfig("tolerates", "ns").Tolerate();
  Pod placed = kWeb;
  ASSERT_TRUE(PlaceBehindLocalGate(placed, On(ArchitectureSet{"amd64"})));
  Pod with = placed;
  Release release = ReleaseLocal(with, {{&tolerates}});
  EXPECT_TRUE(release.additions);
  EXPECT_EQ(with.spec().tolerations_size(), 1);
  release = ReleaseLocal(placed, {{&tolerates}}, /*without_tolerations=*/true);
  EXPECT_TRUE(release.released);
  EXPECT_FALSE(release.additions);
  EXPECT_EQ(placed.spec().tolerations_size(), 0);
}

}  // namespace
}  // namespace placement
