// SPDX-License-Identifier: Apache-2.0
// I7 for the operator itself: its namespace is deleted while pods are gated and a shard runs.
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/flows/process_conditions.h"
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

class OperatorRemovalFlow : public FlowFixture {};

TEST_F(OperatorRemovalFlow, WithItsNamespaceLeavesNothingBehind) {
  const std::string ops = cluster().operator_namespace();
  const std::string config(api::kClusterConfigName);
  const std::string operator_name = "multiarch-tuning-operator";
  ProcessKubelet& kubelet = TheProcessCluster().kubelet();
  Flow flow(scene(), "the operator's namespace is deleted");
  flow.Await(NoConfigAnywhere())
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady());
  // One pod waits for the inspection of an image that does not exist, the other for a shard that
  // does not start.
  kubelet.FailImagePulls("shard", scene().ns(), true);
  flow.Do(DeletePods(std::string(api::kOperandLabel) + "=shard"))
      .Await(NoProcessOf("shard"))
      .Do(Create(MakePod("uninspected").Image(Image("demo/nowhere:1"))))
      .Do(Create(MakePod("unsharded").Image(Image("demo/multi:1"))))
      .Await(ClusterGated("uninspected"))
      .Await(ClusterGated("unsharded"))
      .Do(Delete(kNamespaces, ops))
      .Await(Ungated("uninspected"))
      .Await(Ungated("unsharded"))
      .Await(Absent(kNamespaces, ops), 120s)
      .Await(Absent(kMutatingWebhookConfigurations,
                    std::string(api::kMutatingWebhookConfigurationName)))
      .Await(Absent(kValidatingWebhookConfigurations,
                    "multiarch-tuning-operator-validating-webhook-configuration"))
      .Await(Absent(kClusterRoles, operator_name))
      .Await(Absent(kClusterRoleBindings, operator_name))
      .Await(ShardRemoved())
      // The users' own objects are kept, without finalizers.
      .Check(Exists(kConfigs, "only"))
      .Check(Exists(kClusterConfigs, config))
      .Do(Delete(kConfigs, "only"))
      .Await(Absent(kConfigs, "only"))
      .Do(Delete(kClusterConfigs, config))
      .Await(Absent(kClusterConfigs, config))
      .Do(Create(MakePod("after").Image(Image("demo/multi:1"))))
      .Await(OfPod("after", "is on a node", [](const Json& pod) { return !NodeOf(pod).empty(); }))
      .Never(ClusterGateRemovedBeforeLocal());
  kubelet.FailImagePulls("shard", scene().ns(), false);

  auto deployed = TheProcessCluster().DeployOperator();
  ASSERT_TRUE(deployed) << deployed.error();
}

}  // namespace
}  // namespace e2e
