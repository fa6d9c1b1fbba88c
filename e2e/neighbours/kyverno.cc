// SPDX-License-Identifier: Apache-2.0
// Kyverno's admission controller beside the operator: policies that mutate pods, before the webhook
// that gates and after the policies that gate, and policies that refuse pods and their updates.
#include <iostream>
#include <memory>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "e2e/neighbours/neighbour.h"
#include "e2e/recording/expect_violation.h"
#include "kube/client/typed.h"
#include "kube/types/list_at.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

constexpr char kAddress[] = "10.250.255.250";
constexpr char kPort[] = "9443";
constexpr Resource kClusterPolicies{"kyverno.io", "v1", "clusterpolicies", "ClusterPolicy", false};

// Gets as many rights as it wants: it runs as cluster-admin. Outside of a cluster, its webhooks
// have URLs instead of a Service.
Result<std::unique_ptr<ChildProcess>> StartKyverno() {
  Result<> crds = ApplyCrds(AssetOf("kyverno-crds.yaml"));
  if (!crds) return crds.error();
  Cluster& cluster = TheCluster();
  Json ns = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "kyverno"}}}};
  auto created = cluster.Run(
      kube::CreateObject(cluster.client(), kNamespaces, kube::Unstructured(std::move(ns))));
  if (!created) return created.error();
  for (const char* name : {"kyverno", "kyverno-metrics"}) {
    Json config = {{"apiVersion", "v1"},
                   {"kind", "ConfigMap"},
                   {"metadata", {{"name", name}, {"namespace", "kyverno"}}}};
    created = cluster.Run(
        kube::CreateObject(cluster.client(), kConfigMaps, kube::Unstructured(std::move(config))));
    if (!created) return created.error();
  }
  const std::string address = std::string(kAddress) + ":" + kPort;
  const std::string service = "kyverno-svc.kyverno.svc";
  return ChildProcess::Start(
      {.path = AssetOf("kyverno"),
       .args = {"--kubeconfig=" + TheProcessCluster().control_plane().admin_kubeconfig(),
                "--serverIP=" + address, "--webhookServerHost=" + std::string(kAddress),
                "--webhookServerPort=" + std::string(kPort),
                "--caSecretName=" + service + ".kyverno-tls-ca",
                "--tlsSecretName=" + service + ".kyverno-tls-pair", "--tlsKeyAlgorithm=ECDSA",
                "--disableMetrics=true", "--controllerRuntimeMetricsAddress=0",
                "--admissionReports=false"},
       .env = {{"KYVERNO_NAMESPACE", "kyverno"},
               {"KYVERNO_SERVICEACCOUNT_NAME", "kyverno"},
               {"KYVERNO_DEPLOYMENT", "kyverno"},
               {"KYVERNO_POD_NAME", "kyverno"},
               {"KYVERNO_SVC", "kyverno-svc"},
               {"INIT_CONFIG", "kyverno"},
               {"METRICS_CONFIG", "kyverno-metrics"}},
       .log_file = LogOf("kyverno")});
}

class KyvernoFlow : public FlowFixture {
 protected:
  static void SetUpTestSuite() {
    if (AssetOf("kyverno").empty() || kyverno_ != nullptr) return;
    auto started = StartKyverno();
    ASSERT_TRUE(started) << started.error();
    kyverno_ = std::move(*started);
  }
  void SetUp() override {
    if (AssetOf("kyverno").empty()) {
      GTEST_SKIP() << "KUBEBUILDER_ASSETS has no kyverno: `e2e/cluster/build-tools.sh kyverno` "
                      "builds it";
    }
    FlowFixture::SetUp();
  }
  void TearDown() override {
    if (HasFailure()) std::cout << "log of Kyverno: " << TailOfFile(LogOf("kyverno")) << std::endl;
    if (policies_ > 0) kube::IgnoreError(scene().Delete(kClusterPolicies, scene().ns()), "the end");
    FlowFixture::TearDown();
  }

  // Creates the scene's ClusterPolicy with one rule about the pods of the scene. Retried: Kyverno's
  // own webhook refuses policies until it listens.
  Condition Policy(Json operations, Json rule) {
    ++policies_;
    Json resources = {
        {"kinds", {"Pod"}}, {"namespaces", {scene().ns()}}, {"operations", std::move(operations)}};
    rule["name"] = "rule";
    rule["match"]["any"] = Json::array({{{"resources", std::move(resources)}}});
    Json policy = {{"apiVersion", "kyverno.io/v1"},
                   {"kind", "ClusterPolicy"},
                   {"metadata", {{"name", scene().ns()}}},
                   {"spec",
                    {{"background", false},
                     {"failurePolicy", "Fail"},
                     {"rules", Json::array({std::move(rule)})}}}};
    return {"the policy is created", [policy](Scene& scene) -> Result<> {
              auto created = scene.Create(kClusterPolicies, policy);
              if (!created) return created.error();
              return Ok();
            }};
  }
  Condition Validate(Json operations, Json validation) {
    validation["failureAction"] = "Enforce";
    return Policy(std::move(operations), {{"validate", std::move(validation)}});
  }

  // What the API server answers to the creation of a pod with the label probe, in a dry run.
  // `gate`: one of its author; none if empty.
  static Result<Json> DryRun(Scene& scene, const std::string& gate = "") {
    PodBuilder pod = MakePod("probe").Image("none").Label("probe", "yes");
    if (!gate.empty()) pod.Set("/spec/schedulingGates", Json::array({{{"name", gate}}}));
    kube::ApiRequest request{.method = kube::Method::kPost,
                             .target = kPods.Path(scene.ns()) + "?dryRun=All",
                             .content_type = std::string(kube::kJson),
                             .body = kube::DumpJson(pod.Build())};
    auto answer = scene.cluster().Run(scene.cluster().client().Call(std::move(request)));
    if (!answer) return answer.error();
    return kube::ParseJson(answer->body);
  }
  static Condition RefusesPods(const std::string& words, const std::string& gate = "") {
    return {"pods are refused", [words, gate](Scene& scene) -> Result<> {
              Result<Json> pod = DryRun(scene, gate);
              if (pod) return Error::NotFound("a refusal");
              if (pod.error().message().find(words) == std::string::npos) return pod.error();
              return Ok();
            }};
  }

  PodBuilder Pod(const std::string& name) { return MakePod(name).Image(Image("demo/multi:1")); }

  static inline std::unique_ptr<ChildProcess> kyverno_;
  int policies_ = 0;
};

// By what pods are gated: Kyverno's webhooks are called before the operator's by their name, and
// after all policies.
class KyvernoMutationFlow : public KyvernoFlow, public testing::WithParamInterface<const char*> {
 protected:
  static Condition MutatesPods() {
    return {"pods are mutated", [](Scene& scene) -> Result<> {
              Result<Json> pod = DryRun(scene);
              if (!pod) return pod.error();
              return LabelOf(*pod, "team") == "web" ? Ok() : Result<>(Error::NotFound("a label"));
            }};
  }
};

TEST_P(KyvernoMutationFlow, TheMutatedPodIsPlaced) {
  if (GetParam() == std::string("Policy")) {
    if (std::string why = WhyNoGatingPolicies(); !why.empty()) GTEST_SKIP() << why;
  }
  ExpectViolation({.rule = "I5",
                   .text = "admission changed /spec/containers/0/",
                   .object = "pods " + scene().ns() + "/web",
                   .why = "Kyverno adds its container before those of the author"});
  auto used = UseClusterConfig(DefaultClusterConfig().Set("/spec/gating", GetParam()));
  ASSERT_TRUE(used) << used.error();
  Json spec = {{"nodeSelector", {{"kubernetes.io/os", "linux"}}}};
  spec["containers"] = Json::array({{{"name", "added"}, {"image", Image("demo/arm64-amd64:1")}}});
  Json patch = {{"metadata", {{"labels", {{"team", "web"}}}}}, {"spec", std::move(spec)}};
  Flow(scene(), "a policy mutates pods")
      .Do(Create(MakeConfig("only").Prefer("arm64", 33)))
      .Await(ShardReady())
      .Await(Policy({"CREATE"}, {{"mutate", {{"patchStrategicMerge", patch}}}}))
      .Await(MutatesPods())
      .Do(Create(Pod("web")))
      .Await(Requires("web", {"amd64", "arm64"}))
      .Check(Prefers("web", {{"arm64", 33}}))
      .Check(Labelled("web", "team", "web"))
      .Check(OfPod("web", "has the container and the node selector",
                   [](const Json& pod) {
                     return kube::ListAt(pod, "spec.containers").size() == 2 &&
                            kube::ObjectAt(pod, "spec.nodeSelector").size() == 1;
                   }))
      .Await(ScheduledOn("web", {"amd64", "arm64"}))
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(GateRemovedWithoutItsDecision())
      .Never(CreatedWithoutClusterGate());
}

INSTANTIATE_TEST_SUITE_P(By, KyvernoMutationFlow, testing::Values("Webhook", "Policy"),
                         [](const auto& info) { return std::string(info.param); });

class KyvernoValidationFlow : public KyvernoFlow {};

TEST_F(KyvernoValidationFlow, ARequiredLabelOfTheAuthorIsEnough) {
  Json labels = {{"metadata", {{"labels", {{"owner", "?*"}}}}}};
  Flow(scene(), "a label is required")
      .Do(Create(MakeConfig("only").Prefer("arm64", 33)))
      .Await(ShardReady())
      .Await(Validate({"CREATE", "UPDATE"},
                      {{"message", "the label owner is required"}, {"pattern", labels}}))
      .Await(RefusesPods("the label owner is required"))
      .Refused(Create(Pod("none")), {"the label owner is required"})
      .Do(Create(Pod("web").Label("owner", "web")))
      .Await(Requires("web", {"amd64", "arm64", "ppc64le", "s390x"}))
      .Check(Prefers("web", {{"arm64", 33}}));
}

TEST_F(KyvernoValidationFlow, GatesMustBeAllowed) {
  auto allow = [](Json gates) {
    Json condition = {{"key", "{{ request.object.spec.schedulingGates[].name || `[]` }}"},
                      {"operator", "AnyNotIn"},
                      {"value", std::move(gates)}};
    Json deny = {{"conditions", {{"any", Json::array({std::move(condition)})}}}};
    return Json({{"message", "a scheduling gate is unknown"}, {"deny", std::move(deny)}});
  };
  Flow(scene(), "gates are refused")
      .Await(Validate({"CREATE"}, allow({"example.com/known"})))
      .Await(RefusesPods("a scheduling gate is unknown"))
      .Refused(Create(Pod("web")), {"a scheduling gate is unknown"})
      .Do(Delete(kClusterPolicies, scene().ns()))
      .Await(Validate({"CREATE"}, allow({"example.com/known", std::string(api::kClusterGate),
                                         std::string(api::kLocalGate)})))
      .Await(RefusesPods("a scheduling gate is unknown", "example.com/unknown"))
      .Do(Create(Pod("allowed")))
      .Await(Requires("allowed", {"amd64", "arm64", "ppc64le", "s390x"}));
}

TEST_F(KyvernoValidationFlow, APodWhoseAffinityMayNotChangeIsReleasedWithoutIt) {
  Json changes = {{"key", "{{ request.object.spec.affinity || `{}` }}"},
                  {"operator", "NotEquals"},
                  {"value", "{{ request.oldObject.spec.affinity || `{}` }}"}};
  // Shows that the policy is in force.
  Json is_probe = {{"key", "{{ request.object.metadata.labels.probe || '' }}"},
                   {"operator", "Equals"},
                   {"value", "yes"}};
  Json deny = {{"conditions", {{"any", Json::array({changes, is_probe})}}}};
  Flow(scene(), "the affinity may not change")
      .Await(Validate({"CREATE", "UPDATE"},
                      {{"message", "the affinity may not change"}, {"deny", std::move(deny)}}))
      .Await(RefusesPods("the affinity may not change"))
      .Do(Create(Pod("web")))
      .Await(Ungated("web"))
      .Await(EventAbout("web", std::string(api::kReasonGateRemovalFailed),
                        {"the affinity may not change"}))
      .Check(OfPod("web", "has no affinity",
                   [](const Json& pod) { return kube::Find(pod, "spec.affinity") == nullptr; }));
}

}  // namespace
}  // namespace e2e
