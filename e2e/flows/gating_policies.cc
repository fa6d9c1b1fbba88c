// SPDX-License-Identifier: Apache-2.0
// Gating by policy (operator/objects/gating_policies.h) does to new pods what gating by webhook
// does: one table of pods, each created by a dry run in a namespace that webhooks gate and in one
// that policies gate. The policies are copies that the operator does not know, so that both are in
// force at the same time.
#include "operator/objects/gating_policies.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>

#include "api/excluded_namespaces.h"
#include "api/known_images.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/process_cost.h"
#include "e2e/flows/gating_cases.h"
#include "e2e/framework/flow_fixture.h"
#include "image-facts/policy/make_known_table.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using kube::Code;
using kube::Error;
using kube::Ok;
using kube::Result;
using std::chrono::nanoseconds;

constexpr char kByPolicies[] = "by-policies";
const std::string kRecord(api::kLocalConfigsAnnotation);

// A pod of a dry run without what differs between two namespaces, or between two creations. With
// policies, neither the gates nor the entries of the record have an order.
Json Comparable(Json pod) {
  Json& metadata = pod["metadata"];
  for (const char* field : {"namespace", "uid", "creationTimestamp", "managedFields"})
    metadata.erase(field);
  if (metadata.contains("generateName")) metadata.erase("name");
  for (Json& condition : pod["status"]["conditions"]) condition.erase("lastTransitionTime");
  if (pod["spec"].contains("schedulingGates")) {
    Json& gates = pod["spec"]["schedulingGates"];
    std::sort(gates.begin(), gates.end());
  }
  if (metadata.contains("annotations") && metadata["annotations"].contains(kRecord)) {
    std::stringstream text(metadata["annotations"][kRecord].get<std::string>());
    std::vector<std::string> entries;
    for (std::string entry; std::getline(text, entry, ',');) entries.push_back(entry);
    std::sort(entries.begin(), entries.end());
    metadata["annotations"][kRecord] = entries;
  }
  return pod;
}

std::string GatesOf(const Json& pod) {
  std::string gates;
  if (HasGate(pod, api::kClusterGate)) gates += "c";
  if (HasGate(pod, api::kLocalGate)) gates += "l";
  return gates;
}

class GatingPoliciesFlow : public FlowFixture {
 protected:
  void SetUp() override {
    FlowFixture::SetUp();
    if (std::string why = WhyNoGatingPolicies(); !why.empty()) GTEST_SKIP() << why;
  }
  void TearDown() override {
    for (auto object = created_.rbegin(); object != created_.rend(); ++object)
      kube::IgnoreError(scene().Delete(object->resource, object->key.name), "it may be absent");
    FlowFixture::TearDown();
  }

  // A namespace that no webhook gates.
  std::unique_ptr<Scene> NamespaceForPolicies(const std::string& name) {
    auto made = Scene::Make(cluster(), name, Json::object());
    EXPECT_TRUE(made) << made.error();
    if (!made) return nullptr;
    Flow(**made, "no webhook selects it")
        .Do(Change(kNamespaces, (*made)->ns(),
                   {{"metadata", {{"labels", {{kSceneLabel, kByPolicies}}}}}}));
    return std::move(*made);
  }

  operator_::OperandOptions Options() {
    operator_::OperandOptions options;
    options.ns = cluster().operator_namespace();
    options.excluded_namespaces = excluded_;
    return options;
  }

  void Write(const operator_::DesiredObjects& objects) {
    for (const operator_::DesiredObject& object : objects) {
      if (!object.wanted) continue;
      Json body = object.body;
      std::string name = "e2e-" + object.Key().name;
      body["metadata"] = {{"name", name}};
      // The operator, which gates by webhooks, says so in the status.
      if (body["spec"].contains("matchConditions")) {
        Json& conditions = body["spec"]["matchConditions"];
        std::erase_if(conditions.get_ref<Json::array_t&>(),
                      [](const Json& condition) { return condition["name"] == "gated-by-policy"; });
      }
      if (body["spec"].contains("policyName")) body["spec"]["policyName"] = name;
      Result<Json> created = scene().Create(object.resource, body);
      ASSERT_TRUE(created) << name << ": " << created.error();
      created_.push_back({object.resource, {"", name}});
      // Defaults that are written down cost no second write.
      Json spec = (*created)["spec"];
      EXPECT_EQ(spec, body["spec"]) << Json::diff(body["spec"], spec);
    }
  }

  // Writes the policies and `configs` of namespace `ns`, and waits until the API server applies the
  // policies.
  void WritePolicies(const ClusterConfigBuilder& cluster_config,
                     const std::vector<ConfigBuilder>& configs, Scene& of_policies,
                     const operator_::KnownTable& known = {},
                     std::vector<std::string> preferring = {}) {
    api::ClusterPodPlacementConfig config = cluster_config;
    ASSERT_TRUE(config.problems.empty());
    const std::string& ns = of_policies.ns();
    for (const ConfigBuilder& one : configs) {
      Flow(of_policies, "configs").Do(Create(one));
    }
    if (!configs.empty()) preferring.push_back(ns);
    Write(operator_::ClusterGatingPolicies(config, preferring, Options(), known));
    Write(operator_::LocalGatingPolicy(config.spec.excluded_scheduler_names, Options()));
    // The API server may still apply the probe of the test before.
    std::string hash = scene().ns();
    Write(operator_::GatingProbe(hash, Options()));
    Flow(scene(), "policies").Await(ProbeIsAnswered(hash));
  }

  static Condition ProbeIsAnswered(const std::string& hash) {
    return {"the API server applies the policies", [hash](Scene& scene) -> Result<> {
              std::string key(operator_::kGatingProbeLabel);
              Json probe = MakeDeployment("probe", MakePod("probe").Image("registry.example/a:1"))
                               .Label(key, hash)
                               .Build();
              Result<Json> answer =
                  DryRun(scene, kube::kDeployments, scene.cluster().operator_namespace(), probe);
              if (!answer) return answer.error();
              if (AnnotationOf(*answer, key) != hash) return Error::NotFound("the annotation");
              return Ok();
            }};
  }

  static Result<Json> DryRun(Scene& scene, const Resource& resource, const std::string& ns,
                             Json object) {
    object["metadata"]["namespace"] = ns;
    return scene.CreateInADryRun(resource, object);
  }

  // The pod as the API server would store it in `ns`; its refusal as a text.
  Json Created(const std::string& ns, Json pod) {
    // The volume of the token has a random name.
    pod["spec"]["automountServiceAccountToken"] = false;
    Result<Json> answer = DryRun(scene(), kPods, ns, pod);
    if (answer) return Comparable(*answer);
    // A panic in the API server, above all, closes the connection.
    EXPECT_TRUE(answer.error().code() == Code::kInvalid ||
                answer.error().code() == Code::kPermissionDenied)
        << ns << ": " << answer.error();
    return std::string(kube::CodeName(answer.error().code()));
  }

  // A pod that requires its architecture gets the cluster gate, or not.
  Condition RequiringPodsAreGated(const std::string& ns, bool gated) {
    return {"the webhook of pods that require an architecture",
            [this, ns, gated](Scene&) -> Result<> {
              Json pod = MakePod("a").Image("a:1").NodeSelector(kArch, "arm64").Build();
              Json created = Created(ns, pod);
              if (!created.is_object() || HasGate(created, api::kClusterGate) != gated)
                return Error::NotFound(kube::DumpJson(created));
              return Ok();
            }};
  }

  Condition ExcludedPodsAreNotGated(const std::string& ns) {
    return {"webhooks know the excluded schedulers", [this, ns](Scene&) -> Result<> {
              Json pod =
                  MakePod("a").Image("a:1").Set("/spec/schedulerName", kExcludedScheduler).Build();
              Json created = Created(ns, pod);
              if (!created.is_object() || IsGated(created))
                return Error::NotFound(kube::DumpJson(created));
              return Ok();
            }};
  }

  // `cluster_config` selects the namespaces of webhooks.
  void CompareAll(ClusterConfigBuilder cluster_config, bool preferences) {
    cluster_config.Set("/spec/excludedSchedulerNames", Json::array({"other", kExcludedScheduler}));
    auto used = UseClusterConfig(cluster_config);
    ASSERT_TRUE(used) << used.error();
    auto plain = Scene::Make(cluster(), "plain", Json::object());
    ASSERT_TRUE(plain) << plain.error();
    auto by_policies = NamespaceForPolicies("policies");
    auto plain_by_policies = NamespaceForPolicies("plain-policies");
    ASSERT_TRUE(by_policies && plain_by_policies);

    Flow flow(scene(), "webhooks");
    std::vector<ConfigBuilder> configs = GatingConfigs();
    for (const ConfigBuilder& config : configs) flow.Do(Create(config));
    flow.Await(ShardReady())
        .Await(RequiringPodsAreGated(scene().ns(), true))
        .Await(RequiringPodsAreGated((*plain)->ns(), preferences))
        .Await(ExcludedPodsAreNotGated(scene().ns()));
    ClusterConfigBuilder selecting = cluster_config;
    selecting.ForNamespaces(kSceneLabel, kByPolicies);
    WritePolicies(selecting, configs, *by_policies);
    if (HasFailure() || flow.failed()) return;

    int gated = 0;
    for (const GatingCase& one : GatingCases()) {
      Json webhooks = Created(scene().ns(), one.pod);
      Json policies = Created(by_policies->ns(), one.pod);
      EXPECT_EQ(policies, webhooks) << one.name << ": " << Json::diff(webhooks, policies);
      if (one.gates && !preferences) {
        EXPECT_EQ(GatesOf(policies), *one.gates) << one.name;
      }
      gated += GatesOf(policies) == "cl";
      webhooks = Created((*plain)->ns(), one.pod);
      policies = Created(plain_by_policies->ns(), one.pod);
      EXPECT_EQ(policies, webhooks)
          << one.name << ", without configs: " << Json::diff(webhooks, policies);
    }
    EXPECT_GT(gated, 50);
  }

  // The CPU time of the API server for the creation of kPodsForCost pods: the least of some times,
  // as other processes and its own garbage collection only add to it.
  nanoseconds CostOfPodsIn(const std::string& ns) {
    Json pod = MakePod("a").Image("registry.example/web:1").Label("app", "web").Build();
    pid_t pid = TheProcessCluster().control_plane().Pids()["kube-apiserver"];
    nanoseconds least = nanoseconds::max();
    for (int time = 0; time < 5; ++time) {
      auto before = CostOf(pid);
      for (int i = 0; i < kPodsForCost; ++i) Created(ns, pod);
      auto after = CostOf(pid);
      EXPECT_TRUE(before && after);
      if (before && after) least = std::min(least, nanoseconds(after->cpu - before->cpu));
    }
    return least;
  }

  static constexpr int kPodsForCost = 200;
  static inline const std::string kArch{api::kArchLabel};
  api::ExcludedNamespaces excluded_;

 private:
  std::vector<operator_::ObjectId> created_;
};

TEST_F(GatingPoliciesFlow, TheyDoWhatWebhooksDo) { CompareAll(DefaultClusterConfig(), false); }

TEST_F(GatingPoliciesFlow, TheyDoWhatWebhooksDoWithPreferencesOfTheCluster) {
  CompareAll(DefaultClusterConfig().Prefer("arm64", 5), true);
}

TEST_F(GatingPoliciesFlow, ReservedNamespacesAreNotGated) {
  auto reserved = Scene::Open(cluster(), "kube-e2e-gating");
  ASSERT_TRUE(reserved) << reserved.error();
  auto other = NamespaceForPolicies("other");
  ASSERT_TRUE(other);
  WritePolicies(MakeClusterConfig().Prefer("arm64", 5), {}, *other);
  Json pod = MakePod("a").Image("registry.example/web:1").Build();
  // The quota of the operator's namespace wants them.
  pod["spec"]["containers"][0]["resources"]["limits"] = {{"cpu", "1m"}, {"memory", "1Mi"}};
  EXPECT_EQ(GatesOf(Created(other->ns(), pod)), "c");
  for (const std::string& ns :
       {std::string("kube-system"), (*reserved)->ns(), cluster().operator_namespace()}) {
    Json created = Created(ns, pod);
    ASSERT_TRUE(created.is_object()) << ns << ": " << created;
    EXPECT_EQ(GatesOf(created), "") << ns;
    EXPECT_FALSE(created["metadata"].contains("labels")) << ns;
  }
}

image_facts::KnownImage Known(std::string image, std::vector<std::string> architectures) {
  placement::ImagePlatforms platforms;
  for (std::string& architecture : architectures)
    platforms.platforms.push_back({"linux", std::move(architecture)});
  return {std::move(image), std::make_shared<const placement::ImagePlatforms>(platforms)};
}

const std::string kDigest = "@sha256:" + std::string(64, 'a');

// What decides about images in the flows below.
operator_::KnownTable TableFor(const ClusterConfigBuilder& config) {
  std::vector<image_facts::KnownImage> images = {
      Known("docker.io/library/nginx:1", {"amd64", "arm64"}), Known("r.io/z:1", {"amd64", "s390x"}),
      Known("r.io/arm" + kDigest, {"arm64"})};
  // As many as a table can have.
  for (int i = 0; i < 900; ++i)
    images.push_back(Known("registry.example.com/some-team/application-" + std::to_string(i) + ":1",
                           {"amd64", "arm64"}));
  return image_facts::MakeKnownTable(images, config);
}

PodBuilder PodOf(std::initializer_list<std::string> images) {
  PodBuilder pod = MakePod("a");
  for (const std::string& image : images) pod.Image(image);
  return pod;
}

Json InitContainers(const std::string& image) {
  return Json::array({{{"name", "init"}, {"image", image}}});
}

Json Gates(std::string_view gate) { return Json::array({{{"name", gate}}}); }

// The values of the one required term; null if there is another requirement, or none.
Json Required(const Json& pod) {
  const Json* terms =
      kube::Find(pod,
                 "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                 "nodeSelectorTerms");
  if (terms == nullptr || terms->size() != 1 || (*terms)[0]["matchExpressions"].size() != 1)
    return Json();
  return (*terms)[0]["matchExpressions"][0]["values"];
}

bool IsPlacedAtCreation(const Json& pod) {
  return pod["metadata"].contains("labels") &&
         pod["metadata"]["labels"].contains(std::string(api::kPlacedAtCreationLabel));
}

TEST_F(GatingPoliciesFlow, PodsOfKnownImagesArePlaced) {
  auto by_policies = NamespaceForPolicies("policies");
  ASSERT_TRUE(by_policies);
  ClusterConfigBuilder config =
      MakeClusterConfig().ForNamespaces(kSceneLabel, kByPolicies).Prefer("arm64", 5);
  WritePolicies(config, {}, *by_policies, TableFor(config));
  const Json amd64 = {"amd64"}, arm64 = {"arm64"}, both = {"amd64", "arm64"};
  PodBuilder many = MakePod("a");
  for (int i = 0; i < 32; ++i) many.Image("registry.example.com/some-team/application-7:1");
  PodBuilder busy = PodOf({"nginx:1"});
  for (int i = 0; i < 30; ++i)
    busy.Label("team/" + std::to_string(i), "x").Annotation("note/" + std::to_string(i), "x");
  const std::vector<std::pair<Json, Json>> pods = {
      {PodOf({"nginx:1"}).Build(), both},
      {PodOf({"docker.io/library/nginx:1"}).Build(), both},
      {PodOf({"nginx:1", "r.io/z:1"}).Build(), amd64},
      {PodOf({"nginx:1"}).Set("/spec/initContainers", InitContainers("r.io/z:1")).Build(), amd64},
      {PodOf({"r.io/arm" + kDigest}).Set("/spec/containers/0/imagePullPolicy", "Always").Build(),
       arm64},
      {many.Build(), both},
      {busy.Build(), both},
      {PodOf({"nginx:1"}).NodeSelector("disk", "ssd").Build(), both},
      {PodOf({"nginx:1"})
           .Set("/spec/volumes", Json::array({{{"name", "v"}, {"emptyDir", Json::object()}}}))
           .Build(),
       both},
      {PodOf({"nginx:1"})
           .Set("/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution",
                Json::array({{{"topologyKey", "zone"}}}))
           .Build(),
       both},
  };
  for (const auto& [pod, required] : pods) {
    Json created = Created(by_policies->ns(), pod);
    EXPECT_EQ(Required(created), required) << created;
    EXPECT_EQ(GatesOf(created), "") << created;
    EXPECT_TRUE(IsPlacedAtCreation(created)) << created;
    const Json labels = pod["metadata"].value("labels", Json::object());
    for (const auto& [key, value] : labels.items())
      EXPECT_EQ(created["metadata"]["labels"][key], value);
    // A copy of it stays as it is.
    Json copy = created;
    Json again = Created(by_policies->ns(), copy);
    EXPECT_EQ(GatesOf(again), "");
    EXPECT_EQ(again["spec"]["affinity"], created["spec"]["affinity"]);
    EXPECT_EQ(again["metadata"]["labels"], created["metadata"]["labels"]);
    // One with another image gets the gate, as nothing is known about it.
    Json with_volume = copy, pulled = copy;
    copy["spec"]["containers"][0]["image"] = "unknown:1";
    with_volume["spec"]["volumes"].push_back(
        {{"name", "image"}, {"image", {{"reference", "unknown:1"}}}});
    pulled["spec"]["containers"][0]["image"] = "nginx:1";
    pulled["spec"]["containers"][0]["imagePullPolicy"] = "Always";
    for (const Json& other : {copy, with_volume, pulled}) {
      again = Created(by_policies->ns(), other);
      EXPECT_EQ(GatesOf(again), "c") << other;
      EXPECT_FALSE(IsPlacedAtCreation(again)) << other;
    }
  }
}

// Injects a container, as a webhook or a policy of others does, before or after the pod was placed.
TEST_F(GatingPoliciesFlow, APlacedPodThatGetsAnotherImageIsGated) {
  auto by_policies = NamespaceForPolicies("policies");
  ASSERT_TRUE(by_policies);
  operator_::DesiredObjects injector = operator_::GatingProbe("x", Options());
  for (size_t i : {0, 1}) injector[i].body["metadata"]["name"] = "injector";
  Json& spec = injector[0].body["spec"];
  spec["matchConstraints"]["resourceRules"][0]["resources"] = {"pods"};
  spec["matchConstraints"]["resourceRules"][0]["apiGroups"] = {""};
  spec["matchConditions"] = {
      {{"name", "once"}, {"expression", "size(object.spec.containers) == 1"}}};
  spec["mutations"][0]["jsonPatch"]["expression"] =
      "[JSONPatch{op: 'add', path: '/spec/containers/-', value: {'name': 'injected', 'image': "
      "'unknown:1'}}]";
  injector[1].body["spec"]["policyName"] = "injector";
  injector[1].body["spec"]["matchResources"]["namespaceSelector"] = {
      {"matchLabels", {{kSceneLabel, kByPolicies}}}};
  injector[1].body["spec"]["matchResources"]["objectSelector"] = {
      {"matchLabels", {{"inject", "x"}}}};
  Write(injector);
  ClusterConfigBuilder config = MakeClusterConfig().ForNamespaces(kSceneLabel, kByPolicies);
  WritePolicies(config, {}, *by_policies, TableFor(config));
  Json pod = PodOf({"nginx:1"}).Label("inject", "x").Build();
  Json created = Created(by_policies->ns(), pod);
  EXPECT_EQ(created["spec"]["containers"].size(), 2u) << created;
  EXPECT_EQ(GatesOf(created), "c") << created;
  EXPECT_FALSE(IsPlacedAtCreation(created)) << created;
  // If it was placed before, the cluster controller narrows what it requires.
  const Json label = created["metadata"]["labels"][std::string(api::kNodeAffinityLabel)];
  EXPECT_EQ(label, Required(created).is_null() ? "not-set" : "set") << created;
}

// An expression that fails would leave the pod without a gate.
TEST_F(GatingPoliciesFlow, WhateverIsNotKnownIsGated) {
  auto by_policies = NamespaceForPolicies("policies");
  auto configured = NamespaceForPolicies("configured");
  ASSERT_TRUE(by_policies && configured);
  ClusterConfigBuilder config = MakeClusterConfig().ForNamespaces(kSceneLabel, kByPolicies);
  WritePolicies(config, {}, *by_policies, TableFor(config), {configured->ns()});
  PodBuilder many = MakePod("a"), labelled = PodOf({"nginx:1"});
  for (int i = 0; i < 33; ++i) {
    many.Image("nginx:1");
    labelled.Label("team/" + std::to_string(i), "x");
  }
  const std::vector<Json> pods = {
      PodOf({"nginx"}).Build(),
      PodOf({"nginx:2"}).Build(),
      PodOf({"nginx:1", "nginx:2"}).Build(),
      PodOf({"nginx:1"}).Set("/spec/initContainers", InitContainers("nginx:2")).Build(),
      PodOf({"r.io/z:1", "r.io/arm" + kDigest}).Build(),
      PodOf({std::string(600, 'a')}).Build(),
      PodOf({"nginx:1"}).Set("/spec/containers/0/imagePullPolicy", "Always").Build(),
      PodOf({"nginx:1"}).Set("/spec/containers/0/imagePullPolicy", "Never").Build(),
      PodOf({"nginx:1"}).Set("/spec/os", {{"name", "linux"}}).Build(),
      PodOf({"nginx:1"}).NodeSelector("kubernetes.io/os", "linux").Build(),
      PodOf({"nginx:1"})
          .Set("/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
               "nodeSelectorTerms",
               Json::array({{{"matchExpressions",
                              Json::array({{{"key", "disk"}, {"operator", "Exists"}}})}}}))
          .Build(),
      PodOf({"nginx:1"})
          .Set("/spec/volumes",
               Json::array({{{"name", "v"}, {"image", {{"reference", "nginx:1"}}}}}))
          .Build(),
      PodOf({"nginx:1"}).Set("/spec/schedulingGates", Gates("example.com/other")).Build(),
      PodOf({"nginx:1"}).Set("/spec/schedulingGates", Gates(api::kClusterGate)).Build(),
      PodOf({"nginx:1"}).Label(std::string(api::kNodeAffinityLabel), "set").Build(),
      PodOf({"nginx:1"}).Annotation("multiarch.openshift.io/x", "set").Build(),
      PodOf({"nginx:1"}).Label(std::string(api::kPlacedAtCreationLabel), "").Build(),
      many.Build(),
      labelled.Build(),
  };
  for (const Json& pod : pods) {
    Json created = Created(by_policies->ns(), pod);
    EXPECT_EQ(GatesOf(created), "c") << created;
    EXPECT_FALSE(IsPlacedAtCreation(created)) << created;
  }
  Json known = PodOf({"nginx:1"}).Build();
  EXPECT_EQ(GatesOf(Created(by_policies->ns(), known)), "");
  EXPECT_EQ(GatesOf(Created(configured->ns(), known)), "c");
}

// Each pod of the cluster pays for a policy, but not for the configs of other namespaces.
TEST_F(GatingPoliciesFlow, ConfigsOfOtherNamespacesCostAPodNothing) {
#ifdef BUILT_WITH_SANITIZER
  GTEST_SKIP() << "it compares CPU times";
#endif
  const char* count = std::getenv("GATING_NAMESPACES");
  const int namespaces = count == nullptr ? 20 : std::atoi(count);
  constexpr int kConfigsEach = 10;
  auto by_policies = NamespaceForPolicies("policies");
  ASSERT_TRUE(by_policies);
  const std::string& other = scene().ns();
  nanoseconds alone = CostOfPodsIn(other);
  Flow flow(scene(), "configs");
  std::vector<std::string> names;
  for (int i = 0; i < namespaces && !flow.failed(); ++i) {
    names.push_back(by_policies->ns() + "-" + std::to_string(i));
    kube::core::Namespace ns;
    ns.mutable_metadata()->set_name(names.back());
    auto created = cluster().Run(kube::Create(cluster().client(), std::move(ns)));
    ASSERT_TRUE(created) << created.error();
    for (int j = 0; j < kConfigsEach; ++j) {
      Json config = MakeConfig("c" + std::to_string(j))
                        .Priority(j)
                        .ForLabel("app", "web")
                        .Prefer("arm64", 5)
                        .Build();
      config["metadata"]["namespace"] = names.back();
      auto object = cluster().Run(
          kube::CreateObject(cluster().client(), kConfigs, kube::Unstructured(std::move(config))));
      ASSERT_TRUE(object) << object.error();
    }
  }
  WritePolicies(MakeClusterConfig().ForNamespaces(kSceneLabel, kByPolicies), {}, *by_policies);
  flow.Await({"the last config is known", [&](Scene&) -> Result<> {
                Json pod = MakePod("a").Image("registry.example/web:1").Label("app", "web").Build();
                std::string gates = GatesOf(Created(names.back(), pod));
                if (gates == "l") return Ok();
                return Error::NotFound(gates);
              }});
  nanoseconds with = CostOfPodsIn(other);
  auto us = [](nanoseconds time) { return time.count() / 1000 / kPodsForCost; };
  std::cout << "figure: a new pod costs the API server " << us(alone) << " us CPU, with "
            << namespaces * kConfigsEach << " configs in " << namespaces << " other namespaces "
            << us(with) << " us" << std::endl;
  // On a busy machine, the policy and the shards of the new namespaces have cost as much again.
  // With 12 us for each config, it would be more than this.
  EXPECT_LT(with.count(), 5 * alone.count() / 2);
  for (const std::string& ns : names) {
    kube::IgnoreError(cluster().Run(kube::DeleteObject(cluster().client(), kNamespaces, {"", ns})),
                      "the cluster is removed soon");
  }
}

// Each config that changes the pod costs the API server time for the pod's size.
TEST_F(GatingPoliciesFlow, AtMostEightConfigsChangeAPod) {
  auto by_policies = NamespaceForPolicies("policies");
  ASSERT_TRUE(by_policies);
  std::vector<ConfigBuilder> configs;
  for (int i = 0; i < 12; ++i)
    configs.push_back(MakeConfig("c" + std::to_string(i)).Priority(i).Prefer("arm64", 5));
  WritePolicies(MakeClusterConfig().ForNamespaces(kSceneLabel, kByPolicies), configs, *by_policies);
  Json pod = MakePod("a").Image("registry.example/web:1").Build();
  auto lists_eight = [&](Scene&) -> Result<> {
    Json created = Created(by_policies->ns(), pod);
    if (!created.is_object()) return Error::Invalid(created.get<std::string>());
    const Json& names = created["metadata"]["annotations"][kRecord];
    if (GatesOf(created) == "cl" && names.size() == 8) return Ok();
    return Error::NotFound(kube::DumpJson(names));
  };
  Flow(scene(), "configs").Await({"eight names", lists_eight});
}

TEST_F(GatingPoliciesFlow, ExcludedNamespacesAreGatedOnlyWithTheLabel) {
  excluded_ = *api::ExcludedNamespaces::Parse("openshift-*,hypershift-*");
  auto excluded = Scene::Open(cluster(), "openshift-e2e-gating");
  ASSERT_TRUE(excluded) << excluded.error();
  auto included = Scene::Open(cluster(), "openshift-e2e-included");
  ASSERT_TRUE(included) << included.error();
  auto other = NamespaceForPolicies("other");
  ASSERT_TRUE(other);
  // No webhook of the operator selects them.
  Json labels = {{kSceneLabel, kByPolicies}};
  Flow(**excluded, "no webhook selects it")
      .Do(Change(kNamespaces, (*excluded)->ns(), {{"metadata", {{"labels", labels}}}}));
  labels[std::string(api::kIncludeLabel)] = "";
  Flow(**included, "the namespace is labelled")
      .Do(Change(kNamespaces, (*included)->ns(), {{"metadata", {{"labels", labels}}}}));
  WritePolicies(MakeClusterConfig().Prefer("arm64", 5), {}, *other);
  Json pod = MakePod("a").Image("registry.example/web:1").Build();
  EXPECT_EQ(GatesOf(Created(other->ns(), pod)), "c");
  EXPECT_EQ(GatesOf(Created((*included)->ns(), pod)), "c");
  Json created = Created((*excluded)->ns(), pod);
  ASSERT_TRUE(created.is_object()) << created;
  EXPECT_EQ(GatesOf(created), "");
  EXPECT_FALSE(created["metadata"].contains("labels"));
}

TEST_F(GatingPoliciesFlow, PodsOfANamespaceThatOptsOutAreUnchanged) {
  auto opted_out = NamespaceForPolicies("opted-out");
  auto other = NamespaceForPolicies("other");
  ASSERT_TRUE(opted_out && other);
  std::vector<ConfigBuilder> configs = {MakeConfig("prefs").Prefer("arm64", 5)};
  for (const ConfigBuilder& config : configs) Flow(*other, "configs").Do(Create(config));
  Json labels = {{std::string(api::kExcludeLabel), "false"}};
  Flow(*opted_out, "the namespace opts out")
      .Do(Change(kNamespaces, opted_out->ns(), {{"metadata", {{"labels", labels}}}}));
  WritePolicies(MakeClusterConfig().Prefer("arm64", 5).ForNamespaces(kSceneLabel, kByPolicies),
                configs, *opted_out);
  Json pod = MakePod("a").Image("registry.example/web:1").Build();
  Flow(*other, "configs").Await({"the config is known", [&](Scene&) -> Result<> {
                                   std::string gates = GatesOf(Created(other->ns(), pod));
                                   if (gates == "cl") return Ok();
                                   return Error::NotFound(gates);
                                 }});
  Json created = Created(opted_out->ns(), pod);
  ASSERT_TRUE(created.is_object()) << created;
  EXPECT_EQ(GatesOf(created), "");
  EXPECT_FALSE(created["metadata"].contains("labels"));
}

// Long lists do not avoid a gate.
TEST_F(GatingPoliciesFlow, LargePodsAreGated) {
  auto by_policies = NamespaceForPolicies("policies");
  ASSERT_TRUE(by_policies);
  std::vector<ConfigBuilder> configs = {MakeConfig("prefs").Prefer("arm64", 5)};
  WritePolicies(MakeClusterConfig().ForNamespaces(kSceneLabel, kByPolicies), configs, *by_policies);

  Json expression = {{"key", "zone"}, {"operator", "Exists"}};
  Json term = {{"matchExpressions", Json::array({expression})}};
  Json long_term = {{"matchExpressions", Json(10'000, expression)}};
  Json weighted = {{"weight", 1}, {"preference", long_term}};
  Json owner = {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "n"}, {"uid", "u"}};
  Json variables = Json::array();
  for (int i = 0; i < 2000; ++i)
    variables.push_back({{"name", "V" + std::to_string(i)}, {"value", std::string(150, 'v')}});
  auto pod = [] { return MakePod("a").Image("registry.example/web:1"); };
  const std::string required =
      "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
      "nodeSelectorTerms";
  const std::string preferred =
      "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";
  const std::pair<const char*, PodBuilder> rows[] = {
      {"expressions", pod().Set(required, Json::array({long_term}))},
      {"terms", pod().Set(required, Json(5000, term))},
      {"preferred expressions",
       pod().NodeSelector(kArch, "arm64").Set(preferred, Json::array({weighted}))},
      {"owners", pod().Set("/metadata/ownerReferences", Json(5000, owner))},
      {"variables", pod().Set("/spec/containers/0/env", variables)},
  };
  for (const auto& [name, large] : rows) {
    Json created = Created(by_policies->ns(), large.Build());
    ASSERT_TRUE(created.is_object()) << name << ": " << created;
    EXPECT_EQ(GatesOf(created), "cl") << name;
  }
}

}  // namespace
}  // namespace e2e
