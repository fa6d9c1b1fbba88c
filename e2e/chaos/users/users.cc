// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/users/users.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "api/names.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/resources.h"
#include "e2e/framework/scene.h"
#include "kube/client/typed.h"
#include "kube/types/list_at.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::ApiRequest;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;

namespace {

using Texts = std::vector<std::string>;

constexpr auto kBetweenActions = 250ms;
// Pods live for so long: the cluster stays small.
constexpr auto kLifetime = 60s;
constexpr auto kCallLimit = 10s;
constexpr size_t kMostNamespaces = 8;
constexpr size_t kFewestNamespaces = 3;
constexpr size_t kMostCalls = 64;
constexpr char kRegistries[] = "chaos-registries";

const Texts& Architectures() {
  static const auto& all = *new Texts{"amd64", "arm64", "ppc64le", "s390x"};
  return all;
}
const Texts& Images() {
  static const auto& all = *new Texts{"demo/multi:1", "demo/arm64-amd64:1", "demo/ppc64le-s390x:1",
                                      "demo/amd64:1", "demo/arm64:1",       "demo/s390x:1"};
  return all;
}

ApiRequest Post(const Resource& resource, const std::string& ns, const Json& object) {
  return {.method = kube::Method::kPost,
          .target = resource.Path(ns),
          .content_type = std::string(kube::kJson),
          .body = kube::DumpJson(object),
          .timeout = kCallLimit};
}

// Creates it, or changes what this user has set before.
ApiRequest Apply(const Resource& resource, const Json& object) {
  ApiRequest request{.method = kube::Method::kPatch,
                     .target = resource.Path(kube::StringAt(object, "metadata.namespace"),
                                             kube::StringAt(object, "metadata.name")),
                     .content_type = "application/apply-patch+yaml",
                     .body = kube::DumpJson(object),
                     .timeout = kCallLimit};
  kube::AddQuery(request.target, "fieldManager", "users");
  kube::AddQuery(request.target, "force", "true");
  return request;
}

ApiRequest Remove(const Resource& resource, const ObjectKey& key) {
  return {.method = kube::Method::kDelete,
          .target = resource.Path(key.ns, key.name),
          .timeout = kCallLimit};
}

Json NamespaceOf(const std::string& name) {
  Json metadata = {{"name", name}, {"labels", {{kSceneLabel, "true"}}}};
  return {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", std::move(metadata)}};
}

// The registry serves plain HTTP.
Json RegistriesIn(const std::string& ns) {
  Json config_map = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  config_map["metadata"] = {{"name", kRegistries}, {"namespace", ns}};
  config_map["data"]["registries.conf"] =
      "[[registry]]\nlocation = \"" + ChaosNetwork::RegistryAddress() + "\"\ninsecure = true\n";
  return config_map;
}

// Whether the operator says that the cluster's operands work.
bool IsAvailable(const Json& config) {
  for (const Json& condition : kube::ListAt(config, "status.conditions")) {
    if (kube::StringAt(condition, "type") == "Available")
      return kube::StringAt(condition, "status") == "True";
  }
  return false;
}

}  // namespace

Users::Users(Stage& stage, uint64_t seed)
    : stage_(stage), random_(seed), tasks_(stage.cluster().io().get_executor()) {}

Users::~Users() {
  kube::IgnoreError(stage_.cluster().Run(tasks_.Stop(stage_.cluster().clock(), kCallLimit)),
                    "the run ends");
}

std::string Users::NewName(const std::string& prefix) {
  return prefix + "-" + std::to_string(++last_name_);
}

void Users::AddNamespace() {
  namespaces_.push_back(NewName("team"));
  all_namespaces_.push_back(namespaces_.back());
}

// --- What they write

Json Users::RandomPod(const ObjectKey& key) {
  PodBuilder pod = MakePod(key.name).Namespace(key.ns);
  pod.Image(Stage::Image(random_.Of(Images())));
  if (random_.OnceIn(5)) pod.Image(Stage::Image("demo/multi:1"));
  if (random_.OnceIn(2)) pod.Label("team", random_.Of(Texts{"red", "blue"}));
  if (random_.OnceIn(8)) pod.NodeSelector("kubernetes.io/os", "linux");
  if (random_.OnceIn(10)) pod.NodeSelector(std::string(api::kArchLabel), "arm64");
  if (random_.OnceIn(10)) pod.Require(std::string(api::kArchLabel), {"amd64", "arm64"});
  if (random_.OnceIn(10)) pod.Require("example.com/disk", {"ssd"});
  if (random_.OnceIn(10)) pod.Prefer(random_.Of(Architectures()), 7);
  if (random_.OnceIn(16)) pod.Label(api::kExcludeLabel, "");
  // Fields that the operator does not know survive.
  if (random_.OnceIn(8)) pod.Set("/spec/topologySpreadConstraints", Json::array());
  if (random_.OnceIn(8)) pod.Annotation("example.com/note", "of the user");
  return pod.Build();
}

Json Users::RandomConfig(const std::string& ns) {
  ConfigBuilder config = MakeConfig(random_.Of(Texts{"a", "b", "c"})).Namespace(ns);
  config.Priority(static_cast<int>(random_.Below(6)));
  if (random_.OnceIn(3)) config.ForLabel("team", random_.Of(Texts{"red", "blue"}));
  Texts architectures = Architectures();
  random_.Shuffle(architectures);
  architectures.resize(1 + random_.Below(3));
  for (const std::string& architecture : architectures)
    config.Prefer(architecture, 1 + static_cast<int>(random_.Below(100)));
  return config.Build();
}

Json Users::RandomClusterConfig() {
  ClusterConfigBuilder config = MakeClusterConfig().ForNamespaces(kSceneLabel, "true");
  config.Set("/spec/registriesConfigMapRef/name", kRegistries)
      .Set("/spec/inspectionRetryPeriod", "10s")
      .Set("/spec/shardTakeoverAfter", std::to_string(5 + random_.Below(10)) + "s")
      .Set("/spec/gating", random_.OnceIn(4) ? "Policy" : "Webhook");
  if (random_.OnceIn(2)) config.Fallback("amd64");
  if (random_.OnceIn(2)) config.Prefer("amd64", 1 + static_cast<int>(random_.Below(100)));
  return config.Build();
}

// --- What they do

void Users::CreatePod() {
  ObjectKey key{AnyNamespace(), NewName("pod")};
  pods_.push_back({key, stage_.cluster().clock().Now()});
  Send(Post(kPods, key.ns, RandomPod(key)), &counts_.pods);
}

void Users::CreateDeployment() {
  const std::string ns = AnyNamespace();
  PodBuilder pod = MakePod("").Image(Stage::Image(random_.Of(Images())));
  DeploymentBuilder deployment = MakeDeployment(NewName("many"), pod);
  deployment.Namespace(ns).Replicas(3 + static_cast<int>(random_.Below(6)));
  Send(Post(kDeployments, ns, deployment.Build()), &counts_.deployments);
}

void Users::DeleteOldPods() {
  const kube::TimePoint now = stage_.cluster().clock().Now();
  while (!pods_.empty() && now - pods_.front().at > kLifetime) {
    Send(Remove(kPods, pods_.front().key), nullptr);
    pods_.pop_front();
  }
}

void Users::AnnotatePod() {
  if (pods_.empty()) return;
  const ObjectKey& key = pods_[random_.Below(pods_.size())].key;
  Json patch = {{"metadata", {{"annotations", {{"example.com/seen", NewName("at")}}}}}};
  Send({.method = kube::Method::kPatch,
        .target = kPods.Path(key.ns, key.name),
        .content_type = std::string(kube::kMergePatch),
        .body = kube::DumpJson(patch),
        .timeout = kCallLimit},
       nullptr);
}

void Users::SetConfig() { Send(Apply(kConfigs, RandomConfig(AnyNamespace())), &counts_.configs); }

void Users::DeleteConfig() {
  Send(Remove(kConfigs, {AnyNamespace(), random_.Of(Texts{"a", "b", "c"})}),
       &counts_.deleted_configs);
}

void Users::SetClusterConfig() {
  Send(Apply(kClusterConfigs, RandomClusterConfig()), &counts_.cluster_configs);
}

void Users::CreateNamespace() {
  if (namespaces_.size() >= kMostNamespaces) return;
  AddNamespace();
  Send(Post(kNamespaces, "", NamespaceOf(namespaces_.back())), &counts_.namespaces);
}

void Users::DeleteNamespace() {
  if (namespaces_.size() <= kFewestNamespaces) return;
  const size_t at = random_.Below(namespaces_.size());
  const std::string ns = namespaces_[at];
  namespaces_.erase(namespaces_.begin() + static_cast<std::ptrdiff_t>(at));
  std::erase_if(pods_, [&ns](const Created& pod) { return pod.key.ns == ns; });
  Send(Remove(kNamespaces, {"", ns}), &counts_.deleted_namespaces);
}

void Users::Act() {
  DeleteOldPods();
  struct Choice {
    uint64_t weight;
    void (Users::*act)();
  };
  static constexpr Choice kChoices[] = {
      {70, &Users::CreatePod},      {2, &Users::CreateDeployment}, {4, &Users::AnnotatePod},
      {9, &Users::SetConfig},       {3, &Users::DeleteConfig},     {2, &Users::SetClusterConfig},
      {2, &Users::CreateNamespace}, {2, &Users::DeleteNamespace},
  };
  uint64_t all = 0;
  for (const Choice& choice : kChoices) all += choice.weight;
  uint64_t drawn = random_.Below(all);
  for (const Choice& choice : kChoices) {
    if (drawn < choice.weight) {
      (this->*choice.act)();
      return;
    }
    drawn -= choice.weight;
  }
}

boost::asio::awaitable<void> Users::Run() {
  co_await kube::IgnoreCancellation();
  while (!stopped_) {
    Act();
    const auto least = kBetweenActions / 2;
    const auto most = kBetweenActions * 3 / 2;
    Result<> slept = co_await stage_.cluster().clock().Sleep(random_.Between(least, most));
    if (!slept) co_return;
  }
}

void Users::Send(ApiRequest request, uint64_t* count) {
  // With no API server, calls wait for their timeouts: others are not made then.
  if (tasks_.size() >= kMostCalls) {
    ++counts_.failed;
    return;
  }
  tasks_.Spawn("call", Call(std::move(request), count));
}

boost::asio::awaitable<void> Users::Call(ApiRequest request, uint64_t* count) {
  co_await kube::IgnoreCancellation();
  auto answer = co_await stage_.cluster().client().Call(std::move(request));
  if (!answer) {
    ++counts_.failed;
  } else if (count != nullptr) {
    ++*count;
  }
}

// --- Beginning and end

Result<> Users::AwaitCall(const std::function<ApiRequest()>& request) {
  Cluster& cluster = stage_.cluster();
  const kube::TimePoint deadline = cluster.clock().Now() + cluster.timeout();
  while (true) {
    auto answer = cluster.Run(cluster.client().Call(request()));
    if (answer) return Ok();
    if (cluster.clock().Now() > deadline) return answer.error();
    cluster.Pause(200ms);
  }
}

Result<> Users::Begin() {
  Cluster& cluster = stage_.cluster();
  Result<> done =
      AwaitCall([&] { return Apply(kConfigMaps, RegistriesIn(cluster.operator_namespace())); });
  if (!done) return done.error().Prefix("registries");
  const Json config = RandomClusterConfig();
  done = AwaitCall([&] { return Apply(kClusterConfigs, config); });
  if (!done) return done.error().Prefix("ClusterPodPlacementConfig");
  ++counts_.cluster_configs;
  const kube::TimePoint deadline = cluster.clock().Now() + cluster.timeout();
  while (true) {
    ObjectKey key{"", std::string(api::kClusterConfigName)};
    auto found = cluster.Run(kube::GetObject(cluster.client(), kClusterConfigs, std::move(key)));
    if (found && IsAvailable(found->body())) break;
    if (cluster.clock().Now() > deadline)
      return Error::DeadlineExceeded("the ClusterPodPlacementConfig is not available");
    cluster.Pause(100ms);
  }
  for (size_t i = 0; i < kFewestNamespaces + 1; ++i) {
    AddNamespace();
    const std::string& ns = namespaces_.back();
    done = AwaitCall([&] { return Post(kNamespaces, "", NamespaceOf(ns)); });
    if (!done) return done.error().Prefix("namespace " + ns);
    ++counts_.namespaces;
    const Json placement = RandomConfig(ns);
    done = AwaitCall([&] { return Apply(kConfigs, placement); });
    if (!done) return done.error().Prefix("PodPlacementConfig of " + ns);
    ++counts_.configs;
  }
  return Ok();
}

std::vector<ObjectKey> Users::CreateProbes() {
  std::vector<ObjectKey> probes;
  for (const std::string& ns : namespaces_) {
    ObjectKey key{ns, NewName("probe")};
    PodBuilder pod = MakePod(key.name).Namespace(ns).Label("team", "red");
    pod.Image(Stage::Image("demo/multi:1"));
    Send(Post(kPods, ns, pod.Build()), &counts_.pods);
    probes.push_back(std::move(key));
  }
  return probes;
}

Result<> Users::DeleteAll(kube::Duration limit) {
  Cluster& cluster = stage_.cluster();
  const kube::TimePoint deadline = cluster.clock().Now() + limit;
  namespaces_.clear();
  Result<> left = Ok();
  do {
    cluster.Pause(500ms);
    // Also those whose deletion got no answer.
    std::erase_if(all_namespaces_, [&](const std::string& ns) {
      auto deleted = cluster.Run(kube::DeleteObject(cluster.client(), kNamespaces, {"", ns}));
      return IsNotFound(deleted);
    });
    if (!all_namespaces_.empty()) {
      left = Error::AlreadyExists("namespace " + all_namespaces_.front() + " still exists");
      continue;
    }
    // Refused until the operator has seen that no PodPlacementConfig is left.
    ObjectKey key{"", std::string(api::kClusterConfigName)};
    auto deleted = cluster.Run(kube::DeleteObject(cluster.client(), kClusterConfigs, key));
    if (IsNotFound(deleted)) return Ok();
    left = deleted ? Error::AlreadyExists("the ClusterPodPlacementConfig is being deleted")
                   : deleted.error();
  } while (cluster.clock().Now() < deadline);
  return left;
}

}  // namespace e2e
