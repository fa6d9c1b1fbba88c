// SPDX-License-Identifier: Apache-2.0
#include "placement/matching_configs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"

namespace placement {
namespace {

using api::MakeConfig;
using api::PodPlacementConfig;
using kube::MakePod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kEnabled[] = "/spec/plugins/nodeAffinityScoring/enabled";

MakeConfig Config(const char* name, int priority) {
  return MakeConfig(name).Priority(priority).Created(1).Prefer("arm64", 7);
}

std::vector<std::string> NamesOf(const MatchingConfigs& configs) {
  std::vector<std::string> names;
  for (const MatchingConfig& one : configs) names.push_back(one.config->metadata().name());
  return names;
}

TEST(MatchingConfigsTest, SelectsByLabelsWithinTheNamespace) {
  kube::core::Pod pod = MakePod("web").Namespace("ns").Label("app", "web");
  constexpr char kExpression[] = "/spec/labelSelector/matchExpressions/0";
  std::vector<PodPlacementConfig> all = {
      Config("other-namespace", 3).Namespace("elsewhere"),
      Config("broken", 4).Set(kExpression, {{"key", "app"}, {"operator", "Near"}}),
      Config("other-labels", 5).ForLabel("app", "api"),
      Config("expression", 6)
          .Set(kExpression, {{"key", "app"}, {"operator", "In"}, {"values", {"web"}}}),
      Config("labels", 7).ForLabel("app", "web"),
      Config("empty", 8).Set("/spec/labelSelector", kube::Json::object()),
      Config("absent", 9)};
  EXPECT_THAT(NamesOf(ConfigsFor(pod, all)),
              ElementsAre("absent", "empty", "labels", "expression"));
}

TEST(MatchingConfigsTest, SortsByPriorityAndAppliesTheOldestOfOnePriority) {
  MakeConfig b = Config("b", 1).Created(5), a = Config("a", 1).Created(5),
             old_one = Config("z", 1).Created(4), high = Config("y", 255).Created(9),
             elsewhere = Config("x", 1).Namespace("elsewhere");
  std::vector<PodPlacementConfig> all = {b, a, old_one, high, elsewhere};
  EXPECT_THAT(NamesOf(ConfigsFor(MakePod("web"), all)), ElementsAre("y", "z"));
  all = {b, a, high};
  EXPECT_THAT(NamesOf(ConfigsFor(MakePod("web"), all)), ElementsAre("y", "a"));
}

TEST(MatchingConfigsTest, AConfigThatSelectsOtherPodsHoldsItsPriority) {
  std::vector<PodPlacementConfig> all = {Config("young", 1).Created(5),
                                         Config("old", 1).Created(4).ForLabel("app", "api")};
  EXPECT_THAT(NamesOf(ConfigsFor(MakePod("web").Label("app", "web"), all)), IsEmpty());
}

TEST(MatchingConfigsTest, ConfigsWithoutPreferencesAreNoSources) {
  PodPlacementConfig on = Config("on", 2), off = Config("off", 1).Set(kEnabled, false);
  api::Platform cluster[] = {{"amd64", 5}};
  std::vector<PreferenceSource> sources = SourcesOf({&on, &off}, cluster);
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].name, "PodPlacementConfig-on");
  EXPECT_EQ(sources[1].name, "ClusterPodPlacementConfig");
  EXPECT_THAT(SourcesOf({&off}), IsEmpty());
}

// A config with rules of these names, and a pod with the local gate and this record.
MakeConfig WithRules(const char* name, int priority, std::initializer_list<const char*> rules) {
  MakeConfig config = Config(name, priority);
  for (const char* rule : rules) config.Rule(rule, "true", "s390x", 5);
  return config;
}
MakePod Recorded(std::string_view record) {
  return std::move(
      MakePod("web").Gate(api::kLocalGate).Annotation(api::kLocalConfigsAnnotation, record));
}
std::vector<std::string> NamesOf(const std::vector<PreferenceSource>& sources) {
  std::vector<std::string> names;
  for (const PreferenceSource& source : sources) names.push_back(source.name);
  return names;
}

TEST(MatchingConfigsTest, RecordedRulesMatchAndTheOthersAreOpen) {
  std::vector<PodPlacementConfig> all = {WithRules("a", 3, {"x", "y"}), Config("b", 2),
                                         WithRules("c", 1, {"x"})};
  MatchingConfigs configs = ConfigsFor(Recorded("a,a/y,b,c/x,gone/x,a/gone,b/x"), all);
  ASSERT_EQ(configs.size(), 3u);
  EXPECT_EQ(configs[0].rules, 0b10);
  EXPECT_TRUE(configs[0].open) << "of x, nothing is known";
  EXPECT_EQ(configs[1].rules, 0);
  EXPECT_FALSE(configs[1].open) << "no rules";
  EXPECT_EQ(configs[2].rules, 1);
  EXPECT_FALSE(configs[2].open);
  EXPECT_TRUE(HasOpenRules(configs));
  EXPECT_FALSE(HasOpenRules(ConfigsFor(Recorded("a/x,a/y,c/x"), all)));
}

TEST(MatchingConfigsTest, TheRecordOfAPodWithoutTheLocalGateDoesNotCount) {
  std::vector<PodPlacementConfig> all = {WithRules("a", 1, {"x"})};
  MatchingConfigs configs =
      ConfigsFor(MakePod("web").Annotation(api::kLocalConfigsAnnotation, "a/x"), all);
  ASSERT_EQ(configs.size(), 1u);
  EXPECT_EQ(configs[0].rules, 0);
  EXPECT_TRUE(configs[0].open);
}

TEST(MatchingConfigsTest, AnInvalidConfigHasNoRules) {
  std::vector<PodPlacementConfig> all = {WithRules("a", 1, {"x"})};
  all[0].problems.push_back({"spec", "is wrong"});
  EXPECT_FALSE(HasOpenRules(ConfigsFor(Recorded("a/x"), all)));
}

TEST(MatchingConfigsTest, MatchingRulesAreSourcesBeforeTheirConfig) {
  std::vector<PodPlacementConfig> all = {WithRules("a", 9, {"x", "y", "z"}), Config("b", 2),
                                         WithRules("c", 1, {"x"}).Set(kEnabled, false)};
  api::Platform cluster[] = {{"amd64", 5}};
  std::vector<PreferenceSource> sources =
      SourcesOf(ConfigsFor(Recorded("c/x,a/z,a/x"), all), cluster);
  EXPECT_THAT(NamesOf(sources), ElementsAre("PodPlacementConfig-a/x", "PodPlacementConfig-a/z",
                                            "PodPlacementConfig-a", "PodPlacementConfig-b",
                                            "PodPlacementConfig-c/x", "ClusterPodPlacementConfig"));
  EXPECT_THAT(sources[0].platforms, ElementsAre(api::Platform{"s390x", 5}));
  EXPECT_THAT(sources[2].platforms, ElementsAre(api::Platform{"arm64", 7}));
}

}  // namespace
}  // namespace placement
