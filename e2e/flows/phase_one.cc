// SPDX-License-Identifier: Apache-2.0
// The functional test plan of the PodPlacementConfig enhancement, Phase 1, bullet by bullet.
#include "e2e/framework/flow_test.h"

namespace e2e {
namespace {

class PhaseOneFlow : public FlowTest {};

const std::string kCluster(api::kClusterConfigName);

// "The operator should refuse the creation of a namespace-scoped PodPlacementConfig CRD if the
// cluster-scoped ClusterPodPlacementConfig CRD is not present."
TEST_F(PhaseOneFlow, NoConfigWithoutTheClusters) {
  Flow(scene(), "no config without the cluster's")
      .Await(NoConfigAnywhere())
      .Do(Delete(kClusterConfigs, kCluster))
      .Await(Gone(kClusterConfigs, kCluster))
      .Refused(Create(MakeConfig("orphan").Prefer("arm64", 10)), {"ClusterPodPlacementConfig"})
      .Check(Gone(kConfigs, "orphan"));
}

// "The operator should refuse the deletion of the cluster-scoped ClusterPodPlacementConfig CRD if
// there are any namespace-scoped PodPlacementConfig CRDs in the cluster."
TEST_F(PhaseOneFlow, TheClustersConfigStaysWhileAConfigIsThere) {
  Flow(scene(), "the cluster's config stays")
      .Do(Create(MakeConfig("keeper").Prefer("arm64", 10)))
      .Refused({.name = "delete the cluster's config",
                .act = [](Scene& scene) { return scene.Delete(kClusterConfigs, kCluster); }},
               {"PodPlacementConfig"})
      .Check(Exists(kClusterConfigs, kCluster))
      .Await(ClusterConfigReady())
      .Do(Delete(kConfigs, "keeper"))
      .Await(Gone(kConfigs, "keeper"))
      .Await(ShardGone());
}

// "The pod placement controller should apply the configuration defined by the namespace-scoped
// PodPlacementConfig CRD to the pods in the selected namespaces, and the cluster-scoped
// ClusterPodPlacementConfig configuration for preferred affinities should be ignored": for the
// architectures that the namespace's config names.
TEST_F(PhaseOneFlow, ANamespacesPreferenceWinsOverTheClusters) {
  auto used = UseClusterConfig(UsualClusterConfig().Prefer("arm64", 90).Prefer("s390x", 5));
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "a namespace's preference wins")
      .Do(Create(MakeConfig("own").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}, {"s390x", 5}}))
      .Check(Annotated("web", std::string(api::kPreferredAffinitySourcesAnnotation),
                       "arm64:10:PodPlacementConfig-own,arm64:90:ClusterPodPlacementConfig:skipped,"
                       "s390x:5:ClusterPodPlacementConfig"));
}

// "... the highest-priority namespace-scoped PodPlacementConfig CRD to pods matching multiple
// PodPlacementConfig CRDs in the same namespace."
TEST_F(PhaseOneFlow, TheHighestPriorityWins) {
  Flow(scene(), "the highest priority wins")
      .Do(Create(MakeConfig("low").Priority(1).Prefer("arm64", 11).Prefer("s390x", 12)))
      .Do(Create(MakeConfig("high").Priority(200).Prefer("arm64", 99)))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 99}, {"s390x", 12}}))
      .Await(EventAbout("web", std::string(api::kReasonPreferredDuplicates)));
}

// "No PPC with the same priority should be allowed in the same namespace."
TEST_F(PhaseOneFlow, OnePriorityOneConfig) {
  auto other = Scene::Make(cluster(), "other", Json::object());
  ASSERT_TRUE(other) << other.error();
  Flow(scene(), "one priority, one config")
      .Do(Create(MakeConfig("first").Priority(7).Prefer("arm64", 10)))
      .Refused(Create(MakeConfig("second").Priority(7).Prefer("amd64", 10)), {"priority", "first"})
      .Do(Create(MakeConfig("third").Priority(8).Prefer("amd64", 10)))
      .Refused(Change(kConfigs, "third", {{"spec", {{"priority", 7}}}}), {"priority", "first"})
      // A change that leaves the priority alone is no clash with itself.
      .Do(Change(kConfigs, "third", {{"metadata", {{"labels", {{"touched", "yes"}}}}}}));
  Flow(**other, "another namespace has priorities of its own")
      .Do(Create(MakeConfig("first").Priority(7).Prefer("arm64", 10)));
}

// "If the priority field is omitted, the operator should default to 0."
TEST_F(PhaseOneFlow, PriorityDefaultsToZero) {
  Flow(scene(), "priority defaults to 0")
      .Do(Create(MakeConfig("silent").Prefer("arm64", 10)))
      .Refused(Create(MakeConfig("zero").Priority(0).Prefer("arm64", 10)), {"priority"});
  auto config = scene().Get(kConfigs, "silent");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(kube::IntAt(*config, "spec.priority", -1), 0);
}

// "The pod placement controller should not process a pod with the configuration of the
// namespace-scoped PodPlacementConfig CRD if the pod does not match its label selector."
TEST_F(PhaseOneFlow, APodThatDoesNotMatchIsLeftAlone) {
  Flow(scene(), "a pod that does not match")
      .Do(Create(MakeConfig("web-only").ForLabel("tier", "web").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Create(MakePod("db").Label("tier", "db").Image(Image("demo/multi:1"))))
      .Await(Prefers("db", {}))
      .Check(Requires("db", {"amd64", "arm64", "ppc64le", "s390x"}))
      .Never(HadLocalGate())
      .Do(Create(MakePod("web").Label("tier", "web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}));
}

}  // namespace
}  // namespace e2e
