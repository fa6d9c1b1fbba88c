// SPDX-License-Identifier: Apache-2.0
#include "placement/preference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "placement/architecture.h"
#include "placement/pod_metadata.h"

namespace placement {
namespace {

using kube::core::Pod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A preferred term of the user: `key op values`, with `weight`.
struct Term {
  int weight;
  std::string key;
  std::string op;
  std::vector<std::string> values;
};

void Add(Pod& pod, const Term& term) {
  auto& preferred = *pod.mutable_spec()
                         ->mutable_affinity()
                         ->mutable_node_affinity()
                         ->add_preferred_during_scheduling_ignored_during_execution();
  preferred.set_weight(term.weight);
  auto& expression = *preferred.mutable_preference()->add_match_expressions();
  expression.set_key(term.key);
  expression.set_operator_(term.op);
  for (const std::string& value : term.values) expression.add_values(value);
}

// "75 kubernetes.io/arch In arm64"
std::vector<std::string> TermsOf(const Pod& pod) {
  std::vector<std::string> terms;
  for (auto& term : pod.spec()
                        .affinity()
                        .node_affinity()
                        .preferred_during_scheduling_ignored_during_execution()) {
    std::string text = std::to_string(term.weight());
    for (auto& expression : term.preference().match_expressions()) {
      text += " " + expression.key() + " " + expression.operator_();
      for (auto& value : expression.values()) text += " " + value;
    }
    terms.push_back(text);
  }
  return terms;
}

std::string SourcesAnnotation(const Pod& pod) {
  return std::string(AnnotationOf(pod, api::kPreferredAffinitySourcesAnnotation));
}
std::string Label(const Pod& pod) {
  return std::string(LabelOf(pod, api::kPreferredNodeAffinityLabel));
}

const PreferenceSource kHigh = {"PodPlacementConfig-high", {{"arm64", 75}}};
const PreferenceSource kLow = {"PodPlacementConfig-low", {{"arm64", 10}, {"amd64", 20}}};
const PreferenceSource kCluster = {"ClusterPodPlacementConfig", {{"amd64", 50}, {"s390x", 1}}};

TEST(PreferenceTest, TheFirstSourceToNameAnArchitectureSetsIt) {
  Pod pod;
  PreferenceResult result = ApplyPreferences(pod, std::vector{kHigh, kLow, kCluster});
  EXPECT_THAT(TermsOf(pod),
              ElementsAre("75 kubernetes.io/arch In arm64", "20 kubernetes.io/arch In amd64",
                          "1 kubernetes.io/arch In s390x"));
  EXPECT_EQ(SourcesAnnotation(pod),
            "arm64:75:PodPlacementConfig-high,arm64:10:PodPlacementConfig-low:skipped,amd64:20:"
            "PodPlacementConfig-low,"
            "amd64:50:ClusterPodPlacementConfig:skipped,s390x:1:ClusterPodPlacementConfig");
  EXPECT_EQ(Label(pod), "set");
  EXPECT_FALSE(result.user_preferences);
  EXPECT_THAT(result.set, ElementsAre(kHigh.name, kLow.name, kCluster.name));
  EXPECT_THAT(result.duplicates,
              ElementsAre("arm64 of PodPlacementConfig-low", "amd64 of ClusterPodPlacementConfig"));
}

TEST(PreferenceTest, ApplyingTwiceIsApplyingOnce) {
  const std::vector sources = {kHigh, kLow, kCluster};
  Pod pod;
  ApplyPreferences(pod, sources);
  Pod once = pod;
  PreferenceResult again = ApplyPreferences(pod, sources);
  EXPECT_EQ(pod.SerializeAsString().size(), once.SerializeAsString().size());
  EXPECT_EQ(TermsOf(pod), TermsOf(once));
  EXPECT_EQ(SourcesAnnotation(pod), SourcesAnnotation(once));
  EXPECT_FALSE(again.user_preferences);
  EXPECT_THAT(again.set, IsEmpty());
  EXPECT_THAT(again.duplicates, IsEmpty());
}

TEST(PreferenceTest, TheClusterAddsToThePreferencesOfTheShard) {
  Pod pod;
  ApplyPreferences(pod, std::vector{kHigh});
  PreferenceResult result = ApplyPreferences(pod, std::vector{kHigh, kCluster});
  EXPECT_FALSE(result.user_preferences);
  EXPECT_THAT(TermsOf(pod),
              ElementsAre("75 kubernetes.io/arch In arm64", "50 kubernetes.io/arch In amd64",
                          "1 kubernetes.io/arch In s390x"));
  EXPECT_THAT(result.set, ElementsAre(kCluster.name));
}

TEST(PreferenceTest, PreferencesOfTheUserOnTheArchitectureDisableAll) {
  const Term cases[] = {
      {75,
       "kubernetes.io/arch",
       "In",
       {"arm64"}},                                 // the same as the config's, but still the user's
      {1, "kubernetes.io/arch", "In", {"s390x"}},  // another architecture
      {1, "kubernetes.io/arch", "In", {"a", "b"}},    //
      {1, "kubernetes.io/arch", "NotIn", {"arm64"}},  //
      {1, "kubernetes.io/arch", "Exists", {}},        //
      {1, "kubernetes.io/arch", "DoesNotExist", {}},  //
  };
  for (const Term& term : cases) {
    Pod pod;
    Add(pod, term);
    for (int i = 0; i < 2; ++i) {
      PreferenceResult result = ApplyPreferences(pod, std::vector{kHigh, kCluster});
      EXPECT_TRUE(result.user_preferences) << term.op;
      EXPECT_THAT(result.set, IsEmpty()) << term.op;
      if (i == 0) {
        EXPECT_THAT(result.duplicates, ElementsAre("arm64 of PodPlacementConfig-high",
                                                   "amd64 of ClusterPodPlacementConfig",
                                                   "s390x of ClusterPodPlacementConfig"))
            << term.op;
      } else {
        EXPECT_THAT(result.duplicates, IsEmpty()) << term.op;
      }
      EXPECT_EQ(TermsOf(pod).size(), 1u) << term.op;
      EXPECT_EQ(
          SourcesAnnotation(pod),
          "arm64:75:PodPlacementConfig-high:skipped,amd64:50:ClusterPodPlacementConfig:skipped,"
          "s390x:1:ClusterPodPlacementConfig:skipped");
      EXPECT_EQ(Label(pod), "not-set");
    }
  }
}

TEST(PreferenceTest, OtherPreferencesOfTheUserStay) {
  Pod pod;
  Add(pod, {9, "zone", "In", {"a"}});
  ApplyPreferences(pod, std::vector{kHigh});
  EXPECT_THAT(TermsOf(pod), ElementsAre("9 zone In a", "75 kubernetes.io/arch In arm64"));
}

TEST(PreferenceTest, ATermIsFromAConfigOnlyIfTheAnnotationListsIt) {
  // The annotation lists arm64 with weight 75; the term has another weight or more expressions.
  Pod other_weight;
  SetAnnotation(other_weight, api::kPreferredAffinitySourcesAnnotation,
                "arm64:75:PodPlacementConfig-high");
  Add(other_weight, {74, "kubernetes.io/arch", "In", {"arm64"}});
  EXPECT_TRUE(ApplyPreferences(other_weight, std::vector{kCluster}).user_preferences);

  Pod skipped;
  SetAnnotation(skipped, api::kPreferredAffinitySourcesAnnotation,
                "arm64:75:PodPlacementConfig-high:skipped");
  Add(skipped, {75, "kubernetes.io/arch", "In", {"arm64"}});
  EXPECT_TRUE(ApplyPreferences(skipped, std::vector{kCluster}).user_preferences);
}

TEST(PreferenceTest, InvalidEntriesOfTheAnnotationAreDropped) {
  for (const char* text :
       {"", ",,,", ":::", "arm64", "arm64:x:y", "arm64:1:", ":1:PodPlacementConfig-a", "ARM:1:x",
        "arm64:99999999999999999999:x", "\xff\xfe"}) {
    Pod pod;
    SetAnnotation(pod, api::kPreferredAffinitySourcesAnnotation, text);
    ApplyPreferences(pod, std::vector{kHigh});
    EXPECT_EQ(SourcesAnnotation(pod), "arm64:75:PodPlacementConfig-high") << text;
    EXPECT_THAT(TermsOf(pod), ElementsAre("75 kubernetes.io/arch In arm64")) << text;
  }
}

TEST(PreferenceTest, WithoutSourcesThePodIsUntouched) {
  Pod pod;
  ApplyPreferences(pod, {});
  EXPECT_EQ(pod.ByteSizeLong(), 0u);
}

TEST(PreferenceTest, WhatTheApiWouldRefuseIsNotSet) {
  Pod pod;
  ApplyPreferences(pod, std::vector{PreferenceSource{
                            "x", {{"arm64", 0}, {"amd64", 101}, {"no such", 5}, {"", 5}}}});
  EXPECT_THAT(TermsOf(pod), IsEmpty());
  EXPECT_FALSE(pod.has_spec());
}

TEST(PreferenceTest, FullAnnotationsKeepSetPreferencesAndDropSkippedOnes) {
  Pod pod;
  std::string set = "arm64:75:PodPlacementConfig-high,s390x:1:ClusterPodPlacementConfig";
  std::string key(api::kPreferredAffinitySourcesAnnotation);
  SetAnnotation(pod, "filler", std::string(256 * 1024 - 6 - key.size() - set.size() - 20, 'x'));
  ApplyPreferences(pod, std::vector{kHigh,
                                    {"PodPlacementConfig-low", {{"arm64", 1}}},
                                    {"ClusterPodPlacementConfig", {{"s390x", 1}}}});
  EXPECT_EQ(SourcesAnnotation(pod), set);

  Pod full;
  SetAnnotation(full, "filler", std::string(256 * 1024 - 6, 'x'));
  ApplyPreferences(full, std::vector{kHigh});
  EXPECT_THAT(TermsOf(full), ElementsAre("75 kubernetes.io/arch In arm64"));
  EXPECT_EQ(SourcesAnnotation(full), "");
  EXPECT_EQ(Label(full), "set");
}

TEST(PreferenceTest, TheAnnotationIsBoundedWithManySources) {
  std::vector<PreferenceSource> sources;
  for (int i = 0; i < 2000; ++i)
    sources.push_back({"PodPlacementConfig-" + std::to_string(i), {{"arm64", 1}}});
  Pod pod;
  PreferenceResult result = ApplyPreferences(pod, sources);
  EXPECT_EQ(result.duplicates.size(), 256u - kMaxArchitectures - 1);
  EXPECT_LT(SourcesAnnotation(pod).size(), 16u * 1024);
}

// Each config may name other architectures.
TEST(PreferenceTest, APodHasAtMostThirtyTwoPreferencesOfConfigs) {
  std::vector<PreferenceSource> sources;
  for (size_t i = 0; i <= kMaxArchitectures; ++i)
    sources.push_back({"PodPlacementConfig-a", {{"arch" + std::to_string(i), 1}}});
  sources.push_back({"PodPlacementConfig-b", {{"arch0", 1}}});
  Pod pod;
  PreferenceResult result = ApplyPreferences(pod, sources);
  EXPECT_EQ(TermsOf(pod).size(), 32u);
  EXPECT_THAT(result.beyond_limit, ElementsAre("arch32 of PodPlacementConfig-a"));
  EXPECT_THAT(result.duplicates, ElementsAre("arch0 of PodPlacementConfig-b"));
  EXPECT_THAT(SourcesAnnotation(pod), testing::HasSubstr("arch32:1:PodPlacementConfig-a:skipped"));

  std::string once = pod.SerializeAsString();
  result = ApplyPreferences(pod, sources);
  EXPECT_THAT(result.beyond_limit, IsEmpty());
  EXPECT_FALSE(result.user_preferences);
  EXPECT_EQ(pod.SerializeAsString(), once) << "a second call";
}

TEST(PreferenceTest, ManySkippedEntriesLeaveRoomForThoseThatAreSet) {
  std::vector<PreferenceSource> sources;
  for (int i = 0; i < 300; ++i)
    sources.push_back({"PodPlacementConfig-a/" + std::to_string(i), {{"arm64", 1}}});
  sources.push_back({"PodPlacementConfig-b", {{"amd64", 2}}});
  Pod pod;
  EXPECT_FALSE(ApplyPreferences(pod, sources).user_preferences);
  EXPECT_FALSE(
      ApplyPreferences(pod, std::vector<PreferenceSource>{{"c", {{"s390x", 3}}}}).user_preferences);
  EXPECT_EQ(TermsOf(pod).size(), 3u);
}

}  // namespace
}  // namespace placement
