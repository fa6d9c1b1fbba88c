// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"
#include "plugin/simulate/simulate_config.h"
#include "plugin/simulate/simulate_pod.h"
#include "plugin/simulate/simulation_text.h"

namespace plugin {
namespace {

using kube::MakePod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SimulateTest : public ::testing::Test {
 protected:
  SimulateTest() {
    around_->ns.emplace().mutable_metadata()->set_name("shop");
    around_->cluster_config = api::MakeClusterConfig();
    around_->nodes = {Node("a", "amd64"), Node("b", "arm64")};
  }

  static placement::NodeView Node(const std::string& name, const std::string& architecture) {
    return {.name = name,
            .labels = {{std::string(api::kArchLabel), architecture},
                       {std::string(api::kOsLabel), "linux"}}};
  }
  static PodImage Image(const std::vector<std::string>& architectures) {
    placement::ImagePlatforms platforms;
    for (const std::string& architecture : architectures)
      platforms.platforms.push_back({"linux", architecture});
    return {"r.io/app:1", std::make_shared<const placement::ImagePlatforms>(platforms), "known"};
  }
  static Subject Deployment(const std::string& name, const std::string& app) {
    return {"Deployment", MakePod(name).Namespace("shop").Label("app", app).Image("r.io/app:1")};
  }

  std::shared_ptr<NamespaceEvidence> around_ = std::make_shared<NamespaceEvidence>();
};

TEST_F(SimulateTest, APodThatRuns) {
  around_->configs = {api::MakeConfig("web", "shop").Prefer("arm64", 75).ForLabel("app", "web")};
  Outcome outcome = SimulatePod(Deployment("web", "web"), around_, {Image({"arm64"})});
  EXPECT_TRUE(outcome.would_run);
  EXPECT_THAT(outcome.gates, ElementsAre(api::kClusterGate, api::kLocalGate));
  EXPECT_EQ(outcome.nodes->fitting, 1u);
  ASSERT_EQ(outcome.preferences.size(), 1u);
  EXPECT_EQ(outcome.preferences[0].architecture, "arm64");
  EXPECT_EQ(outcome.cause.name, "");
  EXPECT_TRUE(outcome.pod.spec().scheduling_gates().empty());
  const std::string text = Say(outcome);
  EXPECT_THAT(text, HasSubstr("requires  In arm64\n"));
  EXPECT_THAT(text, HasSubstr("config    web (priority 0): it selects the pod\n"));
  EXPECT_THAT(text, HasSubstr("result    would run\n"));
}

TEST_F(SimulateTest, APodThatDoesNotRun) {
  struct Row {
    const char* name;
    std::vector<PodImage> images;
    const char* cause;
  };
  const Row rows[] = {
      {"no node", {Image({"s390x"})}, "NoNodeOfArchitecture"},
      {"nothing in common", {Image({"amd64"}), Image({"arm64"})}, "NoCommonArchitecture"},
      {"an unknown image", {{"r.io/app:1", nullptr, "no such host"}}, "RegistryUnreachable"},
  };
  for (const Row& row : rows) {
    Outcome outcome = SimulatePod(Deployment("web", "web"), around_, row.images);
    EXPECT_FALSE(outcome.would_run) << row.name;
    EXPECT_EQ(outcome.cause.name, row.cause) << row.name << Say(outcome);
  }
}

TEST_F(SimulateTest, APodThatIsLeftAlone) {
  around_->cluster_config = std::nullopt;
  around_->has_no_cluster_config = true;
  Outcome outcome = SimulatePod(Deployment("web", "web"), around_, {Image({"arm64"})});
  EXPECT_EQ(outcome.cause.name, "NoClusterPodPlacementConfig");
  EXPECT_THAT(outcome.gates, IsEmpty());
  EXPECT_TRUE(outcome.would_run);
}

TEST_F(SimulateTest, WithoutTheRightToReadTheClusterConfigItsDefaultsCount) {
  around_->cluster_config = std::nullopt;
  Outcome outcome = SimulatePod(Deployment("web", "web"), around_, {Image({"s390x"})});
  EXPECT_THAT(outcome.gates, ElementsAre(api::kClusterGate));
  EXPECT_FALSE(outcome.would_run);
}

TEST_F(SimulateTest, ADaemonSetOnNodesThatItsImagesAreNotFor) {
  Subject agent{"DaemonSet", MakePod("agent")
                                 .Namespace("shop")
                                 .Image("r.io/app:1")
                                 .Owner("apps/v1", "DaemonSet", "agent")};
  Outcome outcome = SimulatePod(agent, around_, {Image({"amd64"})});
  EXPECT_FALSE(outcome.would_run);
  EXPECT_THAT(outcome.unsupported_nodes, ElementsAre("b (linux/arm64)"));
  EXPECT_THAT(Say(outcome), HasSubstr("crashes   on b (linux/arm64)\n"));
  EXPECT_TRUE(SimulatePod(agent, around_, {Image({"amd64", "arm64"})}).would_run);
}

TEST_F(SimulateTest, AConfig) {
  around_->configs = {api::MakeConfig("low", "shop").Priority(1).Prefer("arm64", 10),
                      api::MakeConfig("web", "shop").Priority(2).Prefer("s390x", 1)};
  const std::vector<Subject> workloads = {Deployment("web", "web"), Deployment("db", "db")};
  api::PodPlacementConfig config =
      api::MakeConfig("web", "shop").Priority(3).Prefer("arm64", 75).ForLabel("app", "web");
  ConfigOutcome outcome = SimulateConfig(config, *around_, workloads);
  EXPECT_EQ(outcome.problem, "");
  ASSERT_EQ(outcome.selected.size(), 1u);
  EXPECT_EQ(outcome.selected[0].before, "s390x 1, arm64 10");
  EXPECT_EQ(outcome.selected[0].after, "arm64 75");
  EXPECT_THAT(outcome.others, ElementsAre("Deployment shop/db: it selects app=web"));

  api::PodPlacementConfig taken = api::MakeConfig("new", "shop").Priority(1).Prefer("arm64", 75);
  outcome = SimulateConfig(taken, *around_, workloads);
  EXPECT_EQ(outcome.problem, "the PodPlacementConfig low has the priority 1");
}

}  // namespace
}  // namespace plugin
