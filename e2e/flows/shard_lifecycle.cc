// SPDX-License-Identifier: Apache-2.0
// A shard is deployed with the first config of a namespace, repaired, updated, and removed with the
// last config. Quotations are from the functional test plan, Phase 2, of the PodPlacementConfig
// enhancement. Effects on pods: local_gate_removed_first.cc.
#include <set>

#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

class ShardFlow : public FlowFixture {};

const std::string kController(api::kShardControllerName);
const std::string kWebhook(api::kShardWebhookName);

// "The operator should deploy a local pod placement controller and mutating webhook in the
// namespace where the first namespace-scoped PodPlacementConfig CRD is created."
TEST_F(ShardFlow, IsDeployedWithTheFirstConfig) {
  Flow(scene(), "a shard is deployed with the first config")
      .Check(ShardRemoved())
      .Do(Create(MakeConfig("first").Priority(1).Prefer("arm64", 10)))
      .Await(ShardReady())
      .Check(RolledOut(kController))
      .Check(RolledOut(kWebhook))
      .Check(Exists(kServices, kWebhook))
      .Check(
          Exists(kMutatingWebhookConfigurations, api::ShardWebhookConfigurationName(scene().ns())))
      .Check(HasStatusCondition(kConfigs, "first", "Available", "True"));
  auto config = scene().Get(kConfigs, "first");
  ASSERT_TRUE(config) << config.error();
  const Json* controllers = kube::Find(*config, "status.controllers");
  ASSERT_NE(controllers, nullptr) << *config;
  EXPECT_EQ(controllers->size(), 2u) << *controllers;
  for (const Json& controller : *controllers)
    EXPECT_GE(kube::IntAt(controller, "readyReplicas"), 1) << controller;
  EXPECT_EQ(kube::IntAt(*config, "status.observedGeneration"),
            kube::IntAt(*config, "metadata.generation"));
}

// The entry of a config has the config's selector.
TEST_F(ShardFlow, HasAWebhookEntryForEachConfig) {
  Flow(scene(), "a webhook entry for each config")
      .Do(Create(MakeConfig("web").Priority(1).ForLabel("tier", "web").Prefer("arm64", 10)))
      .Do(Create(MakeConfig("db").Priority(2).ForLabel("tier", "db").Prefer("amd64", 10)))
      .Await(ShardReady());
  auto configuration =
      scene().Get(kMutatingWebhookConfigurations, api::ShardWebhookConfigurationName(scene().ns()));
  ASSERT_TRUE(configuration) << configuration.error();
  std::set<std::string> tiers;
  for (const Json& entry : (*configuration)["webhooks"]) {
    if (kube::StringAt(entry, "clientConfig.service.path") == "/probe") continue;
    tiers.insert(kube::StringAt(entry, "objectSelector.matchLabels.tier"));
    EXPECT_EQ(kube::StringAt(entry, "failurePolicy"), "Ignore") << entry;
    EXPECT_EQ(kube::StringAt(entry, "sideEffects"), "None") << entry;
    // Only this namespace.
    EXPECT_NE(kube::DumpJson(entry["namespaceSelector"]).find(scene().ns()), std::string::npos)
        << entry;
  }
  EXPECT_EQ(tiers, (std::set<std::string>{"db", "web"}));
  Flow(scene(), "an entry is removed with its config")
      .Do(Delete(kConfigs, "db"))
      .Await(ShardReady());
}

// "The operator should delete the resources deployed in the namespace when the last
// namespace-scoped PodPlacementConfig CRD is deleted": with the last, and not before.
TEST_F(ShardFlow, IsRemovedWithTheLastConfig) {
  Flow(scene(), "a shard is removed with the last config")
      .Do(Create(MakeConfig("one").Priority(1).Prefer("arm64", 10)))
      .Do(Create(MakeConfig("two").Priority(2).Prefer("arm64", 20)))
      .Await(ShardReady())
      .Do(Delete(kConfigs, "one"))
      .Await(ShardReady())
      .Do(Create(MakePod("served").Image(Image("demo/multi:1"))))
      .Await(Prefers("served", {{"arm64", 20}}))
      .Do(Delete(kConfigs, "two"))
      .Await(Absent(kConfigs, "two"))
      .Await(ShardRemoved())
      .Do(Create(MakePod("unserved").Image(Image("demo/multi:1"))))
      .Await(Prefers("unserved", {}))
      .Check(Requires("unserved", {"amd64", "arm64", "ppc64le", "s390x"}));
}

// Deleted or changed objects of a shard are restored.
TEST_F(ShardFlow, IsRepaired) {
  Flow(scene(), "a shard is repaired")
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Delete(kDeployments, kController))
      .Do(Delete(kMutatingWebhookConfigurations, api::ShardWebhookConfigurationName(scene().ns())))
      .Await(ShardReady())
      .Do(Change(kDeployments, kController, {{"spec", {{"replicas", 0}}}}))
      .Await(RolledOut(kController))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}));
}

Condition HasSize(const std::string& deployment, int64_t replicas, const Json& limits) {
  return {.name = "Deployment " + deployment + " has its replicas and limits",
          .holds = [=](Scene& scene) -> kube::Result<> {
            auto object = scene.Get(kDeployments, deployment);
            if (!object) return object.error();
            const Json& spec = (*object)["spec"];
            if (spec["replicas"] == replicas &&
                spec["template"]["spec"]["containers"][0]["resources"]["limits"] == limits)
              return kube::Ok();
            return kube::Error::NotFound(kube::DumpJson(spec));
          }};
}

// Replicas and resources are fields of the cluster's config; without them they are as before.
TEST_F(ShardFlow, HasTheReplicasAndResourcesOfTheClusterConfig) {
  const std::string cluster_config(api::kClusterConfigName);
  auto set_shard = [&](const Json& shard) {
    return Change(kClusterConfigs, cluster_config, {{"spec", {{"operands", {{"shard", shard}}}}}});
  };
  auto limits = [](const char* memory) {
    return Json{{"resources", {{"limits", {{"memory", memory}}}}}};
  };
  Flow flow(scene(), "a shard gets more replicas and memory");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Refused(set_shard({{"replicas", 6}}), {"replicas", "5"})
      .Refused(set_shard(limits("lots")), {"memory"})
      .Refused(set_shard(limits("63Mi")), {"63Mi", "64Mi"})
      .Do(set_shard({{"replicas", 2}}))
      // In the Deployment, the API server stores 128Mi.
      .Do(set_shard(limits("0.125Gi")));
  for (const std::string& name : {kController, kWebhook}) {
    flow.Await(HasSize(name, 2, {{"cpu", "500m"}, {"memory", "128Mi"}})).Await(RolledOut(name));
  }
  flow.Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"arm64", 10}}))
      .Do(Change(kClusterConfigs, cluster_config, {{"spec", {{"operands", nullptr}}}}));
  for (const std::string& name : {kController, kWebhook}) {
    flow.Await(HasSize(name, 1, {{"cpu", "500m"}, {"memory", "64Mi"}})).Await(RolledOut(name));
  }
  flow.Await(ShardReady());
}

// An updated config applies to pods created afterwards.
TEST_F(ShardFlow, FollowsAChangeOfItsConfig) {
  Json platforms = Json::array({{{"architecture", "s390x"}, {"weight", 33}}});
  Flow(scene(), "a config changes")
      .Do(Create(MakeConfig("moving").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(Create(MakePod("before").Image(Image("demo/multi:1"))))
      .Await(Prefers("before", {{"arm64", 10}}))
      .Do(Change(kConfigs, "moving",
                 {{"spec", {{"plugins", {{"nodeAffinityScoring", {{"platforms", platforms}}}}}}}}))
      .Do(Create(MakePod("after").Image(Image("demo/multi:1"))))
      .Await(Prefers("after", {{"s390x", 33}}))
      .Check(Prefers("before", {{"arm64", 10}}));
}

// After a crash no pod stays gated and no preference is lost.
TEST_F(ShardFlow, SurvivesACrash) {
  Flow(scene(), "a shard crashes")
      .Do(Create(MakeConfig("only").Prefer("arm64", 10)))
      .Await(ShardReady())
      .Do(CrashPods(std::string(api::kOperandLabel)))
      .Do(Create(MakePod("meanwhile").Image(Image("demo/multi:1"))))
      .Await(Prefers("meanwhile", {{"arm64", 10}}))
      .Await(ShardReady())
      .Do(Create(MakePod("later").Image(Image("demo/multi:1"))))
      .Await(Prefers("later", {{"arm64", 10}}))
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
}

}  // namespace
}  // namespace e2e
