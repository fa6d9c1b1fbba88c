// SPDX-License-Identifier: Apache-2.0
// The plugin architectureTolerations, with the real scheduler: pods are scheduled on tainted nodes
// of the architectures that their images support, and on no other tainted node. The API server
// accepts requirement, preferences and tolerations in the write that removes the gate.
#include "e2e/cluster_harness/nodes.h"
#include "e2e/framework/flow_fixture.h"
#include "e2e/framework/own_nodes.h"
#include "kube/types/object_fields.h"

namespace e2e {
namespace {

const std::string kArch(api::kArchLabel);
constexpr const char* kPool = "pool";

// Ungated, with exactly these tolerations of one value.
Condition Tolerates(const std::string& pod, const std::vector<std::string>& tolerations) {
  return OfPod(pod, "tolerates " + kube::DumpJson(Json(tolerations)),
               [tolerations](const Json& pod) {
                 return !IsGated(pod) && TolerationsOf(pod) == tolerations;
               });
}

// The scheduler has found no node.
Condition Unschedulable(const std::string& pod) {
  return OfPod(pod, "is unschedulable", [](const Json& pod) {
    const Json* scheduled = kube::ConditionOf(pod, "PodScheduled");
    return scheduled != nullptr && kube::StringAt(*scheduled, "reason") == "Unschedulable" &&
           NodeOf(pod).empty();
  });
}

// The operator has seen the newest ClusterPodPlacementConfig, which has no such condition.
Condition HasNoStatusCondition(const std::string& type) {
  return {.name = "the ClusterPodPlacementConfig has no condition " + type,
          .holds = [type](Scene& scene) -> kube::Result<> {
            auto config = scene.Get(kClusterConfigs, std::string(api::kClusterConfigName));
            if (!config) return config.error();
            const Json* available = kube::ConditionOf(*config, "Available");
            if (available == nullptr || kube::IntAt(*available, "observedGeneration") !=
                                            kube::IntAt(*config, "metadata.generation"))
              return kube::Error::Unavailable("the operator has not seen it yet");
            if (kube::ConditionOf(*config, type) == nullptr) return kube::Ok();
            return kube::Error::AlreadyExists(type);
          }};
}

Condition HasNoWebhookEntry() {
  return {.name = "the namespace's webhook configuration has no entry",
          .holds = [](Scene& scene) -> kube::Result<> {
            auto found = scene.Get(kMutatingWebhookConfigurations,
                                   api::ShardWebhookConfigurationName(scene.ns()));
            if (!found) return found.error();
            const Json* webhooks = kube::Find(*found, "webhooks");
            if (webhooks == nullptr || webhooks->empty()) return kube::Ok();
            return kube::Error::Invalid("it has " + kube::DumpJson(*webhooks));
          }};
}

class ArchitectureTaintsFlow : public FlowFixture {
 protected:
  // A node of the flow's own pool, with the taint KEY=ARCHITECTURE:EFFECT. kwok runs it on the kind
  // tier.
  Step AddNode(const std::string& architecture, const std::string& key, const std::string& effect) {
    std::string name = architecture + "-of-" + scene().ns();
    Json node = MakeNode(name, architecture);
    node["metadata"]["annotations"]["kwok.x-k8s.io/node"] = "fake";
    node["metadata"]["labels"][kPool] = scene().ns();
    node["spec"]["taints"] =
        Json::array({{{"key", key}, {"value", architecture}, {"effect", effect}}});
    return nodes_.Add(std::move(node));
  }

  // A pod that only nodes of the pool can run.
  PodBuilder PooledPod(const std::string& name, const std::string& image) {
    return MakePod(name).Image(Image(image)).NodeSelector(kPool, scene().ns());
  }

 private:
  OwnNodes nodes_;
};

TEST_F(ArchitectureTaintsFlow, WithoutThePluginTaintsRepelPods) {
  Flow(scene(), "without the plugin")
      .Do(AddNode("arm64", kArch, "NoSchedule"))
      .Do(Create(PooledPod("web", "demo/multi:1")))
      .Await(Unschedulable("web"))
      .Check(Tolerates("web", {}));
}

TEST_F(ArchitectureTaintsFlow, ThePodToleratesTheArchitecturesOfItsImages) {
  auto used = UseClusterConfig(
      DefaultClusterConfig().Set("/spec/plugins/architectureTolerations/enabled", true));
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "the cluster's config has the plugin")
      .Do(AddNode("arm64", kArch, "NoSchedule"))
      .Do(Create(PooledPod("web", "demo/arm64-amd64:1")))
      .Do(Create(PooledPod("legacy", "demo/amd64:1")))
      .Await(Tolerates("web", {kArch + "=amd64:NoSchedule", kArch + "=arm64:NoSchedule"}))
      .Await(ScheduledOn("web", {"arm64"}))
      .Await(EventAbout("web", std::string(api::kReasonTolerationsSet),
                        {"ClusterPodPlacementConfig", "arm64:NoSchedule"}))
      .Await(Tolerates("legacy", {kArch + "=amd64:NoSchedule"}))
      .Await(Unschedulable("legacy"))
      .Never(GateRemovedWithoutItsDecision())
      .Never(HadLocalGate());
}

// The operator looks at the nodes when the plugin is switched off.
TEST_F(ArchitectureTaintsFlow, TheClusterConfigSuggestsThePluginWhileItIsOff) {
  const std::string name(api::kClusterConfigName);
  const std::string condition = "ArchitectureTaintsTolerated";
  auto plugin = [&](bool enabled) {
    Json spec = {{"plugins", {{"architectureTolerations", {{"enabled", enabled}}}}}};
    return Change(kClusterConfigs, name, {{"spec", std::move(spec)}});
  };
  Flow(scene(), "a tainted node")
      .Do(AddNode("arm64", kArch, "NoSchedule"))
      .Do(plugin(true))
      .Await(HasNoStatusCondition(condition))
      .Do(plugin(false))
      .Await(HasStatusCondition(kClusterConfigs, name, condition, "False", "PluginDisabled"))
      .Check(HasStatusCondition(kClusterConfigs, name, condition, "False",
                                kArch + "=arm64:NoSchedule"))
      .Check(HasStatusCondition(kClusterConfigs, name, "Degraded", "False"))
      .Do(plugin(true))
      .Await(HasNoStatusCondition(condition));
}

// The nodes of both architectures are tainted: the preference decides.
TEST_F(ArchitectureTaintsFlow, ThePreferredArchitectureIsATaintedOne) {
  Flow(scene(), "a config with both plugins")
      .Do(AddNode("amd64", kArch, "NoSchedule"))
      .Do(AddNode("arm64", kArch, "NoSchedule"))
      .Do(Create(MakeConfig("pool")
                     .Prefer("arm64", 100)
                     .Set("/spec/plugins/architectureTolerations/enabled", true)))
      .Await(ShardReady())
      .Do(Create(PooledPod("web", "demo/arm64-amd64:1")))
      .Await(Tolerates("web", {kArch + "=amd64:NoSchedule", kArch + "=arm64:NoSchedule"}))
      .Check(Prefers("web", {{"arm64", 100}}))
      .Check(Labelled("web", std::string(api::kLocalGateLabel), std::string(api::kRemoved)))
      .Check(Annotated("web", std::string(api::kLocalTolerationsAnnotation), "pool"))
      .Await(ScheduledOn("web", {"arm64"}))
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
}

// The pods are created right after the configs: no webhook needs to know these.
TEST_F(ArchitectureTaintsFlow, AConfigOfTheNamespaceDecidesInsteadOfTheClusters) {
  auto used = UseClusterConfig(
      DefaultClusterConfig().Set("/spec/plugins/architectureTolerations/enabled", true));
  ASSERT_TRUE(used) << used.error();
  const std::string key = "example.com/pool";
  Json plugin = {{"enabled", true}, {"key", key}, {"effects", {"NoExecute"}}};
  Flow(scene(), "configs without preferences")
      .Do(AddNode("amd64", kArch, "NoSchedule"))
      .Do(AddNode("arm64", key, "NoExecute"))
      .Do(Create(MakeConfig("off").Priority(1).Set("/spec/plugins/architectureTolerations/enabled",
                                                   false)))
      .Do(Create(MakeConfig("pool")
                     .Priority(2)
                     .ForLabel("tier", "pool")
                     .Set("/spec/plugins/architectureTolerations", plugin)))
      .Do(Create(PooledPod("plain", "demo/arm64-amd64:1")))
      .Do(Create(PooledPod("pooled", "demo/arm64-amd64:1").Label("tier", "pool")))
      .Do(Create(PooledPod("legacy", "demo/amd64:1").Label("tier", "pool")))
      .Await(Tolerates("plain", {}))
      .Await(Unschedulable("plain"))
      .Await(Tolerates("pooled", {key + "=amd64:NoExecute", key + "=arm64:NoExecute"}))
      .Await(ScheduledOn("pooled", {"arm64"}))
      .Await(EventAbout("pooled", std::string(api::kReasonTolerationsSet),
                        {"PodPlacementConfig-pool", key, "arm64:NoExecute"}))
      .Await(Tolerates("legacy", {key + "=amd64:NoExecute"}))
      .Await(Unschedulable("legacy"))
      .Await(HasStatusCondition(kConfigs, "off", "Available", "True"))
      .Await(HasStatusCondition(kConfigs, "pool", "Available", "True"))
      .Check(HasNoWebhookEntry())
      .Never(GateRemovedWithoutItsDecision())
      .Never(HadLocalGate());
}

}  // namespace
}  // namespace e2e
