// SPDX-License-Identifier: Apache-2.0
// spec.gating: Policy. The API server gates the pods by policies, without webhooks; a switch, there
// and back, leaves no pod ungated or stuck, also when the operator is killed in the middle.
#include <iostream>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"
#include "operator/objects/gating_policies.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::IsNotFound;
using kube::kMutatingAdmissionPolicies;
using kube::kMutatingAdmissionPolicyBindings;
using kube::Ok;
using kube::Result;

const std::string kCluster(api::kClusterConfigName);
const std::string kWebhook(api::kWebhookName);
const std::string kShardWebhook(api::kShardWebhookName);

Condition GatedBy(const std::string& config, const std::string& what) {
  return {config + " is gated by " + what, [config, what](Scene& scene) -> Result<> {
            auto found = scene.Get(kConfigs, config);
            if (!found) return found.error();
            std::string gated_by = kube::StringAt(*found, "status.gatedBy");
            if (gated_by == what) return Ok();
            return Error::NotFound("gatedBy is " + gated_by);
          }};
}

Step SetGating(const std::string& gating) {
  return Change(kClusterConfigs, kCluster, {{"spec", {{"gating", gating}}}});
}

class GatingByPolicyFlow : public FlowFixture {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    if (std::string why = WhyNoGatingPolicies(); !why.empty()) GTEST_SKIP() << why;
  }
  PodBuilder Pod(const std::string& name) { return MakePod(name).Image(Image("demo/multi:1")); }

  static ConfigBuilder Config() { return MakeConfig("web").Prefer("amd64", 10); }
  static Json Rules() {
    Json rule = {{"name", "many"}, {"expression", "object.metadata.name.startsWith('many')"}};
    rule["platforms"] = Json::array({Json{{"architecture", "arm64"}, {"weight", 80}}});
    return {{"spec", {{"celRules", Json::array({rule})}}}};
  }

  // Policies and bindings, whoever wrote them.
  static Condition NoPolicy() {
    return {"no policy is left", [](Scene& scene) -> Result<> {
              for (const Resource& resource :
                   {kMutatingAdmissionPolicies, kMutatingAdmissionPolicyBindings}) {
                auto found = scene.List(resource);
                if (!found) return found.error();
                if (found->empty()) continue;
                return Error::AlreadyExists(kube::StringAt(found->front(), "metadata.name"));
              }
              return Ok();
            }};
  }
  // The namespace has no object that serves a webhook: Deployment, Service, Secret and so on.
  Condition NoWebhook(const std::string& ns, const std::string& name) {
    return {"no object of the webhook is left in " + ns, [ns, name](Scene& scene) -> Result<> {
              Cluster& cluster = scene.cluster();
              for (const Resource& resource : {kDeployments, kServices, kServiceAccounts, kSecrets,
                                               kPodDisruptionBudgets, kNetworkPolicies}) {
                auto found = cluster.Run(kube::GetObject(cluster.client(), resource, {ns, name}));
                if (IsNotFound(found)) continue;
                if (!found) return found.error();
                return Error::AlreadyExists(std::string(resource.kind) + " " + name);
              }
              return Ok();
            }};
  }

  void CrashOperators() {
    for (PodProcess* process :
         TheProcessCluster().kubelet().OfProgram("operator", cluster().operator_namespace()))
      process->Crash();
  }

  // `condition`, while a pod is created at each poll.
  Condition WhilePodsAreCreated(Condition condition) {
    return {condition.name + ", while pods are created",
            [this, holds = condition.holds](Scene& scene) -> Result<> {
              auto created = scene.Create(kPods, Pod("load-" + std::to_string(pods_++)).Build());
              if (!created) return created.error().Prefix("create a pod");
              scene.cluster().Pause(100ms);
              return holds(scene);
            }};
  }
  void ExpectBothGatesAtCreation() {
    int without = 0;
    for (const PodHistory* pod : scene().pods().All()) {
      if (!pod->name.starts_with("load-")) continue;
      const Json& created = pod->events.front().pod;
      bool both = HasGate(created, api::kClusterGate) && HasGate(created, api::kLocalGate);
      if (!both) ADD_FAILURE() << pod->name << " was created without a gate";
      without += !both;
    }
    std::cout << pods_ << " pods, " << without << " without a gate" << std::endl;
  }

  int pods_ = 0;
};

TEST_F(GatingByPolicyFlow, PodsArePlacedWithoutWebhooks) {
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/gating", "Policy"));
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "gating by policy");
  flow.Await(NoWebhook(cluster().operator_namespace(), kWebhook))
      .Do(Create(Pod("one-gate")))
      .Await(ScheduledOn("one-gate", {"amd64", "arm64", "ppc64le", "s390x"}))
      .Await(HasStatusCondition(kClusterConfigs, kCluster, "PodPlacementWebhookNotRolledOut",
                                "False", "GatedByPolicy"))
      .Await(HasStatusCondition(kClusterConfigs, kCluster, "Progressing", "False"))
      .Do(Create(Config()))
      .Await(ShardReady())
      .Check(NoWebhook(scene().ns(), kShardWebhook))
      .Do(Create(Pod("both-gates")))
      .Await(Prefers("both-gates", {{"amd64", 10}}))
      .Await(AllUngated(2))
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
  if (flow.failed()) return;
  EXPECT_TRUE(HasGate(scene().pods().Find("both-gates")->events.front().pod, api::kLocalGate));
  auto config = scene().Get(kConfigs, "web");
  ASSERT_TRUE(config) << config.error();
  EXPECT_EQ((*config)["status"]["controllers"].size(), 1u) << (*config)["status"];

  // A deleted policy comes back.
  const std::string name(operator_::kLocalGatePolicyName);
  flow.Do(Delete(kMutatingAdmissionPolicies, name))
      .Await(Exists(kMutatingAdmissionPolicies, name))
      .Do(Delete(kConfigs, "web"))
      .Await(ShardRemoved())
      // Refused until the operator has seen that there is no config.
      .Await({"the ClusterPodPlacementConfig is deleted",
              [](Scene& scene) -> Result<> {
                Result<> deleted = scene.Delete(kClusterConfigs, kCluster);
                if (!deleted && !IsNotFound(deleted)) return deleted;
                return Absent(kClusterConfigs, kCluster).holds(scene);
              }})
      .Await(NoPolicy());
}

// A policy cannot evaluate rules.
TEST_F(GatingByPolicyFlow, ANamespaceWithRulesHasAWebhook) {
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/gating", "Policy"));
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "rules");
  flow.Do(Create(Config()))
      .Await(GatedBy("web", "Policy"))
      .Do(Change(kConfigs, "web", Rules()))
      .Await(WhilePodsAreCreated(GatedBy("web", "Webhook")), 120s)
      .Check(NoWebhook(cluster().operator_namespace(), kWebhook))
      .Do(Create(Pod("many-last")))
      .Await(Prefers("many-last", {{"arm64", 80}, {"amd64", 10}}))
      .Do(Change(kConfigs, "web", {{"spec", {{"celRules", nullptr}}}}))
      .Await(WhilePodsAreCreated(GatedBy("web", "Policy")), 120s)
      .Await(WhilePodsAreCreated(NoWebhook(scene().ns(), kShardWebhook)), 120s)
      .Await(AllUngated(static_cast<size_t>(pods_) + 1), 120s)
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
  ExpectBothGatesAtCreation();
}

TEST_F(GatingByPolicyFlow, ASwitchThereAndBackUnderLoadLeavesNoPodUngatedOrStuck) {
  const std::string ops = cluster().operator_namespace();
  Flow flow(scene(), "a switch under load");
  flow.Do(Create(Config())).Await(ShardReady()).Do(SetGating("Policy"));
  flow.Await(WhilePodsAreCreated(GatedBy("web", "Policy")));
  CrashOperators();
  flow.Await(WhilePodsAreCreated(NoWebhook(ops, kWebhook)), 120s)
      .Await(WhilePodsAreCreated(NoWebhook(scene().ns(), kShardWebhook)), 120s)
      .Await(WhilePodsAreCreated(
          HasStatusCondition(kClusterConfigs, kCluster, "Progressing", "False")))
      .Check(
          Absent(kMutatingWebhookConfigurations, api::ShardWebhookConfigurationName(scene().ns())));
  if (flow.failed()) return;

  flow.Do(SetGating("Webhook"))
      .Await(WhilePodsAreCreated(Exists(kMutatingWebhookConfigurations,
                                        api::ShardWebhookConfigurationName(scene().ns()))));
  CrashOperators();
  flow.Await(WhilePodsAreCreated(NoPolicy()), 120s)
      .Await(WhilePodsAreCreated(ShardReady()))
      .Await(AllUngated(static_cast<size_t>(pods_)), 120s)
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
  ExpectBothGatesAtCreation();
}

// On every API server.
using GatingWantedByPolicyFlow = FlowFixture;

TEST_F(GatingWantedByPolicyFlow, WebhooksGateWherePoliciesAreNotServed) {
  const std::string not_served = WhyNoGatingPolicies();
  const bool served = not_served.empty();
  std::cout << (served ? "policies are served" : not_served) << std::endl;
  Flow flow(scene(), "gating by policy, where it can be");
  flow.Do(SetGating("Policy"))
      .Do(Create(MakeConfig("web").Prefer("amd64", 10)))
      .Await(ShardReady())
      .Await(GatedBy("web", served ? "Policy" : "Webhook"))
      .Await(HasStatusCondition(kClusterConfigs, kCluster, "Degraded", served ? "False" : "True",
                                served ? "AsExpected" : "GatingByPolicyNotSupported"))
      .Await(HasStatusCondition(kClusterConfigs, kCluster, "Available", "True"))
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"amd64", 10}}))
      .Await(AllUngated(1))
      .Never(CreatedWithoutClusterGate())
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision());
}

}  // namespace
}  // namespace e2e
