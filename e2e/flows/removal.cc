// SPDX-License-Identifier: Apache-2.0
// I7: deleting configs and namespaces, in any order, leaves no gated pod and no object of the
// operator behind, and does not block the deletion of a namespace.
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

class RemovalFlow : public FlowFixture {};

const std::string kCluster(api::kClusterConfigName);

TEST_F(RemovalFlow, OfTheClustersConfigUngatesWaitingPods) {
  Flow flow(scene(), "the cluster's config is deleted while a pod is gated");
  flow.Await(NoConfigAnywhere())
      // Waits for the inspection of an image that does not exist.
      .Do(Create(MakePod("waiting").Image(Image("demo/nowhere:1"))))
      .Await(ClusterGated("waiting"))
      .Do(Delete(kClusterConfigs, kCluster))
      .Await(Absent(kClusterConfigs, kCluster))
      .Check(Ungated("waiting"))
      .Await(Absent(kMutatingWebhookConfigurations,
                    std::string(api::kMutatingWebhookConfigurationName)))
      .Do(Create(MakePod("after").Image(Image("demo/multi:1"))))
      .Await(OfPod("after", "is on a node", [](const Json& pod) { return !NodeOf(pod).empty(); }));
  if (flow.failed()) return;
  EXPECT_FALSE(IsGated(scene().pods().Find("after")->events.front().pod));
}

TEST_F(RemovalFlow, OfTheLastConfigUngatesPodsThatWaitForTheShard) {
  Flow(scene(), "the last config is deleted while a pod has the local gate")
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(30)))
      .Do(Delete(kConfigs, "only"))
      .Await(ShardRemoved())
      .Await(AllUngated(30))
      .Await(RolledOut("many"))
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
}

// The namespace is deleted while its shard runs.
TEST_F(RemovalFlow, OfTheNamespaceIsNeverBlocked) {
  std::string ns = scene().ns();
  Flow(scene(), "the namespace is deleted")
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(10)))
      .Do(Create(MakePod("lost").Image(Image("demo/nowhere:1"))))
      .Do(Delete(kNamespaces, ns))
      .Await(Absent(kNamespaces, ns))
      .Await(Absent(kMutatingWebhookConfigurations, api::ShardWebhookConfigurationName(ns)));
}

// A config with the name of a config that was just deleted works.
TEST_F(RemovalFlow, OfAConfigAndItsImmediateRecreation) {
  Flow flow(scene(), "a config is deleted and created again");
  for (int round = 0; round < 5; ++round) {
    flow.Do(Create(MakeConfig("flicker").Prefer("arm64", 10 + round)))
        .Do(Delete(kConfigs, "flicker"));
  }
  flow.Do(Create(MakeConfig("flicker").Prefer("arm64", 99)))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 99}}))
      .Do(Delete(kConfigs, "flicker"))
      .Await(ShardRemoved());
}

}  // namespace
}  // namespace e2e
