// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/preference_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const PreferenceSource kArmFirst = {"PodPlacementConfig-arm", {{"arm64", 75}}};
const PreferenceSource kCluster = {"ClusterPodPlacementConfig", {{"arm64", 10}, {"amd64", 20}}};

TEST(Preferences, FirstSourceOfAnArchitectureWins) {
  PreferenceAnswer answer = Prefer(Pod("web"), {kArmFirst, kCluster});
  EXPECT_THAT(answer.added, ElementsAre("amd64:20", "arm64:75"));
  EXPECT_THAT(answer.entries, ElementsAre("amd64:20:ClusterPodPlacementConfig",
                                          "arm64:10:ClusterPodPlacementConfig:skipped",
                                          "arm64:75:PodPlacementConfig-arm"));
  EXPECT_TRUE(answer.has_any);
}

TEST(Preferences, OfTheUserSwitchAllOff) {
  PreferenceAnswer answer = Prefer(Preferring(Pod("web"), "s390x", 1, ""), {kArmFirst});
  EXPECT_THAT(answer.added, IsEmpty());
  EXPECT_THAT(answer.entries, ElementsAre("arm64:75:PodPlacementConfig-arm:skipped"));
  EXPECT_FALSE(answer.has_any);
}

TEST(Preferences, OfTheShardAreNotTheUsers) {
  Json pod = Preferring(Pod("web"), "arm64", 75, "PodPlacementConfig-arm");
  PreferenceAnswer answer = Prefer(pod, {kCluster});
  EXPECT_THAT(answer.added, ElementsAre("amd64:20"));
  EXPECT_TRUE(answer.has_any);
}

TEST(Preferences, AreRecordedOnce) {
  Json pod =
      Recorded(Preferring(Pod("web"), "s390x", 1, ""), "arm64:75:PodPlacementConfig-arm:skipped");
  EXPECT_THAT(Prefer(pod, {kArmFirst}).entries,
              ElementsAre("arm64:75:PodPlacementConfig-arm:skipped"));
}

TEST(Preferences, AtMost32) {
  PreferenceSource source{"PodPlacementConfig-many", {}};
  for (char a = 'a'; a < 'g'; ++a) {
    for (char b = 'a'; b < 'g'; ++b) source.platforms.push_back({{a, b}, 1});
  }
  PreferenceAnswer answer = Prefer(Pod("web"), {source});
  EXPECT_EQ(answer.added.size(), 32u);
  EXPECT_EQ(answer.entries.size(), 36u);
}

TEST(Preferences, OfSelectingConfigsByPriority) {
  auto config = [](const char* name, int64_t priority, const char* created, Json selector) {
    NamespaceConfig made{.name = name, .created = created, .priority = priority};
    made.selector = std::move(selector);
    made.preferences = {{"arm64", 1}};
    return std::make_shared<const NamespaceConfig>(std::move(made));
  };
  Json web = {{"matchLabels", {{"app", "web"}}}};
  NamespaceConfigs all = {config("low", 1, "2026-01-01T00:00:00Z", Json()),
                          config("younger", 9, "2026-01-01T00:00:02Z", Json()),
                          config("high", 9, "2026-01-01T00:00:01Z", Json()),
                          config("other", 5, "2026-01-01T00:00:01Z", web)};
  InForce in_force = InForceOf(all);
  EXPECT_FALSE(in_force.unclear);
  std::vector<std::string> names;
  for (const PreferenceSource& source : SourcesOf(SelectedBy(in_force, Pod("mail"))))
    names.push_back(source.name);
  EXPECT_THAT(names, ElementsAre("PodPlacementConfig-high", "PodPlacementConfig-low"));
  all.push_back(config("same", 1, "2026-01-01T00:00:00Z", Json()));
  EXPECT_TRUE(InForceOf(all).unclear);
}

TEST(PreferenceResult, IsComparedWithoutOrder) {
  Json before = Pod("web");
  PreferenceAnswer answer =
      Prefer(before, {{"PodPlacementConfig-x", {{"arm64", 1}, {"amd64", 2}}}});
  Json first = Preferring(before, "arm64", 1, "PodPlacementConfig-x");
  Json after = Preferring(first, "amd64", 2, "PodPlacementConfig-x");
  Json turned = Preferring(Preferring(before, "amd64", 2, "PodPlacementConfig-x"), "arm64", 1,
                           "PodPlacementConfig-x");
  EXPECT_EQ(DiffersFrom(answer, before, after), "");
  EXPECT_EQ(DiffersFrom(answer, before, turned), "");
  EXPECT_NE(DiffersFrom(answer, before, first), "");
  EXPECT_NE(DiffersFrom(answer, before, Preferring(first, "amd64", 3, "PodPlacementConfig-x")), "");
  EXPECT_NE(DiffersFrom(answer, before, Recorded(after, "s390x:1:PodPlacementConfig-x")), "");
  EXPECT_NE(
      DiffersFrom(answer, before,
                  Labelled(after, "multiarch.openshift.io/preferred-node-affinity", "not-set")),
      "");
}

}  // namespace
}  // namespace sim::checker
