// SPDX-License-Identifier: Apache-2.0
#include "sim/world/cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/types/kinds.h"
#include "kube/types/object_fields.h"
#include "placement/gate.h"
#include "scheduling-policies/scheduling_policy.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Json;
using kube::MakePod;
using kube::Result;
using kube::core::Pod;
using testing::HasSubstr;

constexpr char kAnn[] = "ann";
constexpr char kShop[] = "shop";
constexpr kube::Resource kConfigs = kube::ResourceOf<api::PodPlacementConfig>::value;
constexpr kube::Resource kClusterConfigs = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;

class ClusterTest : public testing::Test {
 protected:
  ClusterTest() {
    world().CreateNamespaces({kShop});
    world().registries().Set("r.io/app:1", {"amd64", "arm64"});
    kube::core::Node node;
    node.mutable_metadata()->set_name("node");
    (*node.mutable_metadata()->mutable_labels())[std::string(api::kArchLabel)] = "amd64";
    world().admin().Create(node);
    world().Pass(30s);
  }
  World& world() { return cluster_.world(); }

  std::string Condition(const kube::Resource& resource, const kube::ObjectKey& key) {
    std::optional<Json> object = world().admin().GetJson(resource, key);
    if (!object) return "deleted";
    return kube::ConditionStatus(*object, "Available");
  }
  // Passes time until it holds, for some minutes at most.
  bool Await(const std::function<bool()>& condition) {
    for (int i = 0; i < 300 && !condition(); ++i) world().Pass(1s);
    return condition();
  }
  bool BringUpCluster() {
    EXPECT_THAT(cluster_.Create(kAnn, kClusterConfigs, api::MakeClusterConfig().Build()), IsOk());
    return Await([this] { return Condition(kClusterConfigs, {"", "cluster"}) == "True"; });
  }
  bool BringUpShard() {
    Json config = api::MakeConfig("only", kShop).Prefer("arm64", 10).Build();
    EXPECT_THAT(cluster_.Create(kAnn, kConfigs, config), IsOk());
    return Await([this] { return Condition(kConfigs, {kShop, "only"}) == "True"; });
  }
  Result<kube::ApiResponse> CreatePod(const std::string& name) { return CreatePod(MakePod(name)); }
  Result<kube::ApiResponse> CreatePod(MakePod made) {
    Pod pod = made.Namespace(kShop).Image("r.io/app:1");
    return cluster_.Call(kAnn, {.method = kube::Method::kPost,
                                .target = kube::kPods.Path(kShop),
                                .content_type = std::string(kube::kProtobuf),
                                .accept = std::string(kube::kProtobuf),
                                .body = kube::Encode(pod)});
  }
  // Of its only preference.
  int WeightOf(const std::string& name) {
    Pod pod = *world().admin().Get<Pod>({kShop, name});
    const auto& preferred = pod.spec()
                                .affinity()
                                .node_affinity()
                                .preferred_during_scheduling_ignored_during_execution();
    return preferred.size() == 1 ? preferred[0].weight() : 0;
  }
  int Gated() {
    int gated = 0;
    for (const Pod& pod : world().admin().List<Pod>())
      gated += pod.spec().scheduling_gates_size() > 0;
    return gated;
  }

  Cluster cluster_{1, {.operators = 2}};
};

TEST_F(ClusterTest, PodsAreGatedAndReleased) {
  ASSERT_TRUE(BringUpCluster());
  ASSERT_TRUE(BringUpShard());
  Result<kube::ApiResponse> created = CreatePod("web");
  ASSERT_THAT(created, IsOk());
  Pod stored = *kube::Decode<Pod>(created->body);
  EXPECT_TRUE(placement::HasGate(stored, api::kClusterGate));
  EXPECT_TRUE(placement::HasGate(stored, api::kLocalGate));
  EXPECT_TRUE(Await([this] { return Gated() == 0; }));
  Pod released = *world().admin().Get<Pod>({kShop, "web"});
  EXPECT_TRUE(released.spec()
                  .affinity()
                  .node_affinity()
                  .has_required_during_scheduling_ignored_during_execution());
  EXPECT_EQ(WeightOf("web"), 10);
}

TEST_F(ClusterTest, PoliciesGatePods) {
  ASSERT_TRUE(BringUpCluster());
  ASSERT_TRUE(BringUpShard());
  world().admin().PatchJson(kClusterConfigs, {"", "cluster"}, {{"spec", {{"gating", "Policy"}}}});
  ASSERT_TRUE(Await(
      [this] { return world().admin().ListJson(kube::kMutatingWebhookConfigurations).empty(); }));
  Result<kube::ApiResponse> created = CreatePod("web");
  ASSERT_THAT(created, IsOk());
  Pod stored = *kube::Decode<Pod>(created->body);
  EXPECT_TRUE(placement::HasGate(stored, api::kClusterGate));
  EXPECT_TRUE(placement::HasGate(stored, api::kLocalGate));
  EXPECT_EQ(stored.metadata().annotations().at(std::string(api::kLocalConfigsAnnotation)), "only");
  EXPECT_TRUE(Await([this] { return Gated() == 0; }));
}

TEST_F(ClusterTest, RulesPreferForThePodsThatTheyMatch) {
  ASSERT_TRUE(BringUpCluster());
  Json config = api::MakeConfig("only", kShop).Prefer("arm64", 10).Build();
  Json platform = {{"architecture", "arm64"}, {"weight", 50}};
  config["spec"]["celRules"] = Json::array(
      {{{"name", "big"}, {"expression", "big"}, {"platforms", Json::array({platform})}}});
  ASSERT_THAT(cluster_.Create(kAnn, kConfigs, config), IsOk());
  ASSERT_TRUE(Await([this] { return Condition(kConfigs, {kShop, "only"}) == "True"; }));
  ASSERT_THAT(CreatePod(MakePod("web").Annotation("kind", "big")), IsOk());
  ASSERT_THAT(CreatePod("other"), IsOk());
  EXPECT_TRUE(Await([this] { return Gated() == 0; }));
  EXPECT_EQ(WeightOf("web"), 50);
  EXPECT_EQ(WeightOf("other"), 10);
}

TEST_F(ClusterTest, ConfigsAreValidated) {
  Json config = api::MakeConfig("only", kShop).Prefer("arm64", 10).Build();
  EXPECT_THAT(cluster_.Create(kAnn, kConfigs, config),
              FailsWith(Code::kInvalid, HasSubstr("ClusterPodPlacementConfig")));
  ASSERT_TRUE(BringUpCluster());
  EXPECT_THAT(cluster_.Create(kAnn, kConfigs, config), IsOk());
  EXPECT_THAT(cluster_.Call(kAnn, {.method = kube::Method::kDelete,
                                   .target = kClusterConfigs.Path("", "cluster")}),
              FailsWith(Code::kPermissionDenied));
}

TEST_F(ClusterTest, NothingIsLeftOfDeletedConfigs) {
  ASSERT_TRUE(BringUpCluster());
  ASSERT_TRUE(BringUpShard());
  EXPECT_FALSE(cluster_.Processes("shard/shop/").empty());
  ASSERT_THAT(cluster_.Call(
                  kAnn, {.method = kube::Method::kDelete, .target = kConfigs.Path(kShop, "only")}),
              IsOk());
  EXPECT_TRUE(
      Await([this] { return world().admin().ListJson(kube::kDeployments, kShop).empty(); }));
  ASSERT_THAT(cluster_.Call(kAnn, {.method = kube::Method::kDelete,
                                   .target = kClusterConfigs.Path("", "cluster")}),
              IsOk());
  EXPECT_TRUE(Await([this] { return Condition(kClusterConfigs, {"", "cluster"}) == "deleted"; }));
  EXPECT_TRUE(Await([this] { return cluster_.Processes("") == cluster_.Processes("operator/"); }));
  EXPECT_TRUE(world().admin().ListJson(kube::kMutatingWebhookConfigurations).empty());
}

TEST_F(ClusterTest, ADeletedNamespaceTakesItsContent) {
  ASSERT_TRUE(BringUpCluster());
  ASSERT_TRUE(BringUpShard());
  ASSERT_THAT(CreatePod("web"), IsOk());
  world().admin().DeleteJson(kube::kNamespaces, {"", kShop});
  EXPECT_TRUE(Await([this] { return !world().admin().GetJson(kube::kNamespaces, {"", kShop}); }));
  EXPECT_TRUE(world().admin().ListJson(kube::kPods, kShop).empty());
  EXPECT_TRUE(Await([this] {
    return world().admin().ListJson(kube::kMutatingWebhookConfigurations).size() == 1;
  }));
}

TEST_F(ClusterTest, TheOperatorsNamespaceTakesAllItsObjects) {
  ASSERT_TRUE(BringUpCluster());
  ASSERT_TRUE(BringUpShard());
  ASSERT_THAT(CreatePod("web"), IsOk());
  world().admin().DeleteJson(kube::kNamespaces, {"", "operator"});
  EXPECT_TRUE(Await([this] {
    return !world().admin().GetJson(kube::kNamespaces, {"", "operator"});
  }));
  EXPECT_EQ(Gated(), 0);
  EXPECT_TRUE(Await([this] { return cluster_.Processes("operator/").empty(); }));
  EXPECT_TRUE(
      Await([this] { return world().admin().ListJson(kube::kDeployments, kShop).empty(); }));
  EXPECT_TRUE(world().admin().ListJson(kube::kMutatingWebhookConfigurations).empty());
}

TEST_F(ClusterTest, PoliciesApplyToNewPods) {
  ASSERT_TRUE(BringUpCluster());
  Json plugin = {{"schedulingPolicies", {{"enabled", true}}}};
  world().admin().PatchJson(kClusterConfigs, {"", "cluster"}, {{"spec", {{"plugins", plugin}}}});
  Json fast = {{"kind", "PodSchedulingPolicy"},
               {"apiVersion", policy::kPodSchedulingPolicies.ApiVersion()},
               {"metadata", {{"name", "fast"}, {"namespace", kShop}}},
               {"spec", {{"podSelector", Json::object()}, {"schedulerName", "fast"}}}};
  ASSERT_THAT(cluster_.Create(kAnn, policy::kPodSchedulingPolicies, fast), IsOk());
  int made = 0;
  EXPECT_TRUE(Await([this, &made] {
    std::string name = "pod-" + std::to_string(made++);
    EXPECT_THAT(CreatePod(name), IsOk());
    return world().admin().Get<Pod>({kShop, name})->spec().scheduler_name() == "fast";
  }));
  EXPECT_GT(made, 1) << "the webhook needs some seconds to start";
}

TEST_F(ClusterTest, AnUpgradeOfTheOperatorReplacesTheOperands) {
  ASSERT_TRUE(BringUpCluster());
  ASSERT_TRUE(BringUpShard());
  Json own =
      *world().admin().GetJson(kube::kDeployments, {"operator", "multiarch-tuning-operator"});
  own["spec"]["template"]["spec"]["containers"][0]["image"] = "r.io/operator:2";
  world().admin().UpdateJson(kube::kDeployments, own);
  EXPECT_TRUE(Await([this] {
    for (const Json& pod : world().admin().ListJson(kube::kPods)) {
      std::string image = pod["spec"]["containers"][0]["image"];
      if (!image.ends_with(":2")) return false;
    }
    return Condition(kConfigs, {kShop, "only"}) == "True";
  }));
}

TEST_F(ClusterTest, AKilledOperandIsRestarted) {
  ASSERT_TRUE(BringUpCluster());
  for (Process* process : cluster_.Processes("cluster-controller/")) process->Kill();
  EXPECT_TRUE(Await([this] { return Condition(kClusterConfigs, {"", "cluster"}) != "True"; }));
  EXPECT_TRUE(Await([this] { return Condition(kClusterConfigs, {"", "cluster"}) == "True"; }));
}

// What is committed by whom; certificates differ, and what is made of them.
std::vector<std::string> CommitsOf(uint64_t seed) {
  Cluster cluster(seed, {.operators = 2});
  World& world = cluster.world();
  std::vector<std::string> commits;
  world.store().Observe([&commits](const kube::StoreCommit& commit) {
    commits.push_back(commit.verb + " " + commit.collection + " " + commit.key.ToString() + " by " +
                      commit.caller.user);
  });
  world.CreateNamespaces({kShop});
  world.Pass(30s);
  EXPECT_THAT(cluster.Create(kAnn, kClusterConfigs, api::MakeClusterConfig().Build()), IsOk());
  world.faults().Begin({.kind = FaultKind::kLostReplies, .of = "", .once_in = 10});
  Json config = api::MakeConfig("only", kShop).Prefer("arm64", 10).Build();
  kube::IgnoreError(cluster.Create(kAnn, kConfigs, config), "it may be refused");
  world.Pass(2min);
  return commits;
}

TEST(ClusterOfSeedTest, ASeedGivesTheSameCommits) {
  std::vector<std::string> commits = CommitsOf(3);
  EXPECT_GT(commits.size(), 100u);
  EXPECT_EQ(CommitsOf(3), commits);
  EXPECT_NE(CommitsOf(4), commits);
}

TEST_F(ClusterTest, OperandsAreNotGated) {
  ASSERT_TRUE(BringUpCluster());
  ASSERT_TRUE(BringUpShard());
  for (const Pod& pod : world().admin().List<Pod>()) {
    EXPECT_EQ(pod.spec().scheduling_gates_size(), 0) << pod.metadata().name();
    EXPECT_FALSE(pod.metadata().labels().contains(std::string(api::kClusterGateLabel)));
  }
}

}  // namespace
}  // namespace sim
