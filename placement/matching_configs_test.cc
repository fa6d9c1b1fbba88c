// SPDX-License-Identifier: Apache-2.0
#include "placement/matching_configs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "kube/testing/make_pod.h"

namespace placement {
namespace {

using kube::MakePod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

api::PodPlacementConfig Config(const char* name, int priority, const char* selector = nullptr,
                               const char* ns = "ns", int64_t created = 1) {
  kube::Json json = kube::Json::parse(R"({"spec": {"plugins": {"nodeAffinityScoring":
      {"enabled": true, "platforms": [{"architecture": "arm64", "weight": 7}]}}}})");
  json["spec"]["priority"] = priority;
  if (selector != nullptr) json["spec"]["labelSelector"] = kube::Json::parse(selector);
  api::PodPlacementConfig config = api::PodPlacementConfig::FromJson(json).value();
  config.mutable_metadata()->set_name(name);
  config.mutable_metadata()->set_namespace_(ns);
  config.mutable_metadata()->mutable_creation_timestamp()->set_seconds(created);
  return config;
}

std::vector<std::string> NamesOf(const MatchingConfigs& configs) {
  std::vector<std::string> names;
  for (auto* config : configs) names.push_back(config->metadata().name());
  return names;
}

TEST(MatchingConfigsTest, SelectsByLabelsWithinTheNamespace) {
  kube::core::Pod pod = MakePod("web").Namespace("ns").Label("app", "web");
  auto absent = Config("absent", 9), empty = Config("empty", 8, "{}"),
       labels = Config("labels", 7, R"({"matchLabels": {"app": "web"}})"),
       expression =
           Config("expression", 6,
                  R"({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]})"),
       other_labels = Config("other-labels", 5, R"({"matchLabels": {"app": "api"}})"),
       broken =
           Config("broken", 4, R"({"matchExpressions": [{"key": "app", "operator": "Near"}]})"),
       other_namespace = Config("other-namespace", 3, nullptr, "elsewhere");
  std::vector<api::PodPlacementConfig> all = {other_namespace, broken, other_labels, expression,
                                              labels,          empty,  absent};
  EXPECT_THAT(NamesOf(ConfigsFor(pod, all)),
              ElementsAre("absent", "empty", "labels", "expression"));
}

TEST(MatchingConfigsTest, SortsByPriorityAndAppliesTheOldestOfOnePriority) {
  auto b = Config("b", 1, nullptr, "ns", 5), a = Config("a", 1, nullptr, "ns", 5),
       old_one = Config("z", 1, nullptr, "ns", 4), high = Config("y", 255, nullptr, "ns", 9),
       elsewhere = Config("x", 1, nullptr, "elsewhere", 1);
  std::vector<api::PodPlacementConfig> all = {b, a, old_one, high, elsewhere};
  EXPECT_THAT(NamesOf(ConfigsFor(MakePod("web"), all)), ElementsAre("y", "z"));
  all = {b, a, high};
  EXPECT_THAT(NamesOf(ConfigsFor(MakePod("web"), all)), ElementsAre("y", "a"));
}

TEST(MatchingConfigsTest, AConfigThatSelectsOtherPodsHoldsItsPriority) {
  auto other_pods = Config("old", 1, R"({"matchLabels": {"app": "api"}})", "ns", 4),
       young = Config("young", 1);
  young.mutable_metadata()->mutable_creation_timestamp()->set_seconds(5);
  std::vector<api::PodPlacementConfig> all = {young, other_pods};
  EXPECT_THAT(NamesOf(ConfigsFor(MakePod("web").Label("app", "web"), all)), IsEmpty());
}

TEST(MatchingConfigsTest, ConfigsWithoutPreferencesAreNoSources) {
  auto on = Config("on", 2), off = Config("off", 1);
  off.spec.plugins->node_affinity_scoring->enabled = false;
  api::Platform cluster[] = {{"amd64", 5}};
  std::vector<PreferenceSource> sources = SourcesOf({&on, &off}, cluster);
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources[0].name, "PodPlacementConfig-on");
  EXPECT_EQ(sources[1].name, "ClusterPodPlacementConfig");
  EXPECT_THAT(SourcesOf({&off}), IsEmpty());
}

TEST(MatchingConfigsTest, ReadsTheConfigsThatGatedThePod) {
  auto gating = [](std::string_view text) {
    return GatingConfigs(MakePod("web").Annotation(api::kLocalConfigsAnnotation, text));
  };
  EXPECT_THAT(GatingConfigs(MakePod("web")), IsEmpty());
  EXPECT_THAT(gating("a"), ElementsAre("a"));
  EXPECT_THAT(gating("a,b.c-d,a,"), ElementsAre("a", "b.c-d"));
  EXPECT_THAT(gating(",../../secrets,A b,?x=1," + std::string(254, 'a')), IsEmpty());
  std::string many;
  for (int i = 0; i < 1000; ++i) many += std::to_string(i) + ",";
  EXPECT_EQ(gating(many).size(), 256u);
}

}  // namespace
}  // namespace placement
