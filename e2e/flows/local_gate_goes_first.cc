// SPDX-License-Identifier: Apache-2.0
// I1 and I2, and the seed's Phase 2: two gates, the local one first, each with its work in one
// write.
#include "e2e/framework/flow_test.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;

class LocalGateFlow : public FlowTest {};

TEST_F(LocalGateFlow, GoesFirst) {
  Flow flow(scene(), "local gate goes first");
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
      .Await(LandsOn("web", {"arm64"}))
      .Never(CameWithoutClusterGate())
      .Never(ClusterGateGoesBeforeLocal())
      .Never(GateAndItsWorkGoApart());
  if (flow.failed()) return;
  // That the pod really had a local gate is what makes the rules above mean something.
  EXPECT_TRUE(HasGate(scene().pods().Find("web")->events.front().pod, api::kLocalGate));
}

// Every event of 200 pods from creation, made as fast as a ReplicaSet makes them.
TEST_F(LocalGateFlow, GoesFirstForTwoHundredPodsAtOnce) {
  constexpr int kPods = 200;
  Flow flow(scene(), "two hundred pods");
  flow.Do(Create(MakeConfig("ppc-first").ForLabel("app", "many").Prefer("ppc64le", 100)))
      .Await(ShardReady())
      .Do(Create(MakeDeployment("many", MakePod("").Image(Image("demo/multi:1"))).Replicas(kPods)))
      .Await(AllUngated(kPods))
      .Never(CameWithoutClusterGate())
      .Never(ClusterGateGoesBeforeLocal())
      .Never(GateAndItsWorkGoApart());
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

// The seed: "The cluster pod placement controller should not process a pod and remove the related
// scheduling gate until the local scheduling gate is removed". A local gate that no shard of ours
// serves is made by hand.
TEST_F(LocalGateFlow, HoldsTheClusterGateBack) {
  Flow(scene(), "local gate holds the cluster gate back")
      .Do(Create(MakePod("held")
                     .Image(Image("demo/multi:1"))
                     .Set("/spec/schedulingGates", {{{"name", api::kLocalGate}}})))
      .Await(ClusterGated("held"))
      .Stays(ClusterGated("held"), 2s)
      .Do(Change(kPods, "held", {{"spec", {{"schedulingGates", {{{"name", api::kClusterGate}}}}}}}))
      .Await(Ungated("held"))
      .Await(Requires("held", {"amd64", "arm64", "ppc64le", "s390x"}))
      .Never(ClusterGateGoesBeforeLocal());
}

// A shard serves its own namespace alone.
TEST_F(LocalGateFlow, IsOnlyWhereAConfigIs) {
  auto other = Scene::Make(cluster(), "no-config", Json::object());
  ASSERT_TRUE(other) << other.error();
  Flow(scene(), "config in one namespace")
      .Do(Create(MakeConfig("here").Prefer("arm64", 50)))
      .Await(ShardReady());
  Flow(**other, "no config in the other")
      .Do(Create(MakePod("plain").Image(Image("demo/multi:1"))))
      .Await(Prefers("plain", {}))
      .Never(HadLocalGate())
      .Check(Gone(kDeployments, std::string(api::kShardControllerName)));
}

}  // namespace
}  // namespace e2e
