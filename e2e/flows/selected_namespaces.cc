// SPDX-License-Identifier: Apache-2.0
// The namespaceSelector of the ClusterPodPlacementConfig and the PodPlacementConfigs of a namespace
// that it does not select, where nobody sets the requirement of a pod.
#include "e2e/framework/flow_test.h"

namespace e2e {
namespace {

class SelectedNamespacesFlow : public FlowTest {
 protected:
  // Of the scene's namespace, which the selector asks for; null removes it.
  Step SetLabel(Json value) {
    return Change(kNamespaces, scene().ns(),
                  {{"metadata", {{"labels", {{kSceneLabel, std::move(value)}}}}}});
  }
};

TEST_F(SelectedNamespacesFlow, ANamespaceThatIsNotSelectedHasNoShard) {
  Flow flow(scene(), "a namespace leaves the selector and returns");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 33)))
      .Await(ShardReady())
      // Pods that wait for the shard at that moment.
      .Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(20)))
      .Do(SetLabel(nullptr))
      .Await(Says(kConfigs, "only", "Available", "False", "NamespaceNotSelected"))
      .Await(Says(kConfigs, "only", "Available", "False", kSceneLabel))
      .Await(ShardGone())
      .Await(AllUngated(20))
      .Do(Create(MakePod("outside").Image(Image("demo/multi:1"))))
      .Await(OfPod("outside", "is on a node", [](const Json& pod) { return !NodeOf(pod).empty(); }))
      .Never(ClusterGateGoesBeforeLocal());
  if (flow.failed()) return;
  EXPECT_FALSE(IsGated(scene().pods().Find("outside")->events.front().pod));
  EXPECT_TRUE(PreferencesOf(scene().pods().Find("outside")->last()).empty());

  flow.Do(SetLabel("true"))
      .Await(ShardReady())
      .Await(Says(kConfigs, "only", "Available", "True"))
      .Do(Create(MakePod("inside").Image(Image("demo/multi:1"))))
      .Await(Prefers("inside", {{"arm64", 33}}))
      .Await(Requires("inside", {"amd64", "arm64", "ppc64le", "s390x"}));
}

}  // namespace
}  // namespace e2e
