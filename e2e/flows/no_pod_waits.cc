// SPDX-License-Identifier: Apache-2.0
// I3, where it is not our own shard or the registry that fails: gates that somebody else set, and a
// policy that refuses what we write.
#include "e2e/framework/flow_test.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr Resource kPolicies{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies",
                             "ValidatingAdmissionPolicy", false};
constexpr Resource kPolicyBindings{"admissionregistration.k8s.io", "v1",
                                   "validatingadmissionpolicybindings",
                                   "ValidatingAdmissionPolicyBinding", false};

const std::string kClusterGate(api::kClusterGate);
const std::string kLocalGate(api::kLocalGate);

class NoPodWaitsFlow : public FlowTest {
 protected:
  void TearDown() override {
    // The policy ends with its namespace's name, so that flows that are cut off don't disturb each
    // other.
    (void)scene().Delete(kPolicyBindings, scene().ns());
    (void)scene().Delete(kPolicies, scene().ns());
    FlowTest::TearDown();
  }

  // A pod of this name with the scheduling gates that its author gave it.
  PodBuilder HandGated(const std::string& name, const std::vector<std::string>& gates) {
    Json list = Json::array();
    for (const std::string& gate : gates) list.push_back({{"name", gate}});
    return MakePod(name).Image(Image("demo/multi:1")).Set("/spec/schedulingGates", list);
  }

  // Pods of the scene are not for our webhook (any more).
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

// No webhook of ours gates such pods, and none of our controllers has a say on where they run.
TEST_F(NoPodWaitsFlow, AGateSetByHandOnAPodThatIsNotOursToPlace) {
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
        .Check(OfPod(name, "has no affinity of ours", [](const Json& pod) {
          return RequirementsOf(pod).empty() && PreferencesOf(pod).empty();
        }));
  }
  flow.Never(ClusterGateGoesBeforeLocal());
}

TEST_F(NoPodWaitsFlow, AGateSetByHandInANamespaceThatIsNotSelected) {
  Flow(scene(), "an excluded namespace")
      .Do(Change(kNamespaces, scene().ns(), {{"metadata", {{"labels", {{kSceneLabel, "false"}}}}}}))
      .Await(WebhookIsNotAsked())
      .Do(Create(HandGated("by-hand", {kClusterGate})))
      .Await(Ungated("by-hand"), 10s)
      .Await(EventAbout("by-hand", std::string(api::kReasonGatedPodIgnored)))
      .Check(OfPod("by-hand", "has no requirement",
                   [](const Json& pod) { return RequirementsOf(pod).empty(); }));
}

// What a shard's webhook gated stays so if the shard goes, and nobody but the cluster's controller
// is left to see it.
TEST_F(NoPodWaitsFlow, TheLocalGateAloneIsTakenOver) {
  auto used = UseClusterConfig(UsualClusterConfig().Set("/spec/shardTakeoverAfter", "5s"));
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

// A policy engine that refuses what was decided costs a pod that, and not its life.
TEST_F(NoPodWaitsFlow, APolicyThatRefusesOurWords) {
  Json policy = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                 {"kind", "ValidatingAdmissionPolicy"}};
  policy["metadata"]["name"] = scene().ns();
  Json rule = {{"apiGroups", {""}}, {"apiVersions", {"v1"}}, {"resources", {"pods"}}};
  rule["operations"] = Json::array({"CREATE", "UPDATE"});
  policy["spec"]["matchConstraints"]["resourceRules"] = Json::array({rule});
  Json validation = {
      {"expression", "!has(object.metadata.labels) || !('" + std::string(api::kMultiArchLabel) +
                         "' in object.metadata.labels)"},
      {"message", "no such label here"},
      {"reason", "Forbidden"}};
  policy["spec"]["validations"] = Json::array({validation});
  Json binding = {{"apiVersion", "admissionregistration.k8s.io/v1"},
                  {"kind", "ValidatingAdmissionPolicyBinding"}};
  binding["metadata"]["name"] = scene().ns();
  binding["spec"]["policyName"] = scene().ns();
  binding["spec"]["validationActions"] = Json::array({"Deny"});
  binding["spec"]["matchResources"]["namespaceSelector"]["matchLabels"]
         ["kubernetes.io/metadata.name"] = scene().ns();

  auto probes = std::make_shared<int>(0);
  Condition in_force{
      "the policy is in force",
      [probes](Scene& scene) -> Result<> {
        std::string name = "probe-" + std::to_string((*probes)++);
        Json probe =
            MakePod(name).Image("probe:1").Label(std::string(api::kMultiArchLabel), "").Build();
        if (scene.Create(kPods, probe)) return Error::NotFound("a refusal");
        return Ok();
      },
      ""};
  Flow(scene(), "a policy that refuses our words")
      .Do(Create(kPolicies, policy))
      .Do(Create(kPolicyBindings, binding))
      .Await(in_force)
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Ungated("web"))
      .Await(EventAbout("web", std::string(api::kReasonGateRemovalFailed), {"no such label here"}))
      .Check(OfPod("web", "has no requirement",
                   [](const Json& pod) { return RequirementsOf(pod).empty(); }));
}

}  // namespace
}  // namespace e2e
