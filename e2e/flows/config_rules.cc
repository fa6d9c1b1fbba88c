// SPDX-License-Identifier: Apache-2.0
// The rules of PodPlacementConfigs: existence, priority, selection and precedence. Quotations are
// from the functional test plan, Phase 1, of the PodPlacementConfig enhancement.
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

class ConfigRulesFlow : public FlowFixture {};

const std::string kCluster(api::kClusterConfigName);

// "The operator should refuse the creation of a namespace-scoped PodPlacementConfig CRD if the
// cluster-scoped ClusterPodPlacementConfig CRD is not present."
TEST_F(ConfigRulesFlow, AConfigNeedsTheClustersConfig) {
  Flow(scene(), "a config needs the cluster's config")
      .Await(NoConfigAnywhere())
      .Do(Delete(kClusterConfigs, kCluster))
      .Await(Absent(kClusterConfigs, kCluster))
      .Refused(Create(MakeConfig("orphan").Prefer("arm64", 10)), {"ClusterPodPlacementConfig"})
      .Check(Absent(kConfigs, "orphan"));
}

// "The operator should refuse the deletion of the cluster-scoped ClusterPodPlacementConfig CRD if
// there are any namespace-scoped PodPlacementConfig CRDs in the cluster."
TEST_F(ConfigRulesFlow, TheClustersConfigIsNotDeletedBeforeTheLastConfig) {
  Flow(scene(), "the cluster's config is not deleted before the last config")
      .Do(Create(MakeConfig("keeper").Prefer("arm64", 10)))
      .Refused({.name = "delete the cluster's config",
                .act = [](Scene& scene) { return scene.Delete(kClusterConfigs, kCluster); }},
               {"PodPlacementConfig"})
      .Check(Exists(kClusterConfigs, kCluster))
      .Await(ClusterConfigReady())
      .Do(Delete(kConfigs, "keeper"))
      .Await(Absent(kConfigs, "keeper"))
      .Await(ShardRemoved());
}

// "The pod placement controller should apply the configuration defined by the namespace-scoped
// PodPlacementConfig CRD to the pods in the selected namespaces, and the cluster-scoped
// ClusterPodPlacementConfig configuration for preferred affinities should be ignored": for the
// architectures that the namespace's config names.
TEST_F(ConfigRulesFlow, ANamespacesPreferenceWinsOverTheClusters) {
  auto used = UseClusterConfig(DefaultClusterConfig().Prefer("arm64", 90).Prefer("s390x", 5));
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
TEST_F(ConfigRulesFlow, TheHighestPriorityWins) {
  Flow(scene(), "the highest priority wins")
      .Do(Create(MakeConfig("low").Priority(1).Prefer("arm64", 11).Prefer("s390x", 12)))
      .Do(Create(MakeConfig("high").Priority(200).Prefer("arm64", 99)))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 99}, {"s390x", 12}}))
      .Await(EventAbout("web", std::string(api::kReasonPreferredDuplicates)));
}

// "No PPC with the same priority should be allowed in the same namespace."
TEST_F(ConfigRulesFlow, APriorityIsUniqueInItsNamespace) {
  auto other = Scene::Make(cluster(), "other", Json::object());
  ASSERT_TRUE(other) << other.error();
  Flow(scene(), "a priority is unique")
      .Do(Create(MakeConfig("first").Priority(7).Prefer("arm64", 10)))
      .Refused(Create(MakeConfig("second").Priority(7).Prefer("amd64", 10)), {"priority", "first"})
      .Do(Create(MakeConfig("third").Priority(8).Prefer("amd64", 10)))
      .Refused(Change(kConfigs, "third", {{"spec", {{"priority", 7}}}}), {"priority", "first"})
      // An update with the same priority does not conflict with the config itself.
      .Do(Change(kConfigs, "third", {{"metadata", {{"labels", {{"touched", "yes"}}}}}}));
  Flow(**other, "priorities of other namespaces do not conflict")
      .Do(Create(MakeConfig("first").Priority(7).Prefer("arm64", 10)));
}

// "If the priority field is omitted, the operator should default to 0."
TEST_F(ConfigRulesFlow, PriorityDefaultsToZero) {
  Flow(scene(), "priority defaults to 0")
      .Do(Create(MakeConfig("silent").Prefer("arm64", 10)))
      .Refused(Create(MakeConfig("zero").Priority(0).Prefer("arm64", 10)), {"priority"});
  auto config = scene().Get(kConfigs, "silent");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ(kube::IntAt(*config, "spec.priority", -1), 0);
}

// "The pod placement controller should not process a pod with the configuration of the
// namespace-scoped PodPlacementConfig CRD if the pod does not match its label selector."
TEST_F(ConfigRulesFlow, APodThatDoesNotMatchIsNotChanged) {
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
