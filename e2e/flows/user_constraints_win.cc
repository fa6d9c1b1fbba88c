// SPDX-License-Identifier: Apache-2.0
// I5: constraints and preferences set by the user win.
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

class UserConstraintsFlow : public FlowFixture {
 protected:
  // Deploys a shard whose config selects every pod.
  void SetUp() override {
    FlowFixture::SetUp();
    if (HasFatalFailure()) return;
    Flow(scene(), "a config for all pods")
        .Do(Create(MakeConfig("all").Prefer("arm64", 50)))
        .Await(ShardReady());
  }
};

const std::string kArch(api::kArchLabel);

TEST_F(UserConstraintsFlow, AnArchitectureInTheNodeSelectorIsKept) {
  Flow(scene(), "nodeSelector")
      .Do(Create(MakePod("fixed").Image(Image("demo/multi:1")).NodeSelector(kArch, "s390x")))
      .Await(Ungated("fixed"))
      .Check(OfPod("fixed", "has no requirement of the operator",
                   [](const Json& pod) { return RequirementsOf(pod).empty(); }))
      .Check(Labelled("fixed", std::string(api::kNodeAffinityLabel), "not-set"))
      // Preferences still apply.
      .Check(Prefers("fixed", {{"arm64", 50}}))
      .Await(ScheduledOn("fixed", {"s390x"}));
}

TEST_F(UserConstraintsFlow, AnArchitectureInARequiredTermIsKept) {
  Flow(scene(), "required term")
      .Do(Create(MakePod("fixed").Image(Image("demo/multi:1")).Require(kArch, {"ppc64le"})))
      .Await(Requires("fixed", {"ppc64le"}))
      .Await(ScheduledOn("fixed", {"ppc64le"}));
}

TEST_F(UserConstraintsFlow, OfTwoTermsOnlyTheOneWithoutArchitectureIsCompleted) {
  Flow(scene(), "two terms")
      .Do(Create(MakePod("two")
                     .Image(Image("demo/arm64-amd64:1"))
                     .Require(kArch, {"s390x"})
                     .Require(std::string(api::kOsLabel), {"linux"})))
      .Await(OfPod("two", "has the first term as it was and the second completed",
                   [](const Json& pod) {
                     return RequirementsOf(pod) ==
                            std::vector<std::vector<std::string>>{{"s390x"}, {"amd64", "arm64"}};
                   }))
      .Await(ScheduledOn("two", {"amd64", "arm64"}));
}

TEST_F(UserConstraintsFlow, PreferencesOfThePodReplaceThoseOfConfigs) {
  Flow(scene(), "preference of the pod")
      .Do(Create(MakePod("mine").Image(Image("demo/multi:1")).Prefer("s390x", 7)))
      .Await(Prefers("mine", {{"s390x", 7}}))
      .Check(Annotated("mine", std::string(api::kPreferredAffinitySourcesAnnotation),
                       "arm64:50:PodPlacementConfig-all:skipped"));
}

// Ignored pods: bound pods, pods of DaemonSets, and control-plane pods.
TEST_F(UserConstraintsFlow, BoundPodsAreIgnored) {
  auto nodes = scene().List(kNodes);
  ASSERT_TRUE(nodes) << nodes.error();
  std::string node = kube::StringAt(nodes->front(), "metadata.name");
  Flow(scene(), "bound pods")
      .Do(Create(MakePod("bound").Image(Image("demo/amd64:1")).Set("/spec/nodeName", node)))
      .Await(
          OfPod("bound", "is on its node", [node](const Json& pod) { return NodeOf(pod) == node; }))
      .Never(HadGate());
}

TEST_F(UserConstraintsFlow, PodsOfADaemonSetAreIgnored) {
  Json daemon_set = MakeDeployment("agents", MakePod("").Image(Image("demo/multi:1"))).Build();
  daemon_set["kind"] = "DaemonSet";
  daemon_set["spec"].erase("replicas");
  Flow(scene(), "pods of a DaemonSet")
      .Do(Create(kDaemonSets, daemon_set))
      .Await(AllUngated(2))
      .Never(HadGate());
}

TEST_F(UserConstraintsFlow, ControlPlanePodsAreIgnored) {
  Flow(scene(), "control-plane pods")
      .Do(Create(MakePod("cp")
                     .Image(Image("demo/multi:1"))
                     .NodeSelector("node-role.kubernetes.io/control-plane", "")))
      .Await(OfPod("cp", "is there", [](const Json&) { return true; }))
      .Never(HadGate());
}

// Pods that require architectures, in a namespace without a config; the cluster's config has no
// preferences.
class ArchitectureGivenFlow : public FlowFixture {
 protected:
  PodBuilder BySelector(const std::string& name) {
    return MakePod(name).Image(Image("demo/multi:1")).NodeSelector(kArch, "s390x");
  }
  PodBuilder ByTerms(const std::string& name) {
    return MakePod(name)
        .Image(Image("demo/multi:1"))
        .Require(kArch, {"arm64", "amd64"})
        .Require(kArch, {"ppc64le"});
  }
};

// The API server adds the cluster gate to such a pod, in a dry run.
Condition IsGatedOnCreation(const PodBuilder& pod) {
  return {.name = "a pod that requires architectures gets the cluster gate",
          .holds = [pod](Scene& scene) -> kube::Result<> {
            kube::ApiRequest request{.method = kube::Method::kPost,
                                     .target = kPods.Path(scene.ns()) + "?dryRun=All",
                                     .content_type = std::string(kube::kJson),
                                     .body = kube::DumpJson(pod.Build())};
            auto answer = scene.cluster().Run(scene.cluster().client().Call(std::move(request)));
            if (!answer) return answer.error();
            if (answer->body.find(R"("schedulingGates":[)") != std::string::npos) return kube::Ok();
            return kube::Error::NotFound("it has no gate");
          }};
}

TEST_F(ArchitectureGivenFlow, AreNotGatedWithoutPreferences) {
  Flow(scene(), "architecture required by the user")
      .Do(Create(BySelector("selector")))
      .Do(Create(ByTerms("terms")))
      .Await(ScheduledOn("selector", {"s390x"}))
      .Await(ScheduledOn("terms", {"arm64", "amd64", "ppc64le"}))
      .Never(HadGate());
}

// I4: the shard never starts, so the cluster controller applies its config.
TEST_F(ArchitectureGivenFlow, GetThePreferencesOfAConfigWithoutAShard) {
  Json quota = {
      {"apiVersion", "v1"}, {"kind", "ResourceQuota"}, {"metadata", {{"name", "no-deployments"}}}};
  quota["spec"]["hard"] = {{"count/deployments.apps", "0"}};
  Flow(scene(), "architecture required by the user, shard missing")
      .Do(Create(kResourceQuotas, quota))
      .Do(Create(MakeConfig("all").Prefer("arm64", 50)))
      .Await(IsGatedOnCreation(ByTerms("probe")))
      .Do(Create(ByTerms("terms")))
      .Await(Prefers("terms", {{"arm64", 50}}))
      .Check(Labelled("terms", std::string(api::kNodeAffinityLabel), "not-set"))
      .Never(HadLocalGate());
}

TEST_F(ArchitectureGivenFlow, GetThePreferencesOfTheClustersConfig) {
  auto used = UseClusterConfig(DefaultClusterConfig().Prefer("arm64", 50));
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "architecture required by the user, preference of the cluster's config")
      .Await(IsGatedOnCreation(ByTerms("probe")))
      .Do(Create(ByTerms("terms")))
      .Await(Prefers("terms", {{"arm64", 50}}));
}

}  // namespace
}  // namespace e2e
