// SPDX-License-Identifier: Apache-2.0
// Harness: a leading operator against a fake API server and a fake clock. The test acts as the
// Deployment controller, the shards and the pods.
//
//   Harness harness;
//   harness.CreateClusterConfig();
//   harness.CreateConfig("shop", "a", 1);
//   ASSERT_TRUE(harness.Await([&] { return harness.Exists(kube::kDeployments, {"shop", "..."});
//   }));
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/base/task_group.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "kube/types/object_fields.h"
#include "operator/feature.h"
#include "operator/leader.h"
#include "operator/status/operand_metrics.h"
#include "operator/testing/probed_webhooks.h"

namespace operator_ {

class Harness {
 public:
  Harness() {
    SetNamespace("ops", {});
    kube::Json crd = {{"kind", "CustomResourceDefinition"},
                      {"metadata", {{"name", "clusterpodplacementconfigs.multiarch.openshift.io"}}},
                      {"spec", {{"scope", "Cluster"}}}};
    api.CreateJson(kube::kCustomResourceDefinitions, crd);
  }
  ~Harness() { StopOperator(); }

  // Starts a leading operator without any state of an earlier one. `tag`: of the operands' images.
  void StartOperator(const std::string& tag = "1") {
    tasks_ = std::make_unique<kube::TaskGroup>(io.get_executor());
    LeaderOptions options;
    options.operands = {.ns = "ops",
                        .ns_uid = "uid",
                        .webhook_image = "r.io/webhook:" + tag,
                        .shard_image = "r.io/shard:" + tag,
                        .controller_image = "r.io/controller:" + tag,
                        .monitor_image = "r.io/monitor:" + tag,
                        .architectures = {"amd64"}};
    options.upgrades.at_a_time = shard_upgrades;
    options.operand_metrics = &operand_metrics_;
    leader_ = std::make_unique<Leader>(webhooks, clock, options, certificate_, features);
    tasks_->Spawn("leader", leader_->Run(*tasks_));
    kube::Drain(io);
  }
  void StopOperator() {
    if (tasks_ == nullptr) return;
    kube::Result<> stopped =
        kube::Run(io, tasks_->Stop(kube::RealClock(), std::chrono::seconds(5)));
    kube::IgnoreError(stopped, "the test ends or starts another operator");
    leader_.reset();
    tasks_.reset();
  }

  // Issues the certificate of the operator's webhooks.
  void RefreshCertificate() {
    kube::Result<> refreshed = kube::Run(io, certificate_.Refresh());
    kube::IgnoreError(refreshed, "its files cannot be written here");
  }

  // Advances the clock in small steps.
  void Pass(std::chrono::milliseconds time) {
    constexpr std::chrono::milliseconds kStep{100};
    kube::Drain(io);
    for (; time.count() > 0; time -= kStep) {
      clock.Advance(kStep);
      kube::Drain(io);
    }
  }
  // Advances the clock until `condition` holds, by at most 60 s.
  bool Await(const std::function<bool()>& condition) {
    kube::Drain(io);
    for (int i = 0; i < 600 && !condition(); ++i) Pass(std::chrono::milliseconds(100));
    return condition();
  }

  // Creates a namespace, or replaces its labels.
  void SetNamespace(const std::string& name, const std::map<std::string, std::string>& labels) {
    kube::core::Namespace ns;
    ns.mutable_metadata()->set_name(name);
    for (const auto& [key, value] : labels) (*ns.mutable_metadata()->mutable_labels())[key] = value;
    api.Get<kube::core::Namespace>({"", name}) ? api.Update(ns) : api.Create(ns);
  }
  void SetNamespaceSelector(const kube::Json& selector) {
    kube::Json config = *api.GetJson(kClusterConfigs, {"", "cluster"});
    config["spec"]["namespaceSelector"] = selector;
    api.UpdateJson(kClusterConfigs, config);
  }
  void SetLogVerbosity(const std::string& verbosity) {
    kube::Json config = *api.GetJson(kClusterConfigs, {"", "cluster"});
    config["spec"]["logVerbosity"] = verbosity;
    api.UpdateJson(kClusterConfigs, config);
  }
  void SetExcludedSchedulers(const std::vector<std::string>& names) {
    kube::Json config = *api.GetJson(kClusterConfigs, {"", "cluster"});
    config["spec"]["excludedSchedulerNames"] = names;
    api.UpdateJson(kClusterConfigs, config);
  }
  void CreateClusterConfig() { api.CreateJson(kClusterConfigs, api::MakeClusterConfig().Build()); }
  // And the namespace, if there is none.
  void CreateConfig(const std::string& ns, const std::string& name, int priority) {
    if (!api.Get<kube::core::Namespace>({"", ns})) SetNamespace(ns, {});
    api::MakeConfig config(name, ns);
    api.CreateJson(kConfigs, config.Priority(priority).Prefer("arm64", 50).Build());
  }
  void DeleteConfig(const std::string& ns, const std::string& name) {
    api.DeleteJson(kConfigs, {ns, name});
  }

  // Sets the status of a Deployment whose pods run, or don't.
  void RollOut(const std::string& ns, std::string_view name, bool runs = true) {
    std::optional<kube::Json> deployment = api.GetJson(kube::kDeployments, {ns, std::string(name)});
    if (!deployment) throw std::runtime_error("no Deployment " + ns + "/" + std::string(name));
    int64_t replicas = runs ? (*deployment)["spec"]["replicas"].get<int64_t>() : 0;
    (*deployment)["status"] = {{"observedGeneration", (*deployment)["metadata"]["generation"]},
                               {"replicas", replicas},
                               {"updatedReplicas", replicas},
                               {"readyReplicas", replicas},
                               {"availableReplicas", replicas}};
    kube::Json condition = {
        {"type", "Available"},
        {"status", runs ? "True" : "False"},
        {"lastTransitionTime", kube::FormatTime(clock.WallNow() + controller_manager_ahead)}};
    (*deployment)["status"]["conditions"] = kube::Json::array({condition});
    api.UpdateJson(kube::kDeployments, *deployment);
  }
  // Sets the status of a Deployment whose new pods do not run in time.
  void MissDeadline(const std::string& ns, std::string_view name) {
    RollOut(ns, name, /*runs=*/false);
    kube::Json deployment = *api.GetJson(kube::kDeployments, {ns, std::string(name)});
    deployment["status"]["conditions"].push_back({{"type", "Progressing"},
                                                  {"status", "False"},
                                                  {"reason", "ProgressDeadlineExceeded"},
                                                  {"message", "too slow"}});
    api.UpdateJson(kube::kDeployments, deployment);
  }
  // Sets the status of a Deployment whose new pods the namespace has no room for.
  void ExceedQuota(const std::string& ns, std::string_view name) {
    RollOut(ns, name, /*runs=*/false);
    kube::Json deployment = *api.GetJson(kube::kDeployments, {ns, std::string(name)});
    deployment["status"]["conditions"].push_back({{"type", "ReplicaFailure"},
                                                  {"status", "True"},
                                                  {"reason", "FailedCreate"},
                                                  {"message", "exceeded quota: small"}});
    api.UpdateJson(kube::kDeployments, deployment);
  }
  void RollOutShard(const std::string& ns) {
    RollOut(ns, api::kShardControllerName);
    RollOut(ns, api::kShardWebhookName);
  }
  void RollOutCluster() {
    RollOut("ops", api::kControllerName);
    RollOut("ops", api::kWebhookName);
  }
  // Creates config "a" in `ns` and waits until the shard is available.
  bool BringUp(const std::string& ns) {
    CreateConfig(ns, "a", 1);
    if (!Await([&] {
          return Exists(kube::kDeployments, {ns, std::string(api::kShardWebhookName)});
        }))
      return false;
    RollOutShard(ns);
    return Await([&] { return Condition(ns, "a", "Available").starts_with("True"); });
  }
  bool BringUpCluster() {
    CreateClusterConfig();
    if (!Await([&] { return Exists(kube::kDeployments, {"ops", std::string(api::kWebhookName)}); }))
      return false;
    RollOutCluster();
    return Await([&] { return ClusterCondition("Available").starts_with("True"); });
  }

  bool Exists(const kube::Resource& resource, const kube::ObjectKey& key) {
    return api.GetJson(resource, key).has_value();
  }
  // The fake API server stores Secrets as protobuf.
  bool SecretExists(const kube::ObjectKey& key) {
    return api.Get<kube::core::Secret>(key).has_value();
  }
  std::optional<kube::Json> WebhookConfiguration(const std::string& ns) {
    return api.GetJson(kube::kMutatingWebhookConfigurations,
                       {"", api::ShardWebhookConfigurationName(ns)});
  }
  // "True AsExpected", or "none".
  std::string Condition(const std::string& ns, const std::string& name, std::string_view type) {
    return ConditionOf(api.GetJson(kConfigs, {ns, name}), type);
  }
  std::string ClusterCondition(std::string_view type) {
    return ConditionOf(api.GetJson(kClusterConfigs, {"", "cluster"}), type);
  }
  std::string ClusterMessage(std::string_view type) {
    return MessageOf(api.GetJson(kClusterConfigs, {"", "cluster"}), type);
  }
  std::string Message(const std::string& ns, const std::string& name, std::string_view type) {
    return MessageOf(api.GetJson(kConfigs, {ns, name}), type);
  }
  // True if no object of the shard is left, inside or outside of its namespace.
  bool ShardRemoved(const std::string& ns) {
    for (const kube::Resource& resource :
         {kube::kDeployments, kube::kServices, kube::kServiceAccounts, kube::kRoles,
          kube::kRoleBindings, kube::kNetworkPolicies}) {
      if (!api.ListJson(resource, ns).empty()) return false;
    }
    return !WebhookConfiguration(ns) && !SecretExists({ns, std::string(api::kShardWebhookName)}) &&
           !SecretExists({"ops", "pod-placement-shard-ca-" + ns}) &&
           api.ListJson(kube::kConfigMaps, ns).empty();
  }
  bool ClusterRemoved() {
    for (const kube::Resource& resource :
         {kube::kDeployments, kube::kServices, kube::kServiceAccounts, kube::kPodDisruptionBudgets,
          kube::kNetworkPolicies}) {
      if (!api.ListJson(resource, "ops").empty()) return false;
    }
    return !Exists(kube::kMutatingWebhookConfigurations,
                   {"", std::string(api::kMutatingWebhookConfigurationName)}) &&
           !SecretExists({"ops", "pod-placement-ca"});
  }
  // How many events with this reason exist about objects with this name.
  int Events(std::string_view reason, std::string_view about) {
    int count = 0;
    for (const kube::core::Event& event : api.List<kube::core::Event>())
      count += event.reason() == reason && event.involved_object().name() == about;
    return count;
  }
  // A metric of the operator that leads, without labels; nullopt if it has no series.
  std::optional<double> Metric(const std::string& name) {
    std::string text = metrics_.Render();
    size_t at = text.find("\n" + name + " ");
    if (at == std::string::npos) return std::nullopt;
    return std::strtod(text.c_str() + at + name.size() + 2, nullptr);
  }
  // The same of the first series with `labels`: R"(a="b")".
  std::optional<double> Metric(const std::string& name, const std::string& labels) {
    return Metric(name + "{" + labels + "}");
  }
  // The position of the first call that contains `text`, or -1.
  int CallIndex(std::string_view text) {
    for (size_t i = 0; i < api.calls().size(); ++i) {
      if (api.calls()[i].find(text) != std::string::npos) return static_cast<int>(i);
    }
    return -1;
  }
  int Writes() {
    return api.CountCalls("POST /") + api.CountCalls("PUT /") + api.CountCalls("PATCH /") +
           api.CountCalls("DELETE /");
  }

  static constexpr kube::Resource kConfigs = kube::ResourceOf<api::PodPlacementConfig>::value;
  static constexpr kube::Resource kClusterConfigs =
      kube::ResourceOf<api::ClusterPodPlacementConfig>::value;

  boost::asio::io_context io;
  kube::FakeClock clock;
  // How far the clock of the Deployment controller is ahead of the operator's.
  std::chrono::minutes controller_manager_ahead{0};
  kube::FakeApiServer api{clock};
  // The client with which operators that are started from now on call `api`.
  kube::Client* client = &api;
  // Its probes reach all webhooks, unless the test says otherwise.
  ProbedWebhooks webhooks{client};
  // UpgradeOptions::at_a_time of operators that are started from now on.
  int shard_upgrades = 4;
  Features features;

 protected:
  static std::string ConditionOf(const std::optional<kube::Json>& object, std::string_view type) {
    if (!object) return "deleted";
    const kube::Json* condition = kube::ConditionOf(*object, type);
    if (condition == nullptr) return "none";
    return kube::StringAt(*condition, "status") + " " + kube::StringAt(*condition, "reason");
  }

  static std::string MessageOf(const std::optional<kube::Json>& object, std::string_view type) {
    const kube::Json* condition = object ? kube::ConditionOf(*object, type) : nullptr;
    return condition == nullptr ? "none" : kube::StringAt(*condition, "message");
  }

 private:
  kube::Metrics metrics_;
  OperandMetrics operand_metrics_{metrics_, "ops"};
  OwnCertificate certificate_{api, clock, "ops", "/nonexistent"};
  std::unique_ptr<kube::TaskGroup> tasks_;
  std::unique_ptr<Leader> leader_;
};

}  // namespace operator_
