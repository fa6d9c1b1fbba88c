// SPDX-License-Identifier: Apache-2.0
// Tenants fill every cache that has a budget, and all programs restart with what is there: each
// stays below 60 % of its memory limit, and the pods of others are placed.
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/templates.h"
#include "e2e/cluster_harness/memory_use.h"
#include "e2e/cluster_harness/nodes.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/stop_programs.h"
#include "e2e/framework/own_nodes.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/workloads.h"
#include "scheduling-policies/flows/policy_conditions.h"
#include "scheduling-policies/flows/policy_flow.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

// PodPlacementConfigs are kept to 8 MiB, scheduling policies to 4 MiB, and each is below 64 KiB.
constexpr int kNamespacesOfTenants = 40;
constexpr int kObjectsEach = 4;
// Gated pods of 60 KB: the cluster controller keeps 48 MiB, 16 MiB of a namespace.
constexpr int kGreedyNamespaces = 3;
constexpr int kPodsEach = 290;
// Of the names of images on nodes, the cluster controller keeps 4 MiB with digests (71 bytes each)
// and 2 MiB with tags.
constexpr int kLargeNodes = 60;
constexpr int kImagesEach = 1000;
// Templates of almost 128 KiB, beyond which they are left unchanged, and of 1 MB.
constexpr int kWorkloadsEach = 60;
constexpr int kTooLargeEach = 4;
constexpr int kVariables = 29;
constexpr int kVariablesOfLarge = 250;
// Reviews of a pod of 1 MB, which the webhook of ephemeral containers reads twice: old and new.
constexpr int kReviews = 10;

constexpr char kFull[] = "with every budget full";

// The ValidatingWebhookConfiguration of the plugin ephemeralContainerWarnings.
constexpr char kWarnings[] = "multiarch-ephemeral-containers";

Json Metadata(const std::string& ns, const std::string& name) {
  // Metadata counts for no budget, as caches do not keep it.
  return {{"name", name},
          {"namespace", ns},
          {"annotations", {{"example.com/padding", std::string(60'000, 'x')}}}};
}

// `count` requirements with 1,000 values of 57 bytes each.
Json Expressions(int count) {
  Json values = Json::array();
  for (int i = 0; i < 1000; ++i) values.push_back(std::string(53, 'v') + std::to_string(1000 + i));
  Json requirement = {{"key", "example.com/k"}, {"operator", "In"}, {"values", values}};
  return Json(static_cast<size_t>(count), requirement);
}

class MemoryBudgetsFlow : public PolicyFlow {
 protected:
  void SetUp() override {
    PolicyFlow::SetUp();
#ifdef BUILT_WITH_SANITIZER
    GTEST_SKIP() << "a sanitizer build needs more memory";
#endif
  }
  void TearDown() override {
    Flow(scene(), "templates are not changed, and there are no warnings")
        .Do(UseTemplates(nullptr, nullptr))
        .Do(UseWarnings(nullptr))
        .Await(WarningWebhookRemoved());
    for (const std::string& ns : namespaces_)
      kube::IgnoreError(scene().Delete(kNamespaces, ns), "it may be absent");
    PolicyFlow::TearDown();
  }

  ProcessKubelet& kubelet() { return TheProcessCluster().kubelet(); }

  std::string NewNamespace(const std::string& suffix, Json labels) {
    std::string ns = scene().ns() + "-" + suffix;
    auto created =
        scene().Create(kNamespaces, {{"apiVersion", "v1"},
                                     {"kind", "Namespace"},
                                     {"metadata", {{"name", ns}, {"labels", std::move(labels)}}}});
    EXPECT_TRUE(created) << created.error();
    namespaces_.push_back(ns);
    return ns;
  }

  static Json Config(const std::string& ns, int i, int expressions) {
    Json config = MakeConfig("c" + std::to_string(i)).Priority(i).Prefer("arm64", 5).Build();
    config["metadata"] = Metadata(ns, "c" + std::to_string(i));
    config["spec"]["labelSelector"] = {{"matchExpressions", Expressions(expressions)}};
    return config;
  }
  static Json Policy(const std::string& ns, int i) {
    Json policy = {{"apiVersion", "kupid.gardener.cloud/v1alpha1"},
                   {"kind", "PodSchedulingPolicy"}};
    policy["metadata"] = Metadata(ns, "p" + std::to_string(i));
    policy["spec"]["podSelector"] = Json::object();
    Json term = {{"matchExpressions", Expressions(1)}};
    policy["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
          ["nodeSelectorTerms"] = Json::array({term});
    return policy;
  }

  // Eleven configs of 6 MB, at once: they ended the operator.
  void SendTooLargeConfigs() {
    for (int i = 0; i < 11; ++i) {
      auto created = scene().Create(kConfigs, Config(scene().ns(), i + 1, 20));
      ASSERT_FALSE(created);
      EXPECT_NE(created.error().message().find("at most 65536 are allowed"), std::string::npos)
          << created.error();
    }
  }
  void FillConfigsAndPolicies() {
    for (int i = 0; i < kNamespacesOfTenants; ++i) {
      std::string ns = NewNamespace("t" + std::to_string(i), Json::object());
      for (int j = 0; j < kObjectsEach; ++j) {
        auto config = scene().Create(kConfigs, Config(ns, j, 1));
        ASSERT_TRUE(config) << config.error();
        auto policy = scene().Create(policy::kPodSchedulingPolicies, Policy(ns, j));
        ASSERT_TRUE(policy) << policy.error();
      }
      auto account = scene().Create(kube::kServiceAccounts, LabelledAccount(ns));
      ASSERT_TRUE(account) << account.error();
    }
  }
  // The operator watches its objects by a label. Labels have no limit but that of an object.
  static Json LabelledAccount(const std::string& ns) {
    Json labels = {{"app.kubernetes.io/managed-by", "multiarch-tuning-operator"}};
    for (int i = 0; i < 6'000; ++i)
      labels["example.com/" + std::to_string(i)] = std::string(63, 'x');
    return {{"apiVersion", "v1"},
            {"kind", "ServiceAccount"},
            {"metadata", {{"name", "labelled"}, {"namespace", ns}, {"labels", std::move(labels)}}}};
  }
  // With a shard each; before the budget of all PodPlacementConfigs is full, as the oldest stay in
  // force.
  void MakeGreedyNamespaces() {
    for (int i = 0; i < kGreedyNamespaces; ++i) {
      std::string ns = NewNamespace("g" + std::to_string(i), {{kSceneLabel, "true"}});
      greedy_.push_back(ns);
      Json config = MakeConfig("all").Prefer("arm64", 5).Build();
      config["metadata"]["namespace"] = ns;
      auto created = scene().Create(kConfigs, config);
      ASSERT_TRUE(created) << created.error();
      Flow(scene(), "a shard").Await(Gates(ns, "all"), 120s);
    }
  }
  static Json Environment(int variables) {
    Json env = Json::array();
    for (int i = 0; i < variables; ++i)
      env.push_back({{"name", "V" + std::to_string(i)}, {"value", std::string(4000, 'x')}});
    return env;
  }
  static Step UseTemplates(const Json& templates, const Json& daemon_sets) {
    return Change(
        kClusterConfigs, std::string(api::kClusterConfigName),
        {{"spec", {{"plugins", {{"templates", templates}, {"daemonSets", daemon_sets}}}}}});
  }
  static Step UseWarnings(const Json& plugin) {
    return Change(kClusterConfigs, std::string(api::kClusterConfigName),
                  {{"spec", {{"plugins", {{"ephemeralContainerWarnings", plugin}}}}}});
  }
  static Condition WarningWebhookRemoved() {
    return {"the webhook of ephemeral containers is removed", [](Scene& scene) -> Result<> {
              auto found = scene.Get(kValidatingWebhookConfigurations, kWarnings);
              if (IsNotFound(found)) return Ok();
              return found ? Error::AlreadyExists(kWarnings) : found.error();
            }};
  }
  // The API server sends the whole pod.
  Condition ReviewsCauseWarnings(const std::string& pod) {
    return {"ephemeral containers of " + pod + " cause a warning", [this, pod](Scene&) -> Result<> {
              Json added = {{"name", "debugger"}, {"image", Image("demo/amd64:1")}};
              Json patch = {{"spec", {{"ephemeralContainers", Json::array({added})}}}};
              kube::ApiRequest request{
                  .method = kube::Method::kPatch,
                  .target = kPods.Path(scene().ns(), pod) + "/ephemeralcontainers?dryRun=All",
                  .content_type = std::string(kube::kStrategicMergePatch),
                  .body = kube::DumpJson(patch)};
              for (int i = 0; i < kReviews; ++i) {
                auto answer = cluster().Run(cluster().client().Call(request));
                if (!answer) return answer.error();
                if (answer->warnings.empty()) return Error::NotFound("no warning");
              }
              return Ok();
            }};
  }
  void ReviewLargePod() {
    PodBuilder large = MakePod("large").Image(Image("demo/multi:1"));
    large.Set("/spec/containers/0/env", Environment(kVariablesOfLarge))
        .Set("/spec/nodeName", "node-arm64");
    Flow(scene(), "reviews of a large pod")
        .Do(UseWarnings({{"enabled", true}}))
        .Do(Create(large))
        .Await(ReviewsCauseWarnings("large"), 120s);
  }
  // Suspended Jobs, and DaemonSets that run on no node. The last of each namespace are too large.
  void FillTemplates() {
    for (const std::string& ns : greedy_) {
      for (int i = 0; i < kWorkloadsEach; ++i) {
        bool large = i >= kWorkloadsEach - kTooLargeEach;
        PodBuilder pod = MakePod("").Image(Image("demo/multi:1"));
        pod.Set("/spec/containers/0/env", Environment(large ? kVariablesOfLarge : kVariables))
            .NodeSelector("example.com/absent", "true");
        Json workload = MakeDeployment("w" + std::to_string(i), pod).Build();
        workload["metadata"]["namespace"] = ns;
        workload["spec"].erase("replicas");
        Json job = workload;
        workload["kind"] = "DaemonSet";
        job["kind"] = "Job";
        job["apiVersion"] = "batch/v1";
        job["spec"].erase("selector");
        job["spec"]["suspend"] = true;
        job["spec"]["template"]["spec"]["restartPolicy"] = "Never";
        for (const auto& [kind, object] :
             {std::pair(kube::kDaemonSets, workload),
              std::pair(kube::ResourceOf<kube::workloads::Job>::value, job)}) {
          auto created = scene().Create(kind, object);
          ASSERT_TRUE(created) << created.error();
        }
      }
    }
  }
  // They wait for their controllers, which do not run.
  void FillPods() {
    const Json env = Environment(15);
    Flow(scene(), "controllers").Do(StopPrograms(Controllers())).Await(NoProcessOf(Controllers()));
    for (const std::string& ns : greedy_) {
      for (int i = 0; i < kPodsEach; ++i) {
        PodBuilder pod =
            MakePod("p" + std::to_string(i)).Namespace(ns).Image(Image("demo/multi:1"));
        pod.Set("/spec/containers/0/env", env).Set("/spec/schedulerName", "none");
        auto created = scene().Create(kPods, pod.Build());
        ASSERT_TRUE(created) << created.error();
      }
    }
  }
  // Tenants choose the images that nodes pull.
  void FillNodes() {
    const std::string repository = "registry.example/" + std::string(180, 'r');
    for (int i = 0; i < kLargeNodes; ++i) {
      Json node = MakeNode("large-" + std::to_string(i) + "-of-" + scene().ns(), "s390x");
      node["spec"]["unschedulable"] = true;
      Json& images = node["status"]["images"] = Json::array();
      for (int j = 0; j < kImagesEach; ++j) {
        std::string number = std::to_string(1'000'000 + i * kImagesEach + j);
        std::string digest = "registry.example/app@sha256:" + std::string(57, 'a') + number;
        Json names = Json::array({digest, repository + ":" + number});
        images.push_back({{"names", names}, {"sizeBytes", 1}});
      }
      Flow(scene(), "a node with many images").Do(nodes_.Add(std::move(node)));
      if (HasFailure()) return;
    }
  }
  // Nodes are listed for a pod that finds no image there, and once more for its last attempt.
  void ListNodesTwice() {
    auto pod = [](const std::string& name, const std::string& image) {
      return MakePod(name).Image(image).Set("/spec/containers/0/imagePullPolicy", "Never");
    };
    std::string first = std::string(57, 'a') + "1000000";
    Flow(scene(), "images of nodes")
        .Do(Create(pod("loaded", "registry.example/app@sha256:" + first)))
        .Do(Create(pod("absent", "registry.example/absent:1")))
        .Await(Requires("loaded", {"s390x"}), 240s)
        .Await(Ungated("absent"), 240s);
  }
  // About the status of a config in another namespace than the scene's.
  Condition OfStatus(const std::string& ns, const std::string& config, const std::string& what,
                     std::function<bool(const Json& body)> holds) {
    return {
        config + " of " + ns + " is " + what,
        [this, ns, config, holds = std::move(holds)](Scene&) -> Result<> {
          auto found = cluster().Run(kube::GetObject(cluster().client(), kConfigs, {ns, config}));
          if (!found) return found.error();
          if (holds(found->body())) return Ok();
          return Error::NotFound("the status is " + kube::DumpJson(found->body()));
        }};
  }
  Condition Gates(const std::string& ns, const std::string& config) {
    return OfStatus(ns, config, "in force", [](const Json& body) {
      return kube::StringAt(body, "status.gatedBy") == "Webhook";
    });
  }
  Condition TooLarge(const std::string& ns, const std::string& config) {
    return OfStatus(ns, config, "TooLarge", [](const Json& body) {
      const Json* conditions = kube::Find(body, "status.conditions");
      return conditions != nullptr &&
             std::any_of(conditions->begin(), conditions->end(), [](const Json& condition) {
               return kube::StringAt(condition, "reason") == "TooLarge";
             });
    });
  }
  // Those of all Jobs that are not too large.
  Condition AllTemplatesRequire() {
    return {"all Jobs have their requirement", [this](Scene&) -> Result<> {
              for (const std::string& ns : greedy_) {
                for (int i = 0; i < kWorkloadsEach - kTooLargeEach; ++i) {
                  auto job = cluster().Run(kube::GetObject(
                      cluster().client(), kube::ResourceOf<kube::workloads::Job>::value,
                      {ns, "w" + std::to_string(i)}));
                  if (!job) return job.error();
                  const auto& annotations = job->metadata().annotations();
                  if (!annotations.contains(std::string(api::kTemplateArchitecturesAnnotation)))
                    return Error::NotFound(ns + "/" + job->metadata().name());
                }
              }
              return Ok();
            }};
  }
  std::vector<ProgramIn> Controllers() {
    std::vector<ProgramIn> all = {{"cluster-controller", cluster().operator_namespace()}};
    for (const std::string& ns : greedy_) all.push_back({"shard", ns});
    return all;
  }

  // Returns: that they have restarted and are ready.
  Condition CrashAll(const std::vector<std::string>& programs, const std::string& ns) {
    std::map<std::string, int> restarts;
    for (const std::string& program : programs) {
      for (PodProcess* process : kubelet().OfProgram(program, ns)) {
        restarts[process->name()] = process->restarts();
        process->Crash();
      }
    }
    return {"all have restarted", [this, programs, ns, restarts](Scene&) -> Result<> {
              for (const std::string& program : programs) {
                for (PodProcess* process : kubelet().OfProgram(program, ns)) {
                  auto before = restarts.find(process->name());
                  bool restarted = before == restarts.end() || process->restarts() > before->second;
                  if (!restarted || !process->ready()) return Error::NotFound(process->name());
                }
              }
              return Ok();
            }};
  }

  OwnNodes nodes_;
  std::vector<std::string> namespaces_;
  std::vector<std::string> greedy_;
};

TEST_F(MemoryBudgetsFlow, FullBudgetsLeaveRoomInEveryProgram) {
  const std::string& ops = cluster().operator_namespace();
  EnablePolicies();
  GatePods();
  Flow flow(scene(), "full budgets");
  // The policy webhook runs while a policy can select a pod.
  flow.Do(Create(policy::kPodSchedulingPolicies, MakePolicy("small", "x")))
      .Await(PolicyReady("small"), 120s);
  SendTooLargeConfigs();
  MakeGreedyNamespaces();
  if (HasFailure()) return;
  FillConfigsAndPolicies();
  if (HasFailure()) return;
  flow.Await(TooLarge(namespaces_.back(), "c3"), 120s);
  FillNodes();
  FillPods();
  flow.Do(UseTemplates({{"suspendedJobs", true}}, {{"report", true}}));
  FillTemplates();
  if (HasFailure() || flow.failed()) return;
  // All restart with what is there.
  flow.Await(CrashAll({"operator", "webhook"}, ops), 120s);
  StartPrograms(Controllers());
  flow.Do(Create(MakePod("modest").Image(Image("demo/arm64:1"))))
      .Await(Requires("modest", {"arm64"}), 240s)
      .Await(ClusterConfigReady(), 240s);
  for (const std::string& ns : greedy_) {
    flow.Await({"the pods of " + ns + " are placed",
                [this, ns](Scene&) -> Result<> {
                  kube::ListOptions options{.ns = ns,
                                            .label_selector = std::string(api::kClusterGateLabel) +
                                                              "=" + std::string(api::kGated),
                                            .limit = 1};
                  auto pods = cluster().Run(
                      kube::ListObjects(cluster().client(), kPods, std::move(options)));
                  if (!pods) return pods.error();
                  if (pods->items.empty()) return Ok();
                  return Error::NotFound(pods->items.front().metadata().name() + " is gated");
                }},
               300s);
  }
  flow.Await(AllTemplatesRequire(), 240s);
  ListNodesTwice();
  ReviewLargePod();
  ExpectFarBelowLimit("operator", ops, kFull);
  // Also those that warn about ephemeral containers: one program.
  ExpectFarBelowLimit("cluster-controller", ops, kFull);
  // Also those of policies: one program.
  ExpectFarBelowLimit("webhook", ops, kFull);
  for (const std::string& ns : greedy_) {
    ExpectFarBelowLimit("shard", ns, kFull);
    ExpectFarBelowLimit("webhook", ns, kFull);
  }
}

}  // namespace
}  // namespace e2e
