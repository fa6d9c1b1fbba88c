// SPDX-License-Identifier: Apache-2.0
// I1 and I2: of two gates the local gate is removed first, and each gate is removed by the write
// that sets its decision.
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

class LocalGateFlow : public FlowFixture {};

TEST_F(LocalGateFlow, IsRemovedFirst) {
  Flow flow(scene(), "the local gate is removed first");
  flow.Do(Create(MakeConfig("arm64-first").Priority(10).Prefer("arm64", 75).Prefer("amd64", 25)))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 75}, {"amd64", 25}}))
      .Check(Requires("web", {"amd64", "arm64", "ppc64le", "s390x"}))
      .Check(Labelled("web", std::string(api::kLocalGateLabel), "removed"))
      .Check(Labelled("web", std::string(api::kClusterGateLabel), "removed"))
      .Check(Labelled("web", std::string(api::kPreferredNodeAffinityLabel), "set"))
      .Check(Labelled("web", std::string(api::kNodeAffinityLabel), "set"))
      .Check(Labelled("web", std::string(api::kMultiArchLabel), ""))
      .Await(ScheduledOn("web", {"arm64"}))
      .Never(CreatedWithoutClusterGate())
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
  if (flow.failed()) return;
  // The rules above check nothing unless the pod had the local gate.
  EXPECT_TRUE(HasGate(scene().pods().Find("web")->events.front().pod, api::kLocalGate));
}

// Every event of 200 pods since their creation by a ReplicaSet.
TEST_F(LocalGateFlow, IsRemovedFirstForTwoHundredPodsAtOnce) {
  constexpr int kPods = 200;
  Flow flow(scene(), "two hundred pods");
  flow.Do(Create(MakeConfig("ppc-first").ForLabel("app", "many").Prefer("ppc64le", 100)))
      .Await(ShardReady())
      .Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(kPods)))
      .Await(AllUngated(kPods))
      .Never(CreatedWithoutClusterGate())
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
  if (flow.failed()) return;
  int with_local_gate = 0;
  for (const PodHistory* pod : scene().pods().All()) {
    if (LabelOf(pod->last(), "app") != "many") continue;
    with_local_gate += HasGate(pod->events.front().pod, api::kLocalGate) ? 1 : 0;
    EXPECT_EQ(PreferencesOf(pod->last()), (std::map<std::string, int>{{"ppc64le", 100}}))
        << scene().Describe(pod->name);
  }
  EXPECT_EQ(with_local_gate, kPods);
}

// "The cluster pod placement controller should not process a pod and remove the related scheduling
// gate until the local scheduling gate is removed" (PodPlacementConfig enhancement, Phase 2). The
// pod is created with a local gate that no shard serves.
TEST_F(LocalGateFlow, KeepsTheClusterGate) {
  Flow(scene(), "the local gate keeps the cluster gate")
      .Do(Create(MakePod("held")
                     .Image(Image("demo/multi:1"))
                     .Set("/spec/schedulingGates", {{{"name", api::kLocalGate}}})))
      .Await(ClusterGated("held"))
      .Stays(ClusterGated("held"), 2s)
      .Do(Change(kPods, "held", {{"spec", {{"schedulingGates", {{{"name", api::kClusterGate}}}}}}}))
      .Await(Ungated("held"))
      .Await(Requires("held", {"amd64", "arm64", "ppc64le", "s390x"}))
      .Never(ClusterGateRemovedBeforeLocal());
}

// A shard serves only its own namespace.
TEST_F(LocalGateFlow, IsAddedOnlyInNamespacesWithAConfig) {
  auto other = Scene::Make(cluster(), "no-config", Json::object());
  ASSERT_TRUE(other) << other.error();
  Flow(scene(), "config in one namespace")
      .Do(Create(MakeConfig("here").Prefer("arm64", 50)))
      .Await(ShardReady());
  Flow(**other, "no config in the other")
      .Do(Create(MakePod("plain").Image(Image("demo/multi:1"))))
      .Await(Prefers("plain", {}))
      .Never(HadLocalGate())
      .Check(Absent(kDeployments, std::string(api::kShardControllerName)));
}

}  // namespace
}  // namespace e2e
