// SPDX-License-Identifier: Apache-2.0
// What the conditions that we give the API server cost it: for pods with lists as long as a tenant
// can make them, not more than the pods themselves. Copies of all webhook entries and gating
// policies are in force in one of two namespaces, with a last condition that none of them meets.
#include <chrono>
#include <iostream>
#include <utility>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/process_cost.h"
#include "kube/types/kinds.h"
#include "operator/objects/gating_policies.h"
#include "operator/objects/webhook_configurations.h"
#include "scheduling-policies/flows/policy_flow.h"
#include "scheduling-policies/operator/policy_objects.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;
using std::chrono::nanoseconds;

constexpr int kItems = 40'000;
constexpr char kWithConditions[] = "with-conditions";
constexpr char kProbePolicy[] = "probe";
// The API server copies a pod for each policy, which alone is up to four times as much for lists
// that are cheap to read. A walk of a list of this length takes 5 s, thirty times as much.
constexpr int kMaxRatio = 8;

class ConditionCostFlow : public PolicyFlow {
 protected:
  void SetUp() override {
    PolicyFlow::SetUp();
    if (HasFatalFailure()) return;
#ifdef BUILT_WITH_SANITIZER
    GTEST_SKIP() << "pods of 3 MB take minutes";
#endif
    auto made = Scene::Make(cluster(), "conditions", Json::object());
    ASSERT_TRUE(made) << made.error();
    conditions_ = std::move(*made);
    Flow(*conditions_, "no webhook of the operator selects it")
        .Do(Change(kNamespaces, conditions_->ns(),
                   {{"metadata", {{"labels", {{kSceneLabel, kWithConditions}}}}}}));
  }
  void TearDown() override {
    for (auto object = created_.rbegin(); object != created_.rend(); ++object)
      kube::IgnoreError(scene().Delete(object->resource, object->key.name), "it may be absent");
    conditions_.reset();
    PolicyFlow::TearDown();
  }

  void Write(const Resource& resource, Json body) {
    std::string name = "e2e-cost-" + kube::StringAt(body, "metadata.name");
    body["metadata"] = {{"name", name}};
    if (body.contains("spec") && body["spec"].contains("policyName"))
      body["spec"]["policyName"] = name;
    Result<Json> created = scene().Create(resource, body);
    ASSERT_TRUE(created) << name << ": " << created.error();
    created_.push_back({resource, {"", name}});
  }

  // The entries select the namespace. The probe is called, and refuses what has its label.
  void WriteWebhooks(const operator_::OperandOptions& options,
                     const api::ClusterPodPlacementConfig& config,
                     const api::PodPlacementConfigs& configs) {
    const std::string& ns = conditions_->ns();
    Json webhooks = Json::array();
    for (const Json& configuration :
         {operator_::PolicyWebhookConfiguration({.everywhere = true}, {}, "", options).object,
          operator_::ClusterWebhookConfiguration(config, {ns}, "", options),
          operator_::ShardWebhookConfiguration(ns, configs, {}, {}, "", options)}) {
      for (Json webhook : configuration["webhooks"]) {
        webhook["name"] = "e" + std::to_string(webhooks.size()) + ".conditions.test";
        webhook["rules"][0] = PodsAreCreated();
        webhook["rules"].erase(webhook["rules"].begin() + 1, webhook["rules"].end());
        webhook["namespaceSelector"] = {{"matchLabels", {{"kubernetes.io/metadata.name", ns}}}};
        webhook["objectSelector"] = Json::object();
        webhook["clientConfig"].erase("caBundle");
        webhook["matchConditions"].push_back(Never());
        webhooks.push_back(webhook);
      }
    }
    Json probe = webhooks.front();
    probe["name"] = "probe.conditions.test";
    probe.erase("matchConditions");
    probe["objectSelector"] = {{"matchLabels", {{"probe", "webhooks"}}}};
    probe["failurePolicy"] = "Fail";
    webhooks.push_back(probe);
    Json object = {{"metadata", {{"name", "webhooks"}}}, {"webhooks", std::move(webhooks)}};
    Write(kube::kMutatingWebhookConfigurations, std::move(object));
  }
  static Json Never() { return {{"name", "never"}, {"expression", "false"}}; }
  static Json PodsAreCreated() {
    return {{"operations", Json::array({"CREATE"})},
            {"apiGroups", Json::array({""})},
            {"apiVersions", Json::array({"v1"})},
            {"resources", Json::array({"pods"})},
            {"scope", "Namespaced"}};
  }

  void PutConditionsInForce() {
    operator_::OperandOptions options;
    options.ns = cluster().operator_namespace();
    api::ClusterPodPlacementConfig config =
        MakeClusterConfig().ForNamespaces(kSceneLabel, kWithConditions);
    ConfigBuilder builder = MakeConfig("prefs").ForLabel("app", "web").Prefer("arm64", 5);
    // The parameter of a policy.
    Flow(*conditions_, "a config").Do(Create(builder));
    api::PodPlacementConfig ppc = builder.Namespace(conditions_->ns());
    api::PodPlacementConfigs configs = api::InForce({&ppc});
    WriteWebhooks(options, config, configs);
    for (const auto& objects :
         {operator_::ClusterGatingPolicies(config, {conditions_->ns()}, options),
          operator_::LocalGatingPolicy({}, options)}) {
      for (const operator_::DesiredObject& object : objects) {
        if (!object.wanted) continue;
        Json body = object.body;
        if (body["spec"].contains("matchConditions"))
          body["spec"]["matchConditions"].push_back(Never());
        Write(object.resource, std::move(body));
      }
    }
    // After the others: an API server that knows this one knows those, too.
    config = MakeClusterConfig().ForNamespaces(kSceneLabel, kWithConditions).Prefer("arm64", 5);
    for (operator_::DesiredObject object : operator_::ClusterGatingPolicies(config, {}, options)) {
      if (!object.wanted) continue;
      object.body["metadata"]["name"] = kProbePolicy;
      if (object.body["spec"].contains("policyName")) {
        object.body["spec"]["matchResources"]["objectSelector"] = {
            {"matchLabels", {{"probe", "policies"}}}};
      }
      Write(object.resource, std::move(object.body));
    }
    Flow(scene(), "the API server knows the conditions").Await(ConditionsAreInForce());
  }
  Condition ConditionsAreInForce() {
    return {"one probe is gated, and the other refused", [this](Scene&) -> Result<> {
              Result<Json> gated =
                  DryRunIn(conditions_->ns(), Plain().Label("probe", "policies").Build());
              if (!gated) return gated.error();
              if (!HasGate(*gated, api::kClusterGate)) return Error::NotFound("the gate");
              Result<Json> probe =
                  DryRunIn(conditions_->ns(), Plain().Label("probe", "webhooks").Build());
              if (probe) return Error::NotFound("the probe's webhook");
              return Ok();
            }};
  }

  static PodBuilder Plain() { return MakePod("a").Image("registry.example/web:1"); }

  Result<Json> DryRunIn(const std::string& ns, const Json& pod) {
    Result<std::string> created = CreatedIn(ns, pod);
    if (!created) return created.error();
    return kube::ParseJson(*created);
  }
  // The pod as the API server would store it, as text.
  Result<std::string> CreatedIn(const std::string& ns, const Json& pod) {
    kube::ApiRequest request{.method = kube::Method::kPost,
                             .target = kPods.Path(ns) + "?dryRun=All",
                             .content_type = std::string(kube::kJson),
                             .body = kube::DumpJson(pod),
                             .timeout = std::chrono::seconds(60)};
    auto answer = cluster().Run(cluster().client().Call(std::move(request)));
    if (!answer) return answer.error();
    return std::move(answer->body);
  }

  // The CPU time of the API server for creations of the pod. Validation may refuse it, afterwards.
  nanoseconds CostIn(const std::string& ns, const Json& pod) {
    pid_t pid = TheProcessCluster().control_plane().Pids()["kube-apiserver"];
    auto before = CostOf(pid);
    for (int i = 0; i < 2; ++i) {
      Result<std::string> created = CreatedIn(ns, pod);
      bool answered = created || created.error().code() == kube::Code::kInvalid;
      EXPECT_TRUE(answered) << created.error();
    }
    auto after = CostOf(pid);
    EXPECT_TRUE(before && after);
    return before && after ? after->cpu - before->cpu : nanoseconds(0);
  }

  // `count` items, each `item` with its number in the place of "%".
  static Json List(const std::string& item) {
    std::string text = "[";
    for (int i = 0; i < kItems; ++i) {
      std::string one = item;
      for (size_t at; (at = one.find('%')) != std::string::npos;)
        one.replace(at, 1, std::to_string(i));
      text += (i == 0 ? "" : ",") + one;
    }
    return kube::MustParseJson(text + "]");
  }

  std::unique_ptr<Scene> conditions_;
  std::vector<operator_::ObjectId> created_;
};

TEST_F(ConditionCostFlow, LongListsCostNoMoreThanThePodItself) {
  PutConditionsInForce();
  if (HasFailure()) return;
  Json labels = Json::object();
  for (int i = 0; i < kItems; ++i) labels["l" + std::to_string(i)] = "";
  const std::string term = R"({"matchExpressions":[{"key":"z","operator":"Exists"}]})";
  const std::string node_affinity = "/spec/affinity/nodeAffinity/";
  const std::pair<const char*, PodBuilder> rows[] = {
      {"owners", Plain().Set("/metadata/ownerReferences",
                             List(R"({"apiVersion":"v1","kind":"N","name":"n","uid":"%"})"))},
      {"tolerations",
       Plain().Set("/spec/tolerations", List(R"({"key":"k%","operator":"Exists"})"))},
      {"containers", Plain().Set("/spec/containers", List(R"({"name":"c%","image":"i"})"))},
      {"labels", Plain().Set("/metadata/labels", labels)},
      {"gates", Plain().Set("/spec/schedulingGates", List(R"({"name":"g%"})"))},
      {"required terms",
       Plain().Set(
           node_affinity + "requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms",
           List(term))},
      {"preferred terms",
       Plain().Set(node_affinity + "preferredDuringSchedulingIgnoredDuringExecution",
                   List(R"({"weight":1,"preference":{}})"))},
  };
  for (const auto& [name, pod] : rows) {
    Json object = pod.Build();
    nanoseconds alone = CostIn(scene().ns(), object);
    nanoseconds with = CostIn(conditions_->ns(), object);
    auto ms = [](nanoseconds time) { return time.count() / 1'000'000 / 2; };
    std::cout << "figure: 40,000 " << name << ": " << ms(alone)
              << " ms CPU a pod, with all conditions " << ms(with) << " ms" << std::endl;
    EXPECT_LT(with.count(), kMaxRatio * alone.count()) << name;
  }
}

}  // namespace
}  // namespace e2e
