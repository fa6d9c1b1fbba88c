// SPDX-License-Identifier: Apache-2.0
// Opting out of placement, by the label of a pod, by the label of a namespace, and by a scheduler
// that the ClusterPodPlacementConfig excludes: such pods are never gated, whether webhooks or
// policies gate the others, and no pod that was gated before stays gated.
#include "e2e/flows/gating_cases.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"
#include "kube/types/list_at.h"

namespace e2e {
namespace {

const std::string kExclude(api::kExcludeLabel);

// By what pods are gated.
class OptingOutFlow : public FlowFixture, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    if (GetParam() == std::string("Policy")) {
      if (std::string why = WhyNoGatingPolicies(); !why.empty()) GTEST_SKIP() << why;
    }
    auto used = UseClusterConfig(
        DefaultClusterConfig()
            .Set("/spec/gating", GetParam())
            .Set("/spec/excludedSchedulerNames", Json::array({"other", kExcludedScheduler})));
    ASSERT_TRUE(used) << used.error();
  }

  PodBuilder Pod(const std::string& name) { return MakePod(name).Image(Image("demo/multi:1")); }
  // By its author.
  PodBuilder GatedPod(const std::string& name) {
    Json gates = Json::array();
    for (std::string_view gate : {api::kClusterGate, api::kLocalGate})
      gates.push_back({{"name", std::string(gate)}});
    return Pod(name).Set("/spec/schedulingGates", gates);
  }

  // Sets the label of the scene's namespace that opts out; null removes it.
  Step SetLabel(Json value) {
    return Change(kNamespaces, scene().ns(),
                  {{"metadata", {{"labels", {{kExclude, std::move(value)}}}}}});
  }

  // Never gated, and never changed by this product.
  static Condition LeftUnchanged(const std::string& pod) {
    return {
        "pod " + pod + " is left unchanged", [pod](Scene& scene) -> kube::Result<> {
          const PodHistory* history = scene.pods().Find(pod);
          if (history == nullptr) return kube::Error::NotFound("the pod");
          for (const PodEvent& event : history->events) {
            bool changed = IsGated(event.pod) || kube::Find(event.pod, "spec.affinity") != nullptr;
            for (const auto& [key, value] : kube::ObjectAt(event.pod, "metadata.labels").items())
              changed |= key.starts_with(api::kLabelPrefix) && key != kExclude;
            if (changed) return kube::Error::Invalid(kube::DumpJson(event.pod));
          }
          return kube::Ok();
        }};
  }
  // Webhook configurations and policies have the names of the schedulers.
  Condition SchedulerIsExcluded() {
    Json pod = Pod("probe").Set("/spec/schedulerName", kExcludedScheduler).Build();
    return {"pods of the excluded scheduler are not gated", [pod](Scene& scene) -> kube::Result<> {
              kube::Result<Json> created = scene.CreateInADryRun(kPods, pod);
              if (!created) return created.error();
              if (IsGated(*created)) return kube::Error::Unavailable("they are");
              return kube::Ok();
            }};
  }
  static Condition IsOnANode(const std::string& pod) {
    return OfPod(pod, "is on a node", [](const Json& pod) { return !NodeOf(pod).empty(); });
  }
  // Its gates were removed, and nothing was added.
  static Condition OnlyUngated(const std::string& pod) {
    return OfPod(pod, "has lost its gates alone", [](const Json& pod) {
      return !IsGated(pod) && kube::Find(pod, "spec.affinity") == nullptr;
    });
  }
};

TEST_P(OptingOutFlow, APodOptsOutByItsLabelOrItsScheduler) {
  const std::string ignored(api::kReasonGatedPodIgnored);
  Flow(scene(), "pods that opt out")
      .Do(Create(MakeConfig("only").Prefer("arm64", 33)))
      .Await(ShardReady())
      .Await(SchedulerIsExcluded())
      .Do(Create(Pod("labelled").Label(kExclude, "")))
      .Do(Create(Pod("any-value").Label(kExclude, "false")))
      .Do(Create(Pod("scheduled").Set("/spec/schedulerName", kExcludedScheduler)))
      .Do(Create(MakeDeployment("many", Pod("").Label(kExclude, "true")).Replicas(3)))
      .Do(Create(GatedPod("gated-labelled").Label(kExclude, "")))
      .Do(Create(GatedPod("gated-scheduled").Set("/spec/schedulerName", kExcludedScheduler)))
      .Do(Create(Pod("other-scheduler").Set("/spec/schedulerName", "e2e.example.com")))
      .Do(Create(Pod("placed")))
      .Await(IsOnANode("labelled"))
      .Await(IsOnANode("any-value"))
      .Await(RolledOut("many"))
      .Await(OnlyUngated("gated-labelled"))
      .Await(EventAbout("gated-labelled", ignored))
      .Await(Ungated("gated-scheduled"))
      .Await(EventAbout("gated-scheduled", ignored))
      .Await(Requires("other-scheduler", {"amd64", "arm64", "ppc64le", "s390x"}))
      .Await(Requires("placed", {"amd64", "arm64", "ppc64le", "s390x"}))
      .Check(Prefers("placed", {{"arm64", 33}}))
      .Check(LeftUnchanged("labelled"))
      .Check(LeftUnchanged("any-value"))
      .Check(LeftUnchanged("scheduled"))
      .Never(ClusterGateRemovedBeforeLocal());
  for (const PodHistory* pod : scene().pods().All()) {
    if (pod->name.starts_with("many-")) Flow(scene(), "many").Check(LeftUnchanged(pod->name));
  }
}

// Its pods wait for an image that does not exist.
TEST_P(OptingOutFlow, AGatedPodThatIsLabelledIsReleasedAtOnce) {
  Json label = {{"metadata", {{"labels", {{kExclude, ""}}}}}};
  Flow(scene(), "a gated pod opts out")
      .Do(Create(MakeConfig("only").Prefer("arm64", 33)))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/missing:1"))))
      .Await(ClusterGated("web"))
      .Do(Change(kPods, "web", label))
      .Await(Ungated("web"))
      .Await(EventAbout("web", std::string(api::kReasonGatedPodIgnored)));
}

TEST_P(OptingOutFlow, ANamespaceOptsOutAndReturns) {
  Flow flow(scene(), "a namespace opts out and returns");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 33)))
      .Await(ShardReady())
      // Some of them are gated at that time, one for longer (I3).
      .Do(Create(MakePod("waiting").Image(Image("demo/missing:1"))))
      .Do(Create(MakeDeployment("many", Pod("")).Replicas(20)))
      .Do(SetLabel("false"))
      .Await(HasStatusCondition(kConfigs, "only", "Available", "False", "NamespaceNotSelected"))
      .Await(HasStatusCondition(kConfigs, "only", "Available", "False", kExclude))
      .Await(ShardRemoved())
      .Do(Create(Pod("outside")))
      .Do(Create(GatedPod("gated-outside")))
      .Await(IsOnANode("outside"))
      .Check(LeftUnchanged("outside"))
      .Await(OnlyUngated("gated-outside"))
      .Await(AllUngated(23))
      .Never(ClusterGateRemovedBeforeLocal())
      .Do(SetLabel(nullptr))
      .Await(ShardReady())
      .Do(Create(Pod("inside")))
      .Await(Prefers("inside", {{"arm64", 33}}))
      .Check(Requires("inside", {"amd64", "arm64", "ppc64le", "s390x"}));
}

INSTANTIATE_TEST_SUITE_P(By, OptingOutFlow, testing::Values("Webhook", "Policy"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace e2e
