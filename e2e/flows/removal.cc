// SPDX-License-Identifier: Apache-2.0
// I7: deleting anything, in any order, leaves no gated pod behind and nothing of ours, and blocks
// no namespace.
#include "e2e/framework/flow_test.h"

namespace e2e {
namespace {

class RemovalFlow : public FlowTest {};

const std::string kCluster(api::kClusterConfigName);

TEST_F(RemovalFlow, OfTheClustersConfigUngatesWhatWaits) {
  Flow flow(scene(), "the cluster's config goes while a pod waits");
  flow.Await(NoConfigAnywhere())
      // Waits for its tries to inspect an image that is not there.
      .Do(Create(MakePod("waiting").Image(Image("demo/nowhere:1"))))
      .Await(ClusterGated("waiting"))
      .Do(Delete(kClusterConfigs, kCluster))
      .Await(Gone(kClusterConfigs, kCluster))
      .Check(Ungated("waiting"))
      .Await(
          Gone(kMutatingWebhookConfigurations, std::string(api::kMutatingWebhookConfigurationName)))
      .Do(Create(MakePod("after").Image(Image("demo/multi:1"))))
      .Await(OfPod("after", "is on a node", [](const Json& pod) { return !NodeOf(pod).empty(); }));
  if (flow.failed()) return;
  EXPECT_FALSE(IsGated(scene().pods().Find("after")->events.front().pod));
}

TEST_F(RemovalFlow, OfTheLastConfigUngatesWhatWaitsForTheShard) {
  Flow(scene(), "the last config goes while a pod has the local gate")
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(30)))
      .Do(Delete(kConfigs, "only"))
      .Await(ShardGone())
      .Await(AllUngated(30))
      .Await(RolledOut("many"))
      .Never(ClusterGateGoesBeforeLocal())
      .Never(GateAndItsWorkGoApart());
}

// The namespace goes first, with everything in it at work.
TEST_F(RemovalFlow, OfTheNamespaceIsNeverBlocked) {
  std::string ns = scene().ns();
  Flow(scene(), "the namespace goes")
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(10)))
      .Do(Create(MakePod("lost").Image(Image("demo/nowhere:1"))))
      .Do(Delete(kNamespaces, ns))
      .Await(Gone(kNamespaces, ns))
      .Await(Gone(kMutatingWebhookConfigurations, api::ShardWebhookConfigurationName(ns)));
}

// A name that is used again finds nothing old in its way.
TEST_F(RemovalFlow, OfAConfigAndItsReturnAtOnce) {
  Flow flow(scene(), "a config comes and goes");
  for (int round = 0; round < 5; ++round) {
    flow.Do(Create(MakeConfig("flicker").Prefer("arm64", 10 + round)))
        .Do(Delete(kConfigs, "flicker"));
  }
  flow.Do(Create(MakeConfig("flicker").Prefer("arm64", 99)))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 99}}))
      .Do(Delete(kConfigs, "flicker"))
      .Await(ShardGone());
}

}  // namespace
}  // namespace e2e
