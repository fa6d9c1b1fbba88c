// SPDX-License-Identifier: Apache-2.0
// A namespace that the namespaceSelector of the ClusterPodPlacementConfig does not select: its
// PodPlacementConfigs have no shard, and its pods get no requirement.
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

class SelectedNamespacesFlow : public FlowFixture {
 protected:
  // Sets the label of the scene's namespace that the selector requires; null removes it.
  Step SetLabel(Json value) {
    return Change(kNamespaces, scene().ns(),
                  {{"metadata", {{"labels", {{kSceneLabel, std::move(value)}}}}}});
  }
};

TEST_F(SelectedNamespacesFlow, ANamespaceThatIsNotSelectedHasNoShard) {
  Flow flow(scene(), "a namespace leaves the selector and returns");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 33)))
      .Await(ShardReady())
      // Pods that wait for the shard at that time.
      .Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(20)))
      .Do(SetLabel(nullptr))
      .Await(HasStatusCondition(kConfigs, "only", "Available", "False", "NamespaceNotSelected"))
      .Await(HasStatusCondition(kConfigs, "only", "Available", "False", kSceneLabel))
      .Await(ShardRemoved())
      .Await(AllUngated(20))
      .Do(Create(MakePod("outside").Image(Image("demo/multi:1"))))
      .Await(OfPod("outside", "is on a node", [](const Json& pod) { return !NodeOf(pod).empty(); }))
      .Never(ClusterGateRemovedBeforeLocal());
  if (flow.failed()) return;
  EXPECT_FALSE(IsGated(scene().pods().Find("outside")->events.front().pod));
  EXPECT_TRUE(PreferencesOf(scene().pods().Find("outside")->last()).empty());

  flow.Do(SetLabel("true"))
      .Await(ShardReady())
      .Await(HasStatusCondition(kConfigs, "only", "Available", "True"))
      .Do(Create(MakePod("inside").Image(Image("demo/multi:1"))))
      .Await(Prefers("inside", {{"arm64", 33}}))
      .Await(Requires("inside", {"amd64", "arm64", "ppc64le", "s390x"}));
}

}  // namespace
}  // namespace e2e
