// SPDX-License-Identifier: Apache-2.0
#include "plugin/config/why_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"

namespace plugin {
namespace {

using kube::MakePod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WhyConfigTest, CaughtAndMissedPods) {
  auto around = std::make_shared<NamespaceEvidence>();
  around->cluster_config = api::MakeClusterConfig();
  around->configs = {
      api::MakeConfig("high", "shop").Priority(9).Prefer("arm64", 50),
      api::MakeConfig("web", "shop").Priority(3).Prefer("arm64", 75).ForLabel("app", "web")};
  around->configs[1].mutable_metadata()->mutable_creation_timestamp()->set_seconds(100);
  around->configs[1].status.conditions = {{"Progressing", "True", "RollingOut", "soon"},
                                          {"Available", "False", "NotReady", "0 of 1"}};
  auto pod = [](const char* name, const char* app, int created, const char* sources = "") {
    kube::core::Pod made = MakePod(name)
                               .Namespace("shop")
                               .Label("app", app)
                               .Annotation(api::kPreferredAffinitySourcesAnnotation, sources);
    made.mutable_metadata()->mutable_creation_timestamp()->set_seconds(created);
    return made;
  };
  ConfigEvidence evidence{.ns = "shop", .name = "web", .around = around, .pods = {"web", around}};
  for (const kube::core::Pod& one :
       {pod("a", "web", 200, "arm64:75:PodPlacementConfig-web"),
        pod("b", "web", 200,
            "arm64:50:PodPlacementConfig-high,arm64:75:PodPlacementConfig-web:skipped"),
        pod("c", "db", 200), pod("d", "web", 50), pod("e", "web", 200),
        pod("f", "web", 200, "arm64:75:PodPlacementConfig-web/rule"), pod("g", "db", 200)})
    evidence.pods.Add(one);
  std::vector<std::string> lines;
  for (const PodGroup& group : evidence.pods.Sorted()) {
    std::string pods;
    for (const std::string& name : group.pods) pods += name;
    lines.push_back((group.caught ? "+" : "-") + pods + ": " + group.what);
  }
  EXPECT_THAT(lines,
              ElementsAre("+af: prefer arm64 75", "-cg: are not selected: it selects app=web",
                          "-d: are older than the config: create them again",
                          HasSubstr("-e: are selected, and have nothing of it"),
                          "-b: lose arm64 75 to PodPlacementConfig high"));
  const std::string text = WhyConfig(evidence);
  EXPECT_THAT(text, HasSubstr("PodPlacementConfig shop/web has given something to 2 of 7 pods\n"));
  EXPECT_THAT(text, HasSubstr("selects   app=web\n"
                              "problem   Available is False: NotReady: 0 of 1\n"));
  EXPECT_THAT(text, HasSubstr("2 pods    prefer arm64 75: a, f\n"));
  EXPECT_EQ(WhyConfigAsJson(evidence)["groups"].size(), 5u);
}

// Users choose how many pods there are, and what is written in their annotations.
TEST(WhyConfigTest, GroupsAreBounded) {
  auto around = std::make_shared<NamespaceEvidence>();
  around->configs = {api::MakeConfig("web", "shop").Prefer("arm64", 75)};
  PodGroups groups("web", around);
  constexpr size_t kPods = 2'000;
  for (size_t i = 0; i < kPods; ++i)
    groups.Add(MakePod("pod-" + std::to_string(i))
                   .Annotation(api::kPreferredAffinitySourcesAnnotation,
                               "a" + std::to_string(i) + ":1:PodPlacementConfig-web"));
  std::vector<PodGroup> sorted = groups.Sorted();
  EXPECT_EQ(sorted.size(), PodGroups::kMaxGroups + 1);
  size_t pods = 0, names = 0;
  for (const PodGroup& group : sorted) {
    pods += group.count;
    names = std::max(names, group.pods.size());
  }
  EXPECT_EQ(pods, kPods);
  EXPECT_EQ(names, PodGroups::kMaxNames);
}

}  // namespace
}  // namespace plugin
