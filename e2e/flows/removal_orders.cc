// SPDX-License-Identifier: Apache-2.0
// I7 for every order of removal: with 100 gated pods, whatever is deleted first leaves no gated pod
// and no object of the operator, and blocks no deletion. Where the operator can no longer finish,
// `undeploy` does.
#include "e2e/cluster_harness/operator_objects.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/stop_programs.h"
#include "e2e/framework/all_objects.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

const std::string kCluster(api::kClusterConfigName);
const std::string kOperator = "multiarch-tuning-operator";
constexpr size_t kGatedPods = 100;

enum Target {
  kConfig,
  kClusterConfig,
  kConfigCrd,
  kClusterConfigCrd,
  kOperatorDeployment,
  kSceneNamespace,
  kOperatorNamespace,
  kAllManifests,  // as `kubectl delete --filename=install.yaml`
  kUndeploy,      // the tool
};

struct Order {
  const char* name;
  std::vector<Target> targets;
  const char* gating = "Webhook";
};

void PrintTo(const Order& order, std::ostream* out) { *out << order.name; }

bool Includes(const Order& order, Target target) {
  return std::find(order.targets.begin(), order.targets.end(), target) != order.targets.end();
}

class RemovalOrdersFlow : public FlowFixture {
 protected:
  void TearDown() override {
    StartPrograms(stopped_);
    FlowFixture::TearDown();
    auto deployed = TheProcessCluster().DeployOperator();
    ASSERT_TRUE(deployed) << deployed.error();
  }

  // Half of the pods wait for a shard that does not run, for longer than any flow; the others for
  // the inspection of an image that does not exist.
  void CreateGatedPods(Flow& flow, const std::string& gating) {
    auto used = UseClusterConfig(DefaultClusterConfig()
                                     .Set("/spec/gating", gating)
                                     .Set("/spec/shardTakeoverAfter", "1h")
                                     .Set("/spec/inspectionRetryPeriod", "20s"));
    ASSERT_TRUE(used) << used.error();
    flow.Do(e2e::Create(MakeConfig("only").ForLabel("tier", "local").Prefer("arm64", 10)))
        .Await(ShardReady());
    const std::vector<ProgramIn> shard = {{"shard", scene().ns()}};
    stopped_.push_back(shard.front());
    PodBuilder pod = MakePod("").Image(Image("demo/nowhere:1"));
    PodBuilder local = MakePod("").Image(Image("demo/multi:1")).Label("tier", "local");
    flow.Do(StopPrograms(shard))
        .Await(NoProcessOf(shard))
        .Do(e2e::Create(MakeDeployment("cluster", pod).Replicas(kGatedPods / 2)))
        .Do(e2e::Create(MakeDeployment("local", local).Replicas(kGatedPods / 2)))
        .Await({"100 pods are gated", [](Scene& scene) -> Result<> {
                  size_t gated = 0;
                  for (const PodHistory* pod : scene.pods().All()) gated += IsGated(pod->last());
                  if (gated == kGatedPods) return Ok();
                  return Error::NotFound(std::to_string(gated) + " are");
                }});
  }

  void Remove(Flow& flow, Target target) {
    const std::string ops = cluster().operator_namespace();
    auto delete_crd = [](const Resource& of) {
      return Delete(kube::kCustomResourceDefinitions,
                    std::string(of.plural) + "." + std::string(of.group));
    };
    switch (target) {
      case kConfig:
        flow.Do(Delete(kConfigs, "only"));
        return;
      case kClusterConfig:
        // Refused until the operator has seen that there is no config any more, and while the API
        // server calls an operator that does not run: until garbage collection has deleted the
        // webhook configuration, or until `undeploy`.
        flow.Await({"the ClusterPodPlacementConfig may be deleted", [this](Scene& scene) {
                      Result<> deleted = scene.Delete(kClusterConfigs, kCluster);
                      bool left_to_undeploy = !operator_runs_ && !namespace_deleted_;
                      if (IsNotFound(deleted) || left_to_undeploy) return Result<>(Ok());
                      return deleted;
                    }});
        return;
      case kConfigCrd:
        flow.Do(delete_crd(kConfigs));
        return;
      case kClusterConfigCrd:
        flow.Do(delete_crd(kClusterConfigs));
        return;
      case kOperatorDeployment:
        operator_runs_ = false;
        flow.Do({"delete the operator's Deployment", [ops](Scene& scene) {
                   return scene.cluster().Run(kube::DeleteObject(scene.cluster().client(),
                                                                 kDeployments, {ops, kOperator}));
                 }});
        flow.Await({"no operator runs", [ops](Scene&) -> Result<> {
                      if (TheProcessCluster().kubelet().OfProgram("operator", ops).empty())
                        return Ok();
                      return Error::AlreadyExists("an operator");
                    }});
        return;
      case kSceneNamespace:
        flow.Do(Delete(kNamespaces, scene().ns())).Await(Absent(kNamespaces, scene().ns()));
        return;
      case kOperatorNamespace:
        operator_runs_ = false;
        namespace_deleted_ = true;
        flow.Do(Delete(kNamespaces, ops)).Await(Absent(kNamespaces, ops), 120s);
        return;
      case kAllManifests:
        operator_runs_ = false;
        flow.Do(
            {"delete the manifests", [](Scene&) { return TheProcessCluster().DeleteManifests(); }});
        return;
      case kUndeploy:
        operator_runs_ = false;
        flow.Do({"undeploy", [](Scene&) { return TheProcessCluster().UndeployOperator(); }});
        return;
    }
  }

  Condition NoPodIsGated() {
    return {"no pod is gated", [](Scene& scene) -> Result<> {
              for (const PodHistory* pod : scene.pods().All()) {
                if (IsGated(pod->last()) && !pod->deleted())
                  return Error::AlreadyExists("pod " + pod->name + " is gated");
              }
              return Ok();
            }};
  }
  // Except the operator itself if it still runs. After `undeployed` the CRDs are gone, too.
  Condition NoObjectIsLeft(bool undeployed) {
    OperatorObjectsOptions options{.operator_runs = operator_runs_, .with_manifests = undeployed};
    return {"no object of the operator is left", [options](Scene&) -> Result<> {
              Result<std::string> left = ObjectsOfOperator(TheProcessCluster(), options);
              if (!left) return left.error();
              if (left->empty()) return Ok();
              return Error::AlreadyExists(*left);
            }};
  }

  bool operator_runs_ = true;
  bool namespace_deleted_ = false;
  std::vector<ProgramIn> stopped_;
};

class RemovalOrderFlow : public RemovalOrdersFlow, public testing::WithParamInterface<Order> {
 protected:
  void SetUp() override {
    RemovalOrdersFlow::SetUp();
    if (GetParam().gating == std::string("Policy")) {
      if (std::string why = WhyNoGatingPolicies(); !why.empty()) GTEST_SKIP() << why;
    }
  }
};

TEST_P(RemovalOrderFlow, LeavesNothing) {
  const Order& order = GetParam();
  Flow flow(scene(), order.name);
  flow.Await(NoConfigAnywhere());
  CreateGatedPods(flow, order.gating);
  if (flow.failed() || HasFailure()) return;

  for (Target target : order.targets) Remove(flow, target);
  flow.Await(NoPodIsGated(), 120s)
      .Never(ClusterGateRemovedBeforeLocal())
      .Await(Absent(kMutatingWebhookConfigurations,
                    std::string(api::kMutatingWebhookConfigurationName)))
      .Await(NoObjectIsLeft(Includes(order, kUndeploy)))
      // The user's own objects have no finalizer any more.
      .Await(Absent(kConfigs, "only"))
      .Await(Absent(kClusterConfigs, kCluster));
  if (!Includes(order, kSceneNamespace)) Remove(flow, kSceneNamespace);
}

INSTANTIATE_TEST_SUITE_P(
    Orders, RemovalOrderFlow,
    testing::Values(
        Order{"ConfigFirst", {kConfig, kClusterConfig}},
        Order{"NamespaceFirst", {kSceneNamespace, kClusterConfig}},
        Order{"CrdsFirst", {kConfigCrd, kClusterConfigCrd}},
        Order{"ClusterConfigCrdFirst", {kClusterConfigCrd, kConfigCrd}},
        Order{"OperatorNamespaceFirst", {kOperatorNamespace, kConfig, kClusterConfig}},
        Order{"OperatorFirst", {kOperatorDeployment, kClusterConfig, kUndeploy}},
        Order{"OperatorConfigNamespace",
              {kOperatorDeployment, kConfig, kSceneNamespace, kUndeploy}},
        Order{"AllManifestsAtOnce", {kAllManifests, kUndeploy}}, Order{"Undeploy", {kUndeploy}},
        Order{"ByPolicyConfigFirst", {kConfig, kClusterConfig}, "Policy"},
        Order{"ByPolicyNamespaceFirst", {kSceneNamespace, kClusterConfig}, "Policy"},
        Order{"ByPolicyOperatorNamespaceFirst",
              {kOperatorNamespace, kConfig, kClusterConfig},
              "Policy"},
        Order{"ByPolicyOperatorFirst", {kOperatorDeployment, kClusterConfig, kUndeploy}, "Policy"}),
    [](const auto& info) { return std::string(info.param.name); });

using UndeployFlow = RemovalOrdersFlow;

// Every object of every kind is the same before `deploy` and after `undeploy`.
TEST_F(UndeployFlow, LeavesTheObjectsOfTheApiServerAsTheyWere) {
  Flow flow(scene(), "deploy and undeploy");
  // Waits until the namespaces of earlier flows are gone.
  auto settled = Condition{"no other scene is left", [](Scene& scene) -> Result<> {
                             auto scenes = scene.List(kNamespaces, kSceneLabel);
                             if (!scenes) return scenes.error();
                             if (scenes->size() == 1) return Ok();
                             return Error::AlreadyExists(std::to_string(scenes->size()) + " are");
                           }};
  flow.Await(settled);
  Remove(flow, kUndeploy);
  flow.Await(NoObjectIsLeft(/*undeployed=*/true));
  if (flow.failed()) return;
  Result<Objects> before = AllObjects(cluster());
  ASSERT_TRUE(before) << before.error();
  for (const auto& [name, object] : *before) {
    EXPECT_EQ(kube::DumpJson(object).find(std::string(api::kGroup)), std::string::npos)
        << name << " has traces of the operator: " << object;
  }

  flow.Do({"deploy", [](Scene&) { return TheProcessCluster().DeployOperator(); }});
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/globalPullSecretRef/name", "all"));
  ASSERT_TRUE(used) << used.error();
  flow.Do(e2e::Create(MakeConfig("only").Prefer("arm64", 10))).Await(ShardReady());
  Remove(flow, kUndeploy);
  if (flow.failed()) return;
  flow.Await({"the objects are as before", [&before](Scene& scene) -> Result<> {
                Result<Objects> after = AllObjects(scene.cluster());
                if (!after) return after.error();
                std::string difference = Difference(*before, *after);
                if (difference.empty()) return Ok();
                return Error::Conflict(difference);
              }});
}

}  // namespace
}  // namespace e2e
