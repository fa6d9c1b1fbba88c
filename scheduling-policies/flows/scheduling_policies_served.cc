// SPDX-License-Identifier: Apache-2.0
// Scheduling policies are served: a policy that is Ready is in force for every pod and workload
// that is created from then on, on both replicas of the webhook; the webhook is removed with the
// last policy, and with the plugin.
#include <vector>

#include "api/names.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/base/task_group.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/object_fields.h"
#include "scheduling-policies/flows/policy_conditions.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/scheduling_policy.h"
#include "scheduling-policies/webhook/replica.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;
using policy::kClusterPodSchedulingPolicies;
using policy::kPodSchedulingPolicies;

bool HasMark(const Json& pod_spec, const std::string& value) {
  const Json* tolerations = kube::Find(pod_spec, "tolerations");
  if (tolerations == nullptr) return false;
  for (const Json& toleration : *tolerations) {
    if (toleration == MarkOfPolicy(value)) return true;
  }
  return false;
}

Condition HasMarkAt(const Resource& resource, const std::string& name, const std::string& path,
                    const std::string& value) {
  return {.name = std::string(resource.kind) + " " + name + " has the criteria of " + value,
          .holds = [=](Scene& scene) -> Result<> {
            auto object = scene.Get(resource, name);
            if (!object) return object.error();
            const Json* spec = kube::Find(*object, path);
            if (spec != nullptr && HasMark(*spec, value)) return Ok();
            return Error::Internal(kube::DumpJson(*object));
          }};
}

boost::asio::awaitable<void> CreatePod(kube::Client& client, Json pod, Result<Json>* created) {
  kube::Unstructured object(std::move(pod));
  auto answer = co_await kube::CreateObject(client, kPods, std::move(object));
  if (answer) *created = answer->body();
  if (!answer) *created = answer.error();
}

class PoliciesServedFlow : public FlowFixture {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    UsePlugin(true);
  }
  void TearDown() override {
    UsePlugin(false);
    Flow(scene(), "the plugin is off").Await(PolicyWebhookRemoved());
    FlowFixture::TearDown();
  }

  void UsePlugin(bool enabled) {
    ClusterConfigBuilder config = DefaultClusterConfig();
    if (enabled) config.Set("/spec/plugins/schedulingPolicies/enabled", true);
    Result<> used = UseClusterConfig(config);
    ASSERT_TRUE(used) << used.error();
  }

  // Returns as soon as the API server shows that the newest generation of the policy is in force.
  Async<> AwaitReady(std::string name) {
    kube::TimePoint deadline = cluster().clock().Now() + cluster().timeout();
    while (cluster().clock().Now() < deadline) {
      kube::ObjectKey key{scene().ns(), name};
      auto policy = co_await kube::GetObject(cluster().client(), kPodSchedulingPolicies, key);
      if (!policy) co_return policy.error();
      const Json* ready = kube::ConditionOf(policy->body(), "Ready");
      if (ready != nullptr && kube::StringAt(*ready, "status") == "True" &&
          kube::IntAt(*ready, "observedGeneration") ==
              kube::IntAt(policy->body(), "metadata.generation"))
        co_return Ok();
    }
    co_return Error::DeadlineExceeded("policy " + name + " is not Ready");
  }

  // Creates `count` pods at the same time, as soon as the policy is Ready. All must have `value`.
  void CreateAtOnce(const std::string& policy, const std::string& value, int count) {
    Result<> ready = cluster().Run(AwaitReady(policy));
    ASSERT_TRUE(ready) << ready.error() << "\n" << scene().Describe("");
    std::vector<Result<Json>> created(count, Error::Unavailable("no answer"));
    kube::TaskGroup tasks(cluster().io().get_executor());
    for (int i = 0; i < count; ++i) {
      Json pod = MakePod(value + "-" + std::to_string(i))
                     .Namespace(scene().ns())
                     .Label("app", "web")
                     .Image(Image("demo/multi:1"))
                     .Build();
      tasks.Spawn("create", CreatePod(cluster().client(), std::move(pod), &created[i]));
    }
    while (tasks.size() > 0) cluster().Pause(1ms);
    int without = 0;
    for (const Result<Json>& pod : created) {
      ASSERT_TRUE(pod) << pod.error();
      without += HasMark((*pod)["spec"], value) ? 0 : 1;
    }
    EXPECT_EQ(without, 0) << "of " << count << " pods without the criteria of " << value;
  }
};

TEST_F(PoliciesServedFlow, AReadyPolicyIsInForceForEveryPod) {
  Flow(scene(), "a policy").Do(Create(kPodSchedulingPolicies, MakePolicy("first", "one")));
  CreateAtOnce("first", "one", 200);
  // Every new generation, too: both replicas run, and each pod goes to one of them.
  for (const char* value : {"two", "three", "four", "five", "six"}) {
    Json patch = {{"spec", {{"tolerations", Json::array({MarkOfPolicy(value)})}}}};
    Flow(scene(), value).Do(Change(kPodSchedulingPolicies, "first", patch));
    CreateAtOnce("first", value, 40);
  }
  // A further policy of the namespace needs no other configuration.
  Flow(scene(), "another policy").Do(Create(kPodSchedulingPolicies, MakePolicy("second", "more")));
  CreateAtOnce("second", "more", 40);
}

TEST_F(PoliciesServedFlow, WorkloadsPodsAndGates) {
  Flow flow(scene(), "a policy is applied to what it selects");
  flow.Do(Create(kPodSchedulingPolicies, MakePolicy("first", "one")))
      .Await(PolicyReady("first"))
      // The pod under the gate gets the criteria and is placed as usual.
      .Do(Create(MakePod("web").Label("app", "web").Image(Image("demo/arm64:1"))))
      .Await(Requires("web", {"arm64"}))
      .Check(HasMarkAt(kPods, "web", "spec", "one"))
      .Await(ScheduledOn("web", {"arm64"}))
      .Do(Create(MakePod("other").Image(Image("demo/multi:1"))))
      // The label app of its pods is its name.
      .Do(Create(MakeDeployment("web", MakePod("").Image(Image("demo/multi:1"))).Replicas(2)))
      .Check(HasMarkAt(kDeployments, "web", "spec.template.spec", "one"))
      .Await(RolledOut("web"));
  if (flow.failed()) return;
  auto other = scene().Get(kPods, "other");
  ASSERT_TRUE(other) << other.error();
  EXPECT_FALSE(HasMark((*other)["spec"], "one"));
}

TEST_F(PoliciesServedFlow, MayChangePodsAlone) {
  Json pods = {{"spec", {{"plugins", {{"schedulingPolicies", {{"resources", "Pods"}}}}}}}};
  Flow flow(scene(), "templates stay unchanged");
  flow.Do(Change(kClusterConfigs, std::string(api::kClusterConfigName), pods))
      .Do(Create(kPodSchedulingPolicies, MakePolicy("first", "one")))
      .Await(PolicyReady("first"))
      .Do(Create(MakeDeployment("web", MakePod("").Image(Image("demo/multi:1"))).Replicas(1)))
      .Await(RolledOut("web"))
      .Do(Create(MakePod("single").Label("app", "web").Image(Image("demo/multi:1"))))
      .Check(HasMarkAt(kPods, "single", "spec", "one"));
  if (flow.failed()) return;
  auto deployment = scene().Get(kDeployments, "web");
  ASSERT_TRUE(deployment) << deployment.error();
  EXPECT_FALSE(HasMark((*deployment)["spec"]["template"]["spec"], "one"));
}

TEST_F(PoliciesServedFlow, AClusterPolicySelectsNamespacesByTheirLabels) {
  Json policy = MakePolicy("flow", "all");
  policy["kind"] = "ClusterPodSchedulingPolicy";
  policy["spec"]["namespaceSelector"] = {{"matchLabels", {{"served", scene().ns()}}}};
  Json labels = {{"metadata", {{"labels", {{"served", scene().ns()}}}}}};
  Flow(scene(), "a cluster policy")
      .Do(Create(MakePod("before").Label("app", "web").Image(Image("demo/multi:1"))))
      .Do(Change(kNamespaces, scene().ns(), labels))
      .Do(Create(kClusterPodSchedulingPolicies, policy))
      .Await(HasStatusCondition(kClusterPodSchedulingPolicies, "flow", "Ready", "True"))
      .Do(Create(MakePod("web").Label("app", "web").Image(Image("demo/multi:1"))))
      .Check(HasMarkAt(kPods, "web", "spec", "all"))
      .Do(Delete(kClusterPodSchedulingPolicies, "flow"))
      .Await(PolicyWebhookRemoved());
}

// A tenant may label pods, but does not evade what an administrator enforces.
TEST_F(PoliciesServedFlow, WhatOptsOutOfPlacementGetsThePolicies) {
  const std::string exclude(api::kExcludeLabel);
  Json schedulers = {{"spec", {{"excludedSchedulerNames", {"other"}}}}};
  Json policy = MakePolicy("flow", "all");
  policy["kind"] = "ClusterPodSchedulingPolicy";
  policy["spec"]["namespaceSelector"] = {{"matchLabels", {{"served", scene().ns()}}}};
  Json labels = {{"metadata", {{"labels", {{"served", scene().ns()}, {exclude, ""}}}}}};
  // TearDown() waits until pods of the namespace are gated.
  Json back = {{"metadata", {{"labels", {{exclude, nullptr}}}}}};
  auto pod = [&](const std::string& name) {
    return MakePod(name).Label("app", "web").Image(Image("demo/multi:1"));
  };
  Flow(scene(), "a cluster policy")
      .Do(Change(kClusterConfigs, std::string(api::kClusterConfigName), schedulers))
      .Do(Change(kNamespaces, scene().ns(), labels))
      .Do(Create(kClusterPodSchedulingPolicies, policy))
      .Await(HasStatusCondition(kClusterPodSchedulingPolicies, "flow", "Ready", "True"))
      .Do(Create(pod("namespace")))
      .Check(HasMarkAt(kPods, "namespace", "spec", "all"))
      .Do(Create(pod("label").Label(exclude, "")))
      .Check(HasMarkAt(kPods, "label", "spec", "all"))
      .Do(Create(pod("scheduler").Set("/spec/schedulerName", "other")))
      .Check(HasMarkAt(kPods, "scheduler", "spec", "all"))
      .Never(HadGate())
      .Do(Change(kNamespaces, scene().ns(), back))
      .Do(Delete(kClusterPodSchedulingPolicies, "flow"))
      .Await(PolicyWebhookRemoved());
}

TEST_F(PoliciesServedFlow, TheWebhookIsRemovedWithTheLastPolicyAndWithThePlugin) {
  Flow flow(scene(), "the webhook comes and goes");
  flow.Do(Create(kPodSchedulingPolicies, MakePolicy("first", "one")))
      .Await(PolicyReady("first"))
      .Do(Delete(kPodSchedulingPolicies, "first"))
      .Await(PolicyWebhookRemoved())
      .Do(Create(MakePod("none").Label("app", "web").Image(Image("demo/multi:1"))))
      .Do(Create(kPodSchedulingPolicies, MakePolicy("second", "two")))
      .Await(PolicyReady("second"));
  if (flow.failed()) return;
  UsePlugin(false);
  flow.Await(HasStatusCondition(kPodSchedulingPolicies, "second", "Ready", "False", "Disabled"))
      .Await(PolicyWebhookRemoved());
}

// A pod waits behind the gate for its image while the policy is created.
TEST_F(PoliciesServedFlow, AGatedPodGetsWhatItsAdmissionMissed) {
  Json policy = MakePolicy("late", "one");
  policy["spec"]["schedulerName"] = "other";
  policy["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        ["nodeSelectorTerms"] = kube::MustParseJson(R"([{"matchExpressions": [
            {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]}])");
  Flow(scene(), "a policy is created after the pod")
      .Do(Create(MakePod("web")
                     .Label("app", "web")
                     .Require("kubernetes.io/hostname", {"a", "b"})
                     .Image(Image("demo/missing:1"))))
      .Await(ClusterGated("web"))
      .Do(Create(kPodSchedulingPolicies, policy))
      .Await(Ungated("web"))
      .Check(HasMarkAt(kPods, "web", "spec", "one"))
      .Await(EventAbout("web", std::string(policy::kReasonPoliciesAdded),
                        {"spec.tolerations", "spec.affinity.nodeAffinity", "late"}))
      .Await(EventAbout("web", std::string(policy::kReasonPoliciesMissed), {"spec.schedulerName"}));
}

// A replica that was killed leaves its Lease behind; the others are not waited for.
TEST_F(PoliciesServedFlow, ADeadReplicaDelaysPoliciesForABoundedTime) {
  Flow flow(scene(), "a replica is killed");
  flow.Do(Create(kPodSchedulingPolicies, MakePolicy("first", "one"))).Await(PolicyReady("first"));
  if (flow.failed()) return;
  const std::string& ops = cluster().operator_namespace();
  Json lease = {{"apiVersion", "coordination.k8s.io/v1"},
                {"kind", "Lease"},
                {"metadata",
                 {{"name", "pod-placement-policy-web-hook-dead"},
                  {"namespace", ops},
                  {"labels", {{std::string(api::kOperandLabel), policy::kReplicaOperand}}}}}};
  flow.Do(Create(kube::kLeases, lease))
      .Do(Create(kPodSchedulingPolicies, MakePolicy("second", "two")))
      .Await(HasStatusCondition(kPodSchedulingPolicies, "second", "Ready", "False", "2 of 3"))
      .Await(PolicyReady("second"), 90s);
}

}  // namespace
}  // namespace e2e
