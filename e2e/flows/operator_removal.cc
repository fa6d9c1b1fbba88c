// SPDX-License-Identifier: Apache-2.0
// I7 for the operator itself: its namespace is deleted while everything is at work. Integration
// tier only, as the operator has to come back for the flows after this one.
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/flows/process_conditions.h"
#include "e2e/framework/flow_test.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

class OperatorRemovalFlow : public FlowTest {};

TEST_F(OperatorRemovalFlow, WithItsNamespaceLeavesNothingBehind) {
  const std::string ops = cluster().operator_namespace();
  const std::string config(api::kClusterConfigName);
  const std::string operator_name = "multiarch-tuning-operator";
  ProcessKubelet& kubelet = TheProcessCluster().kubelet();
  Flow flow(scene(), "the operator's namespace goes");
  flow.Await(NoConfigAnywhere())
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady());
  // One pod waits for tries to inspect an image that is not there, the other for a shard that does
  // not come.
  kubelet.HoldImage("shard", scene().ns(), true);
  flow.Do(DeletePods(std::string(api::kOperandLabel) + "=shard"))
      .Await(NoProcessOf("shard"))
      .Do(Create(MakePod("uninspected").Image(Image("demo/nowhere:1"))))
      .Do(Create(MakePod("unsharded").Image(Image("demo/multi:1"))))
      .Await(ClusterGated("uninspected"))
      .Await(ClusterGated("unsharded"))
      .Do(Delete(kNamespaces, ops))
      .Await(Ungated("uninspected"))
      .Await(Ungated("unsharded"))
      .Await(Gone(kNamespaces, ops), 120s)
      .Await(
          Gone(kMutatingWebhookConfigurations, std::string(api::kMutatingWebhookConfigurationName)))
      .Await(Gone(kValidatingWebhookConfigurations,
                  "multiarch-tuning-operator-validating-webhook-configuration"))
      .Await(Gone(kClusterRoles, operator_name))
      .Await(Gone(kClusterRoleBindings, operator_name))
      .Await(ShardGone())
      // What is the users' own is there, and nobody holds on to it.
      .Check(Exists(kConfigs, "only"))
      .Check(Exists(kClusterConfigs, config))
      .Do(Delete(kConfigs, "only"))
      .Await(Gone(kConfigs, "only"))
      .Do(Delete(kClusterConfigs, config))
      .Await(Gone(kClusterConfigs, config))
      .Do(Create(MakePod("after").Image(Image("demo/multi:1"))))
      .Await(OfPod("after", "is on a node", [](const Json& pod) { return !NodeOf(pod).empty(); }))
      .Never(ClusterGateGoesBeforeLocal());
  kubelet.HoldImage("shard", scene().ns(), false);

  auto deployed = TheProcessCluster().DeployOperator();
  ASSERT_TRUE(deployed) << deployed.error();
}

}  // namespace
}  // namespace e2e
