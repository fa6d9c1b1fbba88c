// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/config_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"

namespace plugin {
namespace {

using ::testing::ElementsAre;

TEST(ConfigLinesTest, PreferencesAreWonOrLost) {
  kube::core::Pod pod = kube::MakePod("web").Annotation(
      api::kPreferredAffinitySourcesAnnotation,
      "arm64:75:PodPlacementConfig-web/large,amd64:50:PodPlacementConfig-web,"
      "arm64:20:ClusterPodPlacementConfig:skipped,s390x:9:PodPlacementConfig-z:skipped");
  std::vector<std::string> lines;
  for (const PreferenceLine& line : DescribePreferences(pod))
    lines.push_back(line.architecture + " " + std::to_string(line.weight) + " " + line.source +
                    " | " + line.lost_to);
  EXPECT_THAT(lines,
              ElementsAre("arm64 75 PodPlacementConfig web, rule large | ",
                          "amd64 50 PodPlacementConfig web | ",
                          "arm64 20 ClusterPodPlacementConfig | PodPlacementConfig web, rule large",
                          "s390x 9 PodPlacementConfig z | the pod's own preferences"));
}

TEST(ConfigLinesTest, EachConfigSelectsThePodOrSaysWhyNot) {
  PodEvidence evidence;
  evidence.pod = kube::MakePod("web")
                     .Namespace("shop")
                     .Uid("stored")
                     .Label("app", "web")
                     .Gate(api::kLocalGate)
                     .Annotation(api::kLocalConfigsAnnotation, "ruled,ruled/large");
  evidence.around->configs = {
      api::MakeConfig("ruled", "shop").Priority(9).Rule("large", "true", "arm64", 9),
      api::MakeConfig("open", "shop").Priority(8).Rule("other", "true", "arm64", 9),
      api::MakeConfig("web", "shop").Priority(7).Prefer("arm64", 9).ForLabel("app", "web"),
      api::MakeConfig("db", "shop").Priority(6).Prefer("arm64", 9).ForLabel("app", "db"),
      api::MakeConfig("empty", "shop").Priority(5),
      api::MakeConfig("a", "shop").Priority(4).Prefer("arm64", 9),
      api::MakeConfig("b", "shop").Priority(4).Prefer("arm64", 9)};
  std::vector<std::string> lines;
  for (const ConfigLine& line : DescribeConfigs(evidence))
    lines.push_back((line.selects ? "+ " : "- ") + line.name + ": " + line.text);
  EXPECT_THAT(lines, ElementsAre("+ ruled: its rule large matches",
                                 "+ open: none of its rules was recorded on the pod",
                                 "+ web: it selects the pod", "- db: it selects app=db",
                                 ::testing::StartsWith("+ empty: "), "+ a: it selects the pod",
                                 "- b: a has the same priority and is in force"));
}

TEST(ConfigLinesTest, RulesAreEvaluatedAtTheCreation) {
  PodEvidence evidence;
  evidence.pod = kube::MakePod("web").Namespace("shop").Uid("");
  evidence.around->configs = {api::MakeConfig("ruled", "shop").Rule("large", "true", "arm64", 9)};
  EXPECT_EQ(DescribeConfigs(evidence)[0].text,
            "it selects the pod; its rules are evaluated when the pod is created");
}

}  // namespace
}  // namespace plugin
