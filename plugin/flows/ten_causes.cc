// SPDX-License-Identifier: Apache-2.0
// From a pod that does not run to the cause, in one command: ten prepared causes, and what
// `kubectl placement why` answers.
#include <cstdlib>
#include <string>
#include <utility>

#include "e2e/cluster_harness/nodes.h"
#include "e2e/cluster_harness/stop_programs.h"
#include "e2e/framework/flow_fixture.h"
#include "e2e/framework/own_nodes.h"
#include "e2e/framework/pod_history.h"
#include "e2e/framework/pod_policy.h"
#include "e2e/framework/quota.h"
#include "inspection/testing/docker_registry.h"
#include "plugin/pod/cause.h"
#include "plugin/read/read_pod.h"
#include "plugin/read/read_workload.h"
#include "plugin/workload/creation_cause.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

// What the plugin says about the pod.
Condition IsKeptBy(const std::string& pod, const std::string& cause) {
  return {.name = pod + " is kept by " + cause,
          .holds = [pod, cause](Scene& scene) -> Result<> {
            Cluster& cluster = TheCluster();
            auto evidence =
                cluster.Run(plugin::ReadPod(cluster.client(), cluster.clock(), {scene.ns(), pod}));
            if (!evidence) return evidence.error();
            plugin::Cause found = plugin::FindCause(*evidence);
            if (found.name == cause) return Ok();
            return Error::NotFound(found.name + ": " + found.why);
          },
          .pod = pod};
}

// What it says about the pods that the Deployment does not have.
Condition LacksPodsBy(const std::string& deployment, const std::string& cause) {
  return {.name = deployment + " lacks pods by " + cause,
          .holds = [deployment, cause](Scene& scene) -> Result<> {
            Cluster& cluster = TheCluster();
            auto evidence = cluster.Run(plugin::ReadWorkload(
                cluster.client(), cluster.clock(), kDeployments, {scene.ns(), deployment}));
            if (!evidence) return evidence.error();
            std::optional<plugin::Cause> found = plugin::FindCreationCause(*evidence);
            if (found && found->name == cause) return Ok();
            return Error::NotFound(found ? found->name + ": " + found->why : "none");
          }};
}

class TenCausesFlow : public FlowFixture {
 protected:
  void TearDown() override {
    AllowPods(scene());
    kube::IgnoreError(scene().Delete(kMutatingWebhookConfigurations, scene().ns()),
                      "it may be absent");
    FlowFixture::TearDown();
  }

  OwnNodes nodes_;
};

TEST_F(TenCausesFlow, OfImages) {
  constexpr inspection::RegistryProgram kProgram = inspection::RegistryProgram::kDebian;
  if (!IsInstalled(kProgram)) GTEST_SKIP() << HowToInstall(kProgram);
  const char* tmp = std::getenv("TEST_TMPDIR");
  const std::string folder = std::string(tmp == nullptr ? "/tmp" : tmp) + "/" + scene().ns();
  inspection::DockerRegistry registry(
      {.program = kProgram, .folder = folder, .storage = folder + "/storage", .password = true});
  const std::string insecure =
      "[[registry]]\nlocation = \"" + registry.host() + "\"\ninsecure = true\n";
  Result<> used = UseClusterConfig(DefaultClusterConfig(), insecure);
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "causes of images")
      .Do(Create(kSecrets, PullSecret("wrong", DockerConfig(registry.host(), "u", "guess"))))
      .Do(Create(
          MakePod("wrong-secret").Image(registry.host() + "/team/app:1").PullSecret("wrong")))
      .Do(Create(MakePod("registry-down").Image("10.250.254.254:5000/team/app:1")))
      .Do(Create(
          MakePod("nothing-in-common").Image(Image("demo/arm64:1")).Image(Image("demo/amd64:1"))))
      .Await(IsKeptBy("wrong-secret", "RegistryRefusesCredentials"))
      .Await(IsKeptBy("registry-down", "RegistryUnreachable"))
      .Await(IsKeptBy("nothing-in-common", "NoCommonArchitecture"));
}

TEST_F(TenCausesFlow, OfNodes) {
  const std::string name = scene().ns();
  Json node = MakeNode(name, "arm64");
  node["metadata"]["labels"]["pool"] = name;
  Json taint = {{"key", "spot"}, {"value", "yes"}, {"effect", "NoSchedule"}};
  node["spec"]["taints"] = Json::array({std::move(taint)});
  Flow(scene(), "causes of nodes")
      .Do(nodes_.Add(std::move(node)))
      .Do(Create(MakePod("tainted").Image(Image("demo/multi:1")).NodeSelector("pool", name)))
      .Do(Create(MakePod("own-selector")
                     .Image(Image("demo/multi:1"))
                     .NodeSelector(std::string(api::kArchLabel), "riscv64")))
      .Await(IsKeptBy("tainted", "NodesAreTainted"))
      .Await(IsKeptBy("own-selector", "OwnConstraint"));
}

TEST_F(TenCausesFlow, OfAShard) {
  Result<> used = UseClusterConfig(DefaultClusterConfig().Set("/spec/shardTakeoverAfter", "5m"));
  ASSERT_TRUE(used) << used.error();
  const std::vector<ProgramIn> shard = {{"shard", scene().ns()}};
  Flow flow(scene(), "a dead shard");
  flow.Do(Create(MakeConfig("only").Prefer("arm64", 77))).Await(ShardReady());
  flow.Do(StopPrograms(shard))
      .Await(NoProcessOf(shard))
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(IsKeptBy("web", "ShardNotAvailable"));
  StartPrograms(shard);
  flow.Await(Ungated("web"));
}

TEST_F(TenCausesFlow, OfTheCreation) {
  auto deployment = [&](const std::string& name) {
    return Create(MakeDeployment(name, MakePod("").Image(Image("demo/multi:1"))));
  };
  Flow flow(scene(), "causes of the creation");
  flow.Do(Create(kResourceQuotas, MakeQuota({{"pods", "0"}})))
      .Await(QuotaInForce())
      .Do(deployment("no-quota"))
      .Await(LacksPodsBy("no-quota", "QuotaExceeded"))
      .Do(Delete(kResourceQuotas, kQuotaName));
  RefusePods(scene(), "!has(object.metadata.labels) || !('unwanted' in object.metadata.labels)",
             "no such label here", MakePod("").Image("probe:1").Label("unwanted", ""));
  flow.Do(Create(MakeDeployment("refused",
                                MakePod("").Image(Image("demo/multi:1")).Label("unwanted", ""))))
      .Await(LacksPodsBy("refused", "PolicyRefuses"));
  AllowPods(scene());

  Json webhook = {{"name", "absent.example.com"},
                  {"admissionReviewVersions", Json::array({"v1"})},
                  {"sideEffects", "None"},
                  {"failurePolicy", "Fail"}};
  webhook["clientConfig"]["service"] = {{"namespace", scene().ns()}, {"name", "absent"}};
  webhook["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] = scene().ns();
  Json rule = {{"apiGroups", {""}}, {"apiVersions", {"v1"}}, {"resources", {"pods"}}};
  rule["operations"] = Json::array({"CREATE"});
  webhook["rules"] = Json::array({std::move(rule)});
  Json configuration = {{"metadata", {{"name", scene().ns()}}}};
  configuration["webhooks"] = Json::array({std::move(webhook)});
  const Condition refuses{.name = "the API server asks the webhook",
                          .holds = [this](Scene& scene) -> Result<> {
                            Json probe = MakePod("probe").Image(Image("demo/multi:1")).Build();
                            if (scene.CreateInADryRun(kPods, probe))
                              return Error::NotFound("a refusal");
                            return Ok();
                          }};
  flow.Do(Create(kMutatingWebhookConfigurations, std::move(configuration)))
      .Await(refuses)
      .Do(deployment("unreachable"))
      .Await(LacksPodsBy("unreachable", "WebhookUnreachable"));
}

TEST_F(TenCausesFlow, OfANamespace) {
  const Condition is_excluded{.name = "the API server gates no pod of the namespace",
                              .holds = [this](Scene& scene) -> Result<> {
                                Json probe = MakePod("probe").Image(Image("demo/multi:1")).Build();
                                Result<Json> stored = scene.CreateInADryRun(kPods, probe);
                                if (!stored) return stored.error();
                                if (IsGated(*stored)) return Error::NotFound("a pod without gate");
                                return Ok();
                              }};
  Json labels;
  labels["metadata"]["labels"][std::string(api::kExcludeLabel)] = "";
  Flow(scene(), "an excluded namespace")
      .Do(Change(kNamespaces, scene().ns(), std::move(labels)))
      .Await(is_excluded)
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(IsKeptBy("web", "NamespaceOptsOut"));
}

}  // namespace
}  // namespace e2e
