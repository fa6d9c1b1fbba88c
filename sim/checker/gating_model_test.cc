// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/gating_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/known_images.h"
#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string kExclude(api::kExcludeLabel);

Json Controlled(Json pod, const std::string& kind) {
  pod["metadata"]["ownerReferences"] = Json::array(
      {{{"controller", true}, {"kind", kind}, {"apiVersion", "apps/v1"}, {"name", "agents"}}});
  return pod;
}

Json Selecting(Json pod, const std::string& key, const std::string& value) {
  pod["spec"]["nodeSelector"][key] = value;
  return pod;
}

std::vector<std::string> GatedBy(TestRun& run, const Json& pod, bool local = false) {
  run.CreatePod(pod, local);
  return run.Found();
}

TEST(GatesAdded, ToAnOrdinaryPod) {
  TestRun run;
  EXPECT_THAT(GatedBy(run, Pod("web")), IsEmpty()) << run.Described();
}

TEST(GatesAdded, ToPodsThatAreNeverPlaced) {
  Json bound = Pod("bound");
  bound["spec"]["nodeName"] = "node-1";
  Json system = Pod("system");
  system["metadata"]["namespace"] = "kube-system";
  Json own = Pod("own");
  own["metadata"]["namespace"] = "openshift-multiarch-tuning-operator";
  for (const Json& pod :
       {bound, own, Labelled(Pod("operand"), std::string(api::kOperandLabel), "shard"),
        Labelled(Pod("out"), kExclude),
        Selecting(Pod("plane"), "node-role.kubernetes.io/master", ""), system}) {
    TestRun run;
    EXPECT_THAT(GatedBy(run, pod), Contains("gating")) << run.Described();
  }
}

TEST(GatesAdded, ToAPodOfADaemonSet) {
  TestRun run;
  Json pod = Controlled(Pod("agent"), "DaemonSet");
  // An author may say so.
  EXPECT_THAT(GatedBy(run, pod), IsEmpty()) << run.Described();
  pod["metadata"]["name"] = "agent-2";
  run.Write("system:serviceaccount:kube-system:daemon-set-controller", "", "pods",
            Gated(pod, api::kClusterGate), "", pod);
  EXPECT_THAT(run.Found(), ElementsAre("gating")) << run.Described();
}

TEST(GatesAdded, InANamespaceThatIsNotSelected) {
  TestRun run;
  run.SetCluster({{"namespaceSelector", {{"matchLabels", {{"tier", "web"}}}}}});
  // An API server learns of it with a delay.
  EXPECT_THAT(GatedBy(run, Pod("web-1")), IsEmpty()) << run.Described();
  run.Advance(1min);
  EXPECT_THAT(GatedBy(run, Pod("web-2")), ElementsAre("gating")) << run.Described();
  run.SetNamespace("shop", {{"tier", "web"}});
  EXPECT_THAT(GatedBy(run, Pod("web-3")), ElementsAre("gating")) << run.Described();
}

TEST(GatesAdded, WithoutConfiguration) {
  TestRun run;
  run.DeleteCluster();
  run.Advance(1min);
  EXPECT_THAT(GatedBy(run, Pod("web")), ElementsAre("gating")) << run.Described();
}

TEST(GatesAdded, InANamespaceThatOptsOut) {
  TestRun run;
  run.SetNamespace("shop", {{kExclude, ""}});
  run.Advance(1min);
  EXPECT_THAT(GatedBy(run, Pod("web")), ElementsAre("gating")) << run.Described();
}

TEST(GatesAdded, InAnExcludedNamespace) {
  TestRun run;
  run.facts().excluded_prefixes = {"sh"};
  EXPECT_THAT(GatedBy(run, Pod("web-1")), ElementsAre("gating")) << run.Described();
  run.SetNamespace("shop", {{"multiarch.openshift.io/include-pod-placement", ""}});
  EXPECT_THAT(GatedBy(run, Pod("web-2")), ElementsAre("gating")) << run.Described();
}

TEST(GatesAdded, ForAnExcludedScheduler) {
  TestRun run;
  run.SetCluster({{"excludedSchedulerNames", Json::array({"batch"})}});
  run.Advance(1min);
  Json pod = Pod("web");
  pod["spec"]["schedulerName"] = "batch";
  EXPECT_THAT(GatedBy(run, pod), ElementsAre("gating")) << run.Described();
}

TEST(GatesAdded, LocallyByAConfigThatSelectsThePod) {
  TestRun run;
  Json spec = Prefers({{"arm64", 75}});
  spec["labelSelector"] = {{"matchLabels", {{"app", "web"}}}};
  run.SetConfig("arm", spec);
  EXPECT_THAT(GatedBy(run, Labelled(Pod("web-1"), "app", "web"), true), IsEmpty())
      << run.Described();
  EXPECT_THAT(GatedBy(run, Labelled(Pod("web-2"), "app", "mail"), true), ElementsAre("gating"));
}

// The operator's watch is cut, and the pod is stored long after its admission.
TEST(GatesAdded, LocallyByAConfigAsItWas) {
  TestRun run;
  run.facts().timing.watch_lag = 100s;
  run.facts().timing.admission_lag = 70s;
  run.SetConfig("arm", Prefers({{"arm64", 75}}));
  run.Advance(10min);
  Json spec = Prefers({{"arm64", 75}});
  spec["labelSelector"] = {{"matchLabels", {{"app", "web"}}}};
  run.SetConfig("arm", spec);
  run.Advance(160s);
  EXPECT_THAT(GatedBy(run, Pod("web-1"), true), IsEmpty()) << run.Described();
  run.Advance(20s);
  EXPECT_THAT(GatedBy(run, Pod("web-2"), true), ElementsAre("gating")) << run.Described();
}

TEST(GatesAdded, LocallyByAConfigWithoutPreferences) {
  TestRun run;
  run.SetConfig("taints", {{"plugins", {{"architectureTolerations", {{"enabled", true}}}}}});
  EXPECT_THAT(GatedBy(run, Pod("web"), true), ElementsAre("gating")) << run.Described();
}

// The operator gates such pods before the configuration is stored.
TEST(GatesAdded, ToAPodThatRequiresItsArchitectureWhileAPreferenceIsAnnounced) {
  TestRun run;
  Json lease = {{"metadata",
                 {{"namespace", "shop"},
                  {"name", std::string(api::kAnnouncementsName)},
                  {"annotations", {{"multiarch.openshift.io/preferences-announced", "true"}}}}}};
  run.Write(kOperatorUser, "coordination.k8s.io", "leases", lease);
  run.Advance(1s);
  Json pod = Selecting(Pod("web"), "kubernetes.io/arch", "amd64");
  EXPECT_THAT(GatedBy(run, pod), IsEmpty()) << run.Described();
}

TEST(GatesAdded, ToAPodThatRequiresItsArchitecture) {
  TestRun run;
  Json pod = Selecting(Pod("web-1"), "kubernetes.io/arch", "amd64");
  EXPECT_THAT(GatedBy(run, pod), ElementsAre("gating")) << run.Described();
  run.SetConfig("arm", Prefers({{"arm64", 75}}));
  pod["metadata"]["name"] = "web-2";
  EXPECT_THAT(GatedBy(run, pod), ElementsAre("gating")) << run.Described();
  pod["metadata"]["name"] = "web-3";
  EXPECT_THAT(GatedBy(run, Preferring(pod, "arm64", 1, "")), ElementsAre("gating", "gating"));
  // The operator removes the namespace later.
  run.DeleteConfig("arm");
  run.Advance(160s);
  pod["metadata"]["name"] = "web-4";
  EXPECT_THAT(GatedBy(run, pod), ElementsAre("gating", "gating")) << run.Described();
  run.Advance(10s);
  pod["metadata"]["name"] = "web-5";
  EXPECT_THAT(GatedBy(run, pod), ElementsAre("gating", "gating", "gating")) << run.Described();
}

// Without a fault for long enough.
class GatesMissing : public testing::Test {
 protected:
  GatesMissing() {
    run_.facts().calm_since = 0s;
    run_.SetConfig("arm", Prefers({{"arm64", 75}}));
    run_.Advance(10min);
  }
  // A pod that admission has gated by these.
  std::vector<std::string> Create(const Json& pod, std::vector<std::string_view> gates) {
    Json stored = pod;
    for (std::string_view gate : gates) stored = Gated(stored, gate);
    run_.Write(kUser, "", "pods", stored, "", pod);
    return run_.Found();
  }

  TestRun run_;
};

TEST_F(GatesMissing, BothGates) {
  EXPECT_THAT(Create(Pod("web"), {api::kClusterGate, api::kLocalGate}), IsEmpty())
      << run_.Described();
}

TEST_F(GatesMissing, NoGate) {
  EXPECT_THAT(Create(Pod("web"), {}), ElementsAre("gating", "gating")) << run_.Described();
}

TEST_F(GatesMissing, LocalGate) {
  EXPECT_THAT(Create(Pod("web"), {api::kClusterGate}), ElementsAre("gating")) << run_.Described();
}

// A pod of known images needs the local gate alone, if it has its cluster's placement.
TEST_F(GatesMissing, TheClusterGateOfAPlacedPod) {
  auto placed = [](const std::string& name) {
    return Labelled(Gated(Pod(name), api::kLocalGate), std::string(api::kPlacedAtCreationLabel));
  };
  run_.Write(kUser, "", "pods", placed("web"), "", Pod("web"));
  EXPECT_THAT(run_.Found(), Contains("gating")) << run_.Described();
  TestRun run;
  run.facts().calm_since = 0s;
  run.facts().images_known = false;
  run.SetCluster({{"knownImages", "PlaceAtCreation"}});
  run.SetConfig("arm", Prefers({{"arm64", 75}}));
  run.Advance(10min);
  run.Write(kUser, "", "pods", placed("web"), "", Pod("web"));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  run.Write(kUser, "", "pods", Gated(Pod("other"), api::kLocalGate), "", Pod("other"));
  EXPECT_THAT(run.Found(), ElementsAre("gating")) << run.Described();
}

TEST_F(GatesMissing, PodsThatNeedNone) {
  EXPECT_THAT(Create(Labelled(Pod("web"), kExclude), {}), IsEmpty()) << run_.Described();
  Json own = Preferring(Selecting(Pod("own"), "kubernetes.io/arch", "amd64"), "amd64", 1, "");
  EXPECT_THAT(Create(own, {}), IsEmpty()) << run_.Described();
}

TEST_F(GatesMissing, SoonAfterAChange) {
  run_.SetCluster({{"excludedSchedulerNames", {"volcano"}}});
  run_.Advance(1min);
  EXPECT_THAT(Create(Pod("web"), {}), IsEmpty()) << run_.Described();
}

TEST_F(GatesMissing, WhileGatingIsSwitched) {
  run_.SetCluster({{"gating", "Policy"}});
  EXPECT_THAT(Create(Pod("web"), {}), ElementsAre("gating", "gating")) << run_.Described();
}

TEST_F(GatesMissing, SoonAfterAChangeInTheNamespaceTheLocalGate) {
  run_.SetConfig("other", Prefers({{"s390x", 5}}, /*priority=*/1));
  EXPECT_THAT(Create(Pod("web"), {api::kClusterGate}), IsEmpty()) << run_.Described();
  EXPECT_THAT(Create(Pod("web-2"), {}), ElementsAre("gating")) << run_.Described();
}

TEST_F(GatesMissing, WhileOtherOperandsStart) {
  run_.facts().calm_since = Time::max();
  run_.facts().undisturbed_since = 0s;
  EXPECT_THAT(Create(Pod("web"), {}), ElementsAre("gating", "gating")) << run_.Described();
}

TEST_F(GatesMissing, WhileTheFirstOperandsStart) {
  run_.facts().calm_since = Time::max();
  run_.facts().undisturbed_since = 0s;
  run_.DeleteConfig("arm");
  run_.Advance(1min);
  run_.DeleteCluster();
  run_.SetCluster(Json::object());
  run_.Advance(4min);
  EXPECT_THAT(Create(Pod("web"), {}), IsEmpty()) << run_.Described();
}

TEST_F(GatesMissing, SoonAfterAFault) {
  run_.facts().calm_since = run_.now();
  EXPECT_THAT(Create(Pod("web"), {}), IsEmpty()) << run_.Described();
}

TEST(IgnoredPods, IgnoredPodsLoseOnlyTheirGates) {
  TestRun run;
  Json out = run.CreatePod(Pod("out"));
  out = run.WritePod(kUser, Labelled(out, kExclude));
  run.WritePod(kController, WithoutGate(out, api::kClusterGate));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  EXPECT_EQ(run.checker().judged().bare, 1u);

  Json other = run.CreatePod(Pod("other"));
  other = run.WritePod(kUser, Labelled(other, kExclude));
  run.WritePod(kController, Placed(other, {"amd64", "arm64"}));
  EXPECT_THAT(run.Found(), ElementsAre("I4")) << run.Described();
}

TEST(IgnoredPods, OthersDoNotOnlyLoseTheirGates) {
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  run.WritePod(kController, WithoutGate(pod, api::kClusterGate));
  EXPECT_THAT(run.Found(), ElementsAre("I4")) << run.Described();
}

TEST(IgnoredPods, RefusedPodsMayLoseOnlyTheirGates) {
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  run.facts().refusals.Add(kController, {"shop", "web"}, run.now());
  run.WritePod(kController, WithoutGate(pod, api::kClusterGate));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
}

TEST(IgnoredPods, PodsThatTheirAuthorHasGatedFollowTheirNamespace) {
  TestRun run;
  run.SetNamespace("shop", {{kExclude, ""}});
  run.Advance(1min);
  Json mine = Pod("mine");
  mine["spec"]["schedulingGates"] = Json::array({{{"name", std::string(api::kClusterGate)}}});
  Json pod = run.Write(kUser, "", "pods", mine, "", mine);
  Json placed = run.WritePod(kController, WithoutGate(pod, api::kClusterGate));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();

  mine["metadata"]["name"] = "mine-2";
  pod = run.Write(kUser, "", "pods", mine, "", mine);
  placed = Placed(pod, {"amd64", "arm64"});
  run.WritePod(kController,
               Labelled(placed, std::string(api::kPreferredNodeAffinityLabel), "not-set"));
  EXPECT_THAT(run.Found(), ElementsAre("I4")) << run.Described();
}

TEST(Teardown, OperatorRemovesGatesOnlyThen) {
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  run.WritePod(kOperatorUser, WithoutGate(pod, api::kClusterGate));
  EXPECT_THAT(run.Found(), ElementsAre("teardown")) << run.Described();
}

TEST(Teardown, OfAShard) {
  TestRun run;
  run.SetConfig("arm", Prefers({{"arm64", 75}}));
  Json first = run.CreatePod(Pod("web-1"), /*local=*/true);
  Json second = run.CreatePod(Pod("web-2"), /*local=*/true);
  run.Advance(1min);
  run.WritePod(kOperatorUser, WithoutGate(first, api::kLocalGate));
  EXPECT_THAT(run.Found(), ElementsAre("teardown")) << run.Described();
  run.DeleteConfig("arm");
  run.WritePod(kOperatorUser, WithoutGate(second, api::kLocalGate));
  EXPECT_THAT(run.Found(), ElementsAre("teardown")) << run.Described();
}

TEST(Teardown, WhileNoControllerRuns) {
  TestRun run;
  auto set_available = [&](int replicas) {
    run.Write(kUser, "apps", "deployments",
              {{"metadata",
                {{"namespace", "openshift-multiarch-tuning-operator"},
                 {"name", "pod-placement-controller"}}},
               {"status", {{"availableReplicas", replicas}}}});
  };
  set_available(1);
  Json early = run.CreatePod(Pod("early")), late = run.CreatePod(Pod("late"));
  set_available(0);
  run.Advance(11min);
  run.WritePod(kOperatorUser, WithoutGate(late, api::kClusterGate));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
  set_available(1);
  run.WritePod(kOperatorUser, WithoutGate(early, api::kClusterGate));
  EXPECT_THAT(run.Found(), ElementsAre("teardown")) << run.Described();
}

TEST(Teardown, OfTheOperatorsNamespace) {
  TestRun run;
  Json pod = run.CreatePod(Pod("web"));
  run.SetNamespace("openshift-multiarch-tuning-operator", Json::object(), /*deleting=*/true);
  run.WritePod(kOperatorUser, WithoutGate(pod, api::kClusterGate));
  EXPECT_THAT(run.Found(), IsEmpty()) << run.Described();
}

}  // namespace
}  // namespace sim::checker
