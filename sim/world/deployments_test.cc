// SPDX-License-Identifier: Apache-2.0
// Deployments of a world: their pods run a process that does nothing.
#include "sim/cluster/deployments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "kube/types/kinds.h"
#include "kube/types/object_fields.h"
#include "sim/world/world.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Json;

constexpr char kShop[] = "shop";
const kube::ObjectKey kWeb{kShop, "web"};

kube::Async<> Idle(Life& life) {
  co_await kube::IgnoreCancellation();
  co_await life.app().WaitForStop();
  co_return kube::Ok();
}

class DeploymentsTest : public testing::Test {
 protected:
  DeploymentsTest() {
    world_.store().Observe(
        [this](const kube::StoreCommit& commit) { deployments_.OnCommit(commit); });
    world_.CreateNamespaces({kShop});
  }

  Json Web(int replicas, const std::string& image) {
    Json pod = {{"containers", Json::array({{{"name", "c"}, {"image", image}}})}};
    return {{"kind", "Deployment"},
            {"metadata", {{"name", kWeb.name}, {"namespace", kWeb.ns}}},
            {"spec",
             {{"replicas", replicas},
              {"template", {{"metadata", {{"labels", {{"a", "b"}}}}}, {"spec", pod}}}}}};
  }
  void Create(int replicas) {
    world_.admin().CreateJson(kube::kDeployments, Web(replicas, "r.io/web:1"));
  }
  Json Stored() { return *world_.admin().GetJson(kube::kDeployments, kWeb); }
  int64_t Available() { return kube::IntAt(Stored(), "status.availableReplicas"); }
  std::set<std::string> Images() {
    std::set<std::string> images;
    for (const Json& pod : world_.admin().ListJson(kube::kPods, kShop))
      images.insert(pod["spec"]["containers"][0]["image"]);
    return images;
  }

  World world_{1};
  int made_ = 0;
  Deployments deployments_{world_.loop(),
                           world_.api_server(),
                           world_.store(),
                           world_.secret_files(),
                           Random(1),
                           [this](const PodPlan& pod) -> Process& {
                             ++made_;
                             return world_.AddProcess({pod.key.name, "web"}, Idle);
                           }};
};

TEST_F(DeploymentsTest, RunsAndReportsItsReplicas) {
  Create(2);
  world_.Pass(1min);
  EXPECT_EQ(made_, 2);
  EXPECT_EQ(deployments_.Processes().size(), 2u);
  EXPECT_EQ(Available(), 2);
  EXPECT_EQ(kube::ConditionStatus(Stored(), "Available"), "True");
  EXPECT_EQ(kube::IntAt(Stored(), "status.observedGeneration"),
            kube::IntAt(Stored(), "metadata.generation"));
  // At rest, nothing is written.
  const uint64_t version = world_.store().resource_version();
  world_.Pass(10min);
  EXPECT_EQ(world_.store().resource_version(), version);
}

TEST_F(DeploymentsTest, RestartsAProcessThatEnds) {
  Create(1);
  world_.Pass(1min);
  Process* process = deployments_.Processes().at(0);
  process->Kill();
  world_.Pass(1s);
  EXPECT_EQ(Available(), 0);
  EXPECT_EQ(kube::ConditionStatus(Stored(), "Available"), "False");
  world_.Pass(1min);
  EXPECT_NE(process->life(), nullptr);
  EXPECT_EQ(Available(), 1);
  EXPECT_EQ(made_, 1);
}

TEST_F(DeploymentsTest, ReplacesPodsOfAnOlderTemplateOneByOne) {
  Create(2);
  world_.Pass(1min);
  Json changed = Stored();
  changed["spec"] = Web(2, "r.io/web:2")["spec"];
  world_.admin().UpdateJson(kube::kDeployments, changed);
  for (int i = 0; i < 60; ++i) {
    world_.Pass(1s);
    EXPECT_GE(Available(), 2);
  }
  EXPECT_THAT(Images(), testing::ElementsAre("r.io/web:2"));
  EXPECT_EQ(deployments_.Processes().size(), 2u);
}

TEST_F(DeploymentsTest, StopsTheProcessesOfADeletedOne) {
  Create(2);
  world_.Pass(1min);
  world_.admin().DeleteJson(kube::kDeployments, kWeb);
  world_.Pass(1min);
  EXPECT_TRUE(deployments_.Processes().empty());
  EXPECT_TRUE(Images().empty());
}

TEST_F(DeploymentsTest, APodThatIsDeletedIsReplaced) {
  Create(1);
  world_.Pass(1min);
  const std::string name =
      kube::StringAt(world_.admin().ListJson(kube::kPods, kShop).at(0), "metadata.name");
  world_.admin().DeleteJson(kube::kPods, {kShop, name});
  world_.Pass(1min);
  EXPECT_EQ(made_, 2);
  EXPECT_EQ(Available(), 1);
}

TEST_F(DeploymentsTest, AGatedPodAndOneWithoutItsSecretWait) {
  Json web = Web(1, "r.io/web:1");
  web["spec"]["template"]["spec"]["volumes"] =
      Json::array({{{"name", "files"}, {"secret", {{"secretName", "files"}}}}});
  world_.admin().CreateJson(kube::kDeployments, web);
  world_.Pass(1min);
  EXPECT_EQ(made_, 0);
  kube::core::Secret secret;
  secret.mutable_metadata()->set_name("files");
  secret.mutable_metadata()->set_namespace_(kShop);
  world_.admin().Create(secret);
  world_.Pass(1min);
  EXPECT_EQ(made_, 1);
  web["spec"]["template"]["spec"]["schedulingGates"] = Json::array({{{"name", "example.com/g"}}});
  Json changed = Stored();
  changed["spec"] = web["spec"];
  world_.admin().UpdateJson(kube::kDeployments, changed);
  world_.Pass(1min);
  EXPECT_EQ(made_, 1);
}

TEST_F(DeploymentsTest, AFailedCreationIsReported) {
  world_.api_server().Crash();
  Create(1);
  world_.Pass(10s);
  EXPECT_EQ(kube::ConditionStatus(Stored(), "ReplicaFailure"), "True");
  world_.api_server().Start();
  world_.Pass(1min);
  EXPECT_EQ(Available(), 1);
  EXPECT_EQ(kube::ConditionStatus(Stored(), "ReplicaFailure"), "");
}

}  // namespace
}  // namespace sim
