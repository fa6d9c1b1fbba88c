// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/config_load.h"

#include <functional>

#include "api/names.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/pod_history.h"
#include "e2e/framework/resources.h"
#include "e2e/soak/create_object.h"
#include "kube/client/typed.h"
#include "kube/types/object_fields.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/scheduling_policy.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Async;
using kube::Error;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;

namespace {

constexpr char kOperator[] = "multiarch-tuning-operator";
constexpr char kSelected[] = "pod-placement-soak";
constexpr char kRegistries[] = "soak-registries";
constexpr char kFirst[] = "first";
constexpr char kSecond[] = "second";
constexpr char kPolicy[] = "tolerate";
constexpr auto kPoll = 250ms;

Json Platforms(int arm64, int amd64) {
  Json scoring;
  scoring["enabled"] = true;
  scoring["platforms"] = Json::array({{{"architecture", "arm64"}, {"weight", arm64}},
                                      {{"architecture", "amd64"}, {"weight", amd64}}});
  Json patch;
  patch["spec"]["plugins"]["nodeAffinityScoring"] = std::move(scoring);
  return patch;
}

Json Tolerations(int value) {
  Json patch;
  patch["spec"]["tolerations"] = Json::array({{{"key", "soak"},
                                               {"operator", "Equal"},
                                               {"value", std::to_string(value)},
                                               {"effect", "NoSchedule"}}});
  return patch;
}

}  // namespace

ConfigLoad::ConfigLoad(ProcessCluster& cluster, Options options)
    : cluster_(cluster), options_(std::move(options)), random_(options_.seed) {}

Result<> ConfigLoad::Await(const std::string& what, const std::function<Result<>()>& holds) {
  for (auto deadline = cluster_.clock().Now() + 5 * cluster_.timeout();; cluster_.Pause(kPoll)) {
    Result<> held = holds();
    if (held) return held;
    if (cluster_.clock().Now() > deadline) return held.error().Prefix(what);
  }
}

Result<> ConfigLoad::Create() {
  Result<> done = SetValidity();
  for (size_t i = 0; done && i < options_.namespaces.size(); ++i)
    done = CreateNamespace(options_.namespaces[i]);
  if (done) done = CreateClusterConfig();
  for (const std::string& ns : options_.namespaces) {
    if (!done) return done;
    Json config = MakeConfig(kFirst)
                      .Namespace(ns)
                      .Priority(100)
                      .Prefer("arm64", 75)
                      .Prefer("amd64", 25)
                      .Build();
    // The webhook of the operator may not be called yet.
    done = Await("PodPlacementConfig", [&] { return CreateObject(cluster_, kConfigs, config); });
    if (!done) return done;
    Json policy = {{"apiVersion", policy::kPodSchedulingPolicies.ApiVersion()},
                   {"kind", std::string(policy::kPodSchedulingPolicies.kind)},
                   {"metadata", {{"name", kPolicy}, {"namespace", ns}}}};
    policy["spec"] = Tolerations(0)["spec"];
    policy["spec"]["podSelector"]["matchLabels"]["app"] = "soak";
    done = Await("PodSchedulingPolicy",
                 [&] { return CreateObject(cluster_, policy::kPodSchedulingPolicies, policy); });
  }
  for (const std::string& ns : options_.namespaces) {
    if (done) done = Await("namespace " + ns, [&] { return PodsGetBothGates(ns); });
    if (done) done = Await("namespace " + ns, [&] { return PolicyIsReady(ns); });
  }
  return done;
}

Result<> ConfigLoad::SetValidity() {
  Json argument = "--certificate-validity=" + options_.validity;
  Json patch = Json::array({{{"op", "add"},
                             {"path", "/spec/template/spec/containers/0/args/-"},
                             {"value", std::move(argument)}}});
  auto patched = cluster_.Run(kube::PatchObject(cluster_.client(), kDeployments,
                                                {cluster_.operator_namespace(), kOperator},
                                                kube::kJsonPatch, std::move(patch)));
  if (!patched) return patched.error().Prefix("validity of certificates");
  return Await("the operator's Deployment", [this] { return OperatorIsRolledOut(); });
}

Result<> ConfigLoad::OperatorIsRolledOut() {
  auto found = cluster_.Run(
      kube::GetObject(cluster_.client(), kDeployments, {cluster_.operator_namespace(), kOperator}));
  if (!found) return found.error();
  const Json& body = found->body();
  int64_t replicas = kube::IntAt(body, "spec.replicas", 1);
  bool current =
      kube::IntAt(body, "status.observedGeneration") == kube::IntAt(body, "metadata.generation");
  for (const char* field :
       {"status.updatedReplicas", "status.replicas", "status.availableReplicas"})
    current = current && kube::IntAt(body, field) == replicas;
  if (!current) return Error::NotFound("it is being replaced");
  return Ok();
}

Result<> ConfigLoad::CreateNamespace(const std::string& ns) {
  Json object = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns}}}};
  object["metadata"]["labels"][kSelected] = "true";
  Result<> created = CreateObject(cluster_, kNamespaces, std::move(object));
  if (!created) return created;
  // Pods need it.
  return Await("the default ServiceAccount", [&]() -> Result<> {
    auto account =
        cluster_.Run(kube::GetObject(cluster_.client(), kServiceAccounts, {ns, "default"}));
    if (!account) return account.error();
    return Ok();
  });
}

Result<> ConfigLoad::CreateClusterConfig() {
  Json registries = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  registries["metadata"] = {{"name", kRegistries}, {"namespace", cluster_.operator_namespace()}};
  registries["data"]["registries.conf"] =
      "[[registry]]\nlocation = \"" + cluster_.registry() + "\"\ninsecure = true\n";
  Result<> created = CreateObject(cluster_, kConfigMaps, std::move(registries));
  if (!created) return created;
  Json config = MakeClusterConfig()
                    .ForNamespaces(kSelected, "true")
                    .Prefer("s390x", 1)
                    .Set("/spec/registriesConfigMapRef/name", kRegistries)
                    .Set("/spec/plugins/schedulingPolicies/enabled", true)
                    .Build();
  return Await("ClusterPodPlacementConfig",
               [&] { return CreateObject(cluster_, kClusterConfigs, config); });
}

Result<> ConfigLoad::PodsGetBothGates(const std::string& ns) {
  Json pod = MakePod("probe").Image(cluster_.Image("demo/multi:1")).Namespace(ns).Build();
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = kPods.Path(ns) + "?dryRun=All",
                           .content_type = std::string(kube::kJson),
                           .body = kube::DumpJson(pod)};
  auto answer =
      cluster_.Run(kube::CallFor<kube::Unstructured>(cluster_.client(), std::move(request)));
  if (!answer) return answer.error();
  for (std::string_view gate : {api::kClusterGate, api::kLocalGate}) {
    if (!HasGate(answer->body(), gate))
      return Error::NotFound("a new pod does not get the gate " + std::string(gate));
  }
  return Ok();
}

Result<> ConfigLoad::PolicyIsReady(const std::string& ns) {
  auto policy = cluster_.Run(
      kube::GetObject(cluster_.client(), policy::kPodSchedulingPolicies, {ns, kPolicy}));
  if (!policy) return policy.error();
  if (kube::ConditionStatus(policy->body(), policy::kReady) != "True")
    return Error::NotFound("the policy is not Ready: " + kube::DumpJson(policy->body()));
  return Ok();
}

boost::asio::awaitable<void> ConfigLoad::Edit() {
  co_await kube::IgnoreCancellation();
  for (int number = 0;; ++number) {
    Result<> slept = co_await cluster_.clock().Sleep(options_.edit_every);
    if (!slept) co_return;
    Result<> edited = co_await EditOne(number);
    if (FailedWith(edited, kube::Code::kCancelled)) co_return;
    ++(edited ? edits_ : failed_edits_);
  }
}

Async<> ConfigLoad::EditOne(int number) {
  constexpr int kKinds = 5;
  std::string ns =
      options_.namespaces[static_cast<size_t>(number / kKinds) % options_.namespaces.size()];
  kube::Resource resource = kConfigs;
  ObjectKey key{ns, kFirst};
  Json patch = Platforms(Weight(), Weight());
  switch (number % kKinds) {
    case 0:
      resource = kClusterConfigs;
      key = {"", std::string(api::kClusterConfigName)};
      break;
    case 1:
      resource = policy::kPodSchedulingPolicies;
      key.name = kPolicy;
      patch = Tolerations(Weight());
      break;
    case 2: {
      Result<> toggled = co_await ToggleSecond(ns);
      co_return toggled;
    }
    default:
      break;  // the config of the namespace
  }
  Result<> patched = co_await Patch(resource, std::move(key), std::move(patch));
  co_return patched;
}

Async<> ConfigLoad::Patch(kube::Resource resource, ObjectKey key, Json patch) {
  auto patched = co_await kube::PatchObject(cluster_.client(), resource, std::move(key),
                                            kube::kMergePatch, std::move(patch));
  if (!patched) co_return patched.error();
  co_return Ok();
}

Async<> ConfigLoad::ToggleSecond(std::string ns) {
  kube::Unstructured config(
      MakeConfig(kSecond).Namespace(ns).Priority(50).Prefer("s390x", Weight()).Build());
  auto created = co_await kube::CreateObject(cluster_.client(), kConfigs, std::move(config));
  if (created) co_return Ok();
  if (!FailedWith(created, kube::Code::kAlreadyExists)) co_return created.error();
  ObjectKey key{ns, kSecond};
  Result<> deleted = co_await kube::DeleteObject(cluster_.client(), kConfigs, std::move(key));
  co_return deleted;
}

std::vector<ObjectKey> ConfigLoad::Secrets() const {
  const std::string& ops = cluster_.operator_namespace();
  std::vector<ObjectKey> secrets = {
      {ops, std::string(api::kOperatorServiceName)}, {ops, std::string(api::kWebhookName)},
      {ops, std::string(api::kControllerName)},      {ops, std::string(policy::kWebhookName)},
      {ops, "multiarch-tuning-operator-ca"},         {ops, "pod-placement-ca"}};
  for (const std::string& ns : options_.namespaces) {
    secrets.push_back({ns, std::string(api::kShardWebhookName)});
    secrets.push_back({ops, "pod-placement-shard-ca-" + ns});
  }
  return secrets;
}

boost::asio::awaitable<void> ConfigLoad::Rotate() {
  co_await kube::IgnoreCancellation();
  const std::vector<ObjectKey> secrets = Secrets();
  for (size_t number = 0;; ++number) {
    Result<> slept = co_await cluster_.clock().Sleep(options_.rotate_every);
    if (!slept) co_return;
    ObjectKey key = secrets[number % secrets.size()];
    Result<> deleted = co_await kube::DeleteObject(cluster_.client(), kSecrets, std::move(key));
    if (FailedWith(deleted, kube::Code::kCancelled)) co_return;
    if (deleted) ++rotations_;
  }
}

}  // namespace e2e
