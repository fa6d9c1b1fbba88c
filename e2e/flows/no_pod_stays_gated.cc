// SPDX-License-Identifier: Apache-2.0
// I3 for causes outside of the operator: gates set by a user, and an admission policy that refuses
// the operator's writes.
#include "e2e/framework/flow_fixture.h"
#include "e2e/framework/pod_policy.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

const std::string kClusterGate(api::kClusterGate);
const std::string kLocalGate(api::kLocalGate);

class NoPodStaysGatedFlow : public FlowFixture {
 protected:
  void TearDown() override {
    AllowPods(scene());
    FlowFixture::TearDown();
  }

  // A pod with scheduling gates set by its author.
  PodBuilder HandGated(const std::string& name, const std::vector<std::string>& gates) {
    Json list = Json::array();
    for (const std::string& gate : gates) list.push_back({{"name", gate}});
    return MakePod(name).Image(Image("demo/multi:1")).Set("/spec/schedulingGates", list);
  }

  // The cluster webhook no longer selects pods of the scene.
  Condition WebhookIsNotAsked() {
    auto probes = std::make_shared<int>(0);
    return {"the API server gates no pod of the namespace",
            [probes](Scene& scene) -> Result<> {
              std::string name = "probe-" + std::to_string((*probes)++);
              Result<Json> probe = scene.Create(kPods, MakePod(name).Image("probe:1").Build());
              if (!probe) return probe.error();
              if (HasGate(*probe, kClusterGate)) return Error::NotFound("a pod without gate");
              return Ok();
            },
            ""};
  }
};

// The webhooks ignore such pods, and the controllers do not constrain them.
TEST_F(NoPodStaysGatedFlow, WithAGateSetByHandOnAnIgnoredPod) {
  Flow flow(scene(), "control-plane pods with gates");
  flow.Do(Create(MakeConfig("all").Prefer("arm64", 50))).Await(ShardReady());
  for (const auto& [name, gates] :
       std::map<std::string, std::vector<std::string>>{{"cluster", {kClusterGate}},
                                                       {"local", {kLocalGate}},
                                                       {"both", {kLocalGate, kClusterGate}}}) {
    flow.Do(Create(
                HandGated(name, gates).NodeSelector(std::string(api::kControlPlaneNodeLabel), "")))
        .Await(Ungated(name), 10s)
        .Await(EventAbout(name, std::string(api::kReasonGatedPodIgnored)))
        .Check(OfPod(name, "has no affinity", [](const Json& pod) {
          return RequirementsOf(pod).empty() && PreferencesOf(pod).empty();
        }));
  }
  flow.Never(ClusterGateRemovedBeforeLocal());
}

TEST_F(NoPodStaysGatedFlow, WithAGateSetByHandInANamespaceThatIsNotSelected) {
  Flow(scene(), "an excluded namespace")
      .Do(Change(kNamespaces, scene().ns(), {{"metadata", {{"labels", {{kSceneLabel, "false"}}}}}}))
      .Await(WebhookIsNotAsked())
      .Do(Create(HandGated("by-hand", {kClusterGate})))
      .Await(Ungated("by-hand"), 10s)
      .Await(EventAbout("by-hand", std::string(api::kReasonGatedPodIgnored)))
      .Check(OfPod("by-hand", "has no requirement",
                   [](const Json& pod) { return RequirementsOf(pod).empty(); }));
}

// The cluster controller ungates pods that only have the local gate after their shard is removed.
TEST_F(NoPodStaysGatedFlow, WithTheLocalGateAlone) {
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/shardTakeoverAfter", "5s"));
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "the local gate alone")
      .Do(Change(kNamespaces, scene().ns(), {{"metadata", {{"labels", {{kSceneLabel, "false"}}}}}}))
      .Await(WebhookIsNotAsked())
      .Do(Create(HandGated("left-over", {kLocalGate})
                     .Label(std::string(api::kLocalGateLabel), std::string(api::kGated))))
      .Await(Ungated("left-over"), 20s)
      .Await(EventAbout("left-over", std::string(api::kReasonShardTakeover)))
      .Check(OfPod("left-over", "has no requirement",
                   [](const Json& pod) { return RequirementsOf(pod).empty(); }));
}

// If a policy refuses the write of the decision, the pod is ungated without the decision.
TEST_F(NoPodStaysGatedFlow, WhenAPolicyRefusesTheWrite) {
  const std::string label(api::kMultiArchLabel);
  RefusePods(scene(),
             "!has(object.metadata.labels) || !('" + label + "' in object.metadata.labels)",
             "no such label here", MakePod("").Image("probe:1").Label(label, ""));
  Flow(scene(), "a policy refuses the write")
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Ungated("web"))
      .Await(EventAbout("web", std::string(api::kReasonGateRemovalFailed), {"no such label here"}))
      .Check(OfPod("web", "has no requirement",
                   [](const Json& pod) { return RequirementsOf(pod).empty(); }));
}

// If only the tolerations are refused, the pod keeps its requirement.
TEST_F(NoPodStaysGatedFlow, WhenAPolicyRefusesTolerations) {
  auto used = UseClusterConfig(
      DefaultClusterConfig().Set("/spec/plugins/architectureTolerations/enabled", true));
  ASSERT_TRUE(used) << used.error();
  const std::string key(api::kArchLabel);
  Json toleration = {{"key", key}, {"operator", "Exists"}};
  RefusePods(scene(),
             "!has(object.spec.tolerations) || "
             "!object.spec.tolerations.exists(t, has(t.key) && t.key == '" +
                 key + "')",
             "no such toleration here",
             MakePod("").Image("probe:1").Set("/spec/tolerations", Json::array({toleration})));
  Flow(scene(), "a policy refuses tolerations")
      .Do(Create(MakePod("web").Image(Image("demo/arm64-amd64:1"))))
      .Await(Requires("web", {"amd64", "arm64"}))
      .Check(OfPod("web", "has no tolerations of architectures",
                   [](const Json& pod) { return TolerationsOf(pod).empty(); }))
      .Await(EventAbout("web", std::string(api::kReasonGateRemovalFailed),
                        {"no such toleration here"}))
      .Never(GateRemovedWithoutItsDecision());
}

}  // namespace
}  // namespace e2e
