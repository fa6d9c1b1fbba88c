// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/conditions.h"

#include <algorithm>

#include "api/names.h"
#include "api/webhook_probe.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"
#include "kube/types/object_fields.h"

namespace e2e {

using kube::Error;
using kube::IsNotFound;
using kube::Ok;
using kube::Resource;
using kube::Result;

namespace {

constexpr char kClusterGatePolicy[] = "pod-placement-scheduling-gate.multiarch.openshift.io";

Error Missing(std::string what) { return Error::NotFound(std::move(what)); }

std::string Join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ", ") + word;
  return joined;
}

Result<> IsRolledOut(const Json& deployment) {
  int64_t wanted = kube::IntAt(deployment, "spec.replicas", 1);
  bool seen = kube::IntAt(deployment, "status.observedGeneration") >=
              kube::IntAt(deployment, "metadata.generation");
  bool all = seen && kube::IntAt(deployment, "status.updatedReplicas") == wanted &&
             kube::IntAt(deployment, "status.readyReplicas") == wanted &&
             kube::IntAt(deployment, "status.replicas") == wanted;
  if (!all)
    return Missing("Deployment " + kube::StringAt(deployment, "metadata.name") +
                   " is not rolled out");
  return Ok();
}

Result<> DeploymentIsRolledOut(Scene& scene, const std::string& ns, std::string_view name) {
  Cluster& cluster = scene.cluster();
  auto found =
      cluster.Run(kube::GetObject(cluster.client(), kDeployments, {ns, std::string(name)}));
  if (!found) return found.error();
  return IsRolledOut(found->body());
}

// Ok when the configuration has `entries` entries that gate pods (0: at least one), and each of all
// has a CA bundle.
Result<> WebhooksAreComplete(Scene& scene, const std::string& name, size_t entries) {
  Result<Json> configuration = scene.Get(kMutatingWebhookConfigurations, name);
  if (!configuration) return configuration.error();
  const Json* webhooks = kube::Find(*configuration, "webhooks");
  auto gates = [](const Json& webhook) {
    return kube::StringAt(webhook, "clientConfig.service.path") != api::kWebhookProbePath;
  };
  auto count = webhooks == nullptr ? 0 : std::count_if(webhooks->begin(), webhooks->end(), gates);
  if (entries == 0 ? count == 0 : size_t(count) != entries)
    return Missing(name + " has " + std::to_string(count) + " entries");
  for (const Json& webhook : *webhooks) {
    if (kube::StringAt(webhook, "clientConfig.caBundle").empty())
      return Missing(name + " has an entry without CA");
  }
  return Ok();
}

// Ok when the API server adds the gate to a new pod with `labels`. A webhook configuration takes
// effect a moment after it was written, and pods created in between are not gated (failurePolicy
// Ignore). The request is a dry run.
Result<> NewPodsAreGated(Scene& scene, std::string_view gate, const Json& labels) {
  Json tiny = {{"cpu", "1m"}, {"memory", "1Mi"}};
  Json pod = MakePod("probe")
                 .Image("none")
                 .Set("/metadata/labels", labels)
                 .Set("/spec/containers/0/resources", {{"requests", tiny}, {"limits", tiny}})
                 .Build();
  Result<Json> created = scene.CreateInADryRun(kPods, pod);
  if (!created) return created.error().Prefix("create a pod in a dry run");
  if (!HasGate(*created, gate))
    return Missing("a new pod with labels " + kube::DumpJson(labels) + " does not get " +
                   std::string(gate));
  return Ok();
}

// Labels that `selector` selects. Its requirements must not exclude each other.
Json LabelsFor(const Json& selector) {
  Json labels = selector.value("matchLabels", Json::object());
  for (const Json& requirement : selector.value("matchExpressions", Json::array())) {
    std::string key = kube::StringAt(requirement, "key");
    std::string op = kube::StringAt(requirement, "operator");
    if (labels.contains(key)) continue;
    if (op == "In") labels[key] = requirement["values"][0];
    if (op == "Exists") labels[key] = "";
  }
  return labels;
}

// The webhook entries of a config: one of its own preferences, and one for each rule.
size_t EntriesOf(const Json& config) {
  const Json* rules = kube::Find(config, "spec.celRules");
  return (rules == nullptr ? 0 : rules->size()) +
         (kube::Find(config, "spec.plugins.nodeAffinityScoring") != nullptr);
}

Result<> IsGone(Scene& scene, const Resource& resource, const std::string& name) {
  Result<Json> found = scene.Get(resource, name);
  if (IsNotFound(found)) return Ok();
  if (!found) return found.error();
  return Missing(std::string(resource.kind) + " " + name + " is still there");
}

// With webhooks: `webhook` is rolled out, and its configuration `name` has `entries`, as in
// WebhooksAreComplete(). With policies: both are gone.
Result<> GatingIsComplete(Scene& scene, bool by_policy, const std::string& ns,
                          std::string_view webhook, const std::string& name, size_t entries) {
  if (!by_policy) {
    Result<> rolled_out = DeploymentIsRolledOut(scene, ns, webhook);
    if (!rolled_out) return rolled_out;
    return WebhooksAreComplete(scene, name, entries);
  }
  Result<> gone = IsGone(scene, kMutatingWebhookConfigurations, name);
  if (!gone) return gone;
  auto found = scene.cluster().Run(
      kube::GetObject(scene.cluster().client(), kDeployments, {ns, std::string(webhook)}));
  if (IsNotFound(found)) return Ok();
  if (!found) return found.error();
  return Missing("Deployment " + std::string(webhook) + " is still there");
}

Result<> HasCondition(const Json& object, const std::string& type, const std::string& status,
                      const std::string& text) {
  const Json* condition = kube::ConditionOf(object, type);
  if (condition == nullptr) return Missing("no condition " + type);
  std::string said =
      kube::StringAt(*condition, "reason") + " " + kube::StringAt(*condition, "message");
  if (kube::StringAt(*condition, "status") == status && said.find(text) != std::string::npos)
    return Ok();
  return Missing("condition " + kube::DumpJson(*condition));
}

// spec.gating of the ClusterPodPlacementConfig is Policy, and the API server serves policies.
bool GatedByPolicy(const Json& cluster_config) {
  return kube::StringAt(cluster_config, "spec.gating") == "Policy" &&
         !HasCondition(cluster_config, "Degraded", "True", "GatingByPolicyNotSupported");
}

}  // namespace

Condition OfPod(const std::string& pod, const std::string& what,
                std::function<bool(const Json&)> holds) {
  return {.name = "pod " + pod + " " + what,
          .holds = [pod, what, holds = std::move(holds)](Scene& scene) -> Result<> {
            const PodHistory* history = scene.pods().Find(pod);
            if (history == nullptr) return Missing("pod " + pod + " was never seen");
            if (!holds(history->last())) return Missing("not yet: pod " + pod + " " + what);
            return Ok();
          },
          .pod = pod};
}

Condition Ungated(const std::string& pod) {
  return OfPod(pod, "is ungated", [](const Json& json) { return !IsGated(json); });
}

Condition ClusterGated(const std::string& pod) {
  return OfPod(pod, "has the cluster gate",
               [](const Json& json) { return HasGate(json, api::kClusterGate); });
}

Condition Labelled(const std::string& pod, const std::string& key, const std::string& value) {
  return OfPod(pod, "has the label " + key + "=" + value,
               [=](const Json& json) { return HasLabel(json, key, value); });
}

Condition Annotated(const std::string& pod, const std::string& key, const std::string& value) {
  return OfPod(pod, "has the annotation " + key + "=" + value,
               [=](const Json& json) { return AnnotationOf(json, key) == value; });
}

Condition Requires(const std::string& pod, std::vector<std::string> architectures) {
  std::sort(architectures.begin(), architectures.end());
  return OfPod(pod, "is ungated and requires " + Join(architectures),
               [architectures](const Json& json) {
                 std::vector<std::vector<std::string>> terms = RequirementsOf(json);
                 bool all = !IsGated(json) && !terms.empty();
                 for (std::vector<std::string>& term : terms) {
                   std::sort(term.begin(), term.end());
                   all = all && term == architectures;
                 }
                 return all;
               });
}

Condition Prefers(const std::string& pod, std::map<std::string, int> weights) {
  std::string what = "is ungated and prefers";
  for (const auto& [architecture, weight] : weights)
    what += " " + architecture + ":" + std::to_string(weight);
  if (weights.empty()) what += " nothing";
  return OfPod(pod, what, [weights = std::move(weights)](const Json& json) {
    return !IsGated(json) && PreferencesOf(json) == weights;
  });
}

Condition ScheduledOn(const std::string& pod, std::vector<std::string> architectures) {
  return {.name = "pod " + pod + " is scheduled on " + Join(architectures),
          .holds = [pod, architectures](Scene& scene) -> Result<> {
            const PodHistory* history = scene.pods().Find(pod);
            std::string node = history == nullptr ? "" : NodeOf(history->last());
            if (node.empty()) return Missing("pod " + pod + " is on no node");
            Result<Json> found = scene.Get(kNodes, node);
            if (!found) return found.error();
            std::string architecture = LabelOf(*found, std::string(api::kArchLabel));
            bool wanted = std::find(architectures.begin(), architectures.end(), architecture) !=
                          architectures.end();
            if (!wanted)
              return Missing("pod " + pod + " is on " + node + ", which is " + architecture);
            return Ok();
          },
          .pod = pod};
}

Condition EventAbout(const std::string& pod, const std::string& reason,
                     const std::vector<std::string>& words) {
  return {
      .name = "event " + reason + " about pod " + pod,
      .holds = [pod, reason, words](Scene& scene) -> Result<> {
        Result<std::vector<Json>> events = scene.List(kEvents);
        if (!events) return events.error();
        std::string others;
        for (const Json& event : *events) {
          if (kube::StringAt(event, "reason") != reason ||
              kube::StringAt(event, "involvedObject.name") != pod) {
            continue;
          }
          std::string message = kube::StringAt(event, "message");
          if (std::all_of(words.begin(), words.end(), [&](const std::string& word) {
                return message.find(word) != std::string::npos;
              })) {
            return Ok();
          }
          others += "; found: " + message;
        }
        return Missing("no event " + reason + (words.empty() ? "" : " with all words") + others);
      },
      .pod = pod};
}

Condition AllUngated(size_t count) {
  return {.name = std::to_string(count) + " pods exist and are ungated",
          .holds = [count](Scene& scene) -> Result<> {
            size_t seen = 0;
            for (const PodHistory* history : scene.pods().All()) {
              if (IsOperand(history->last())) continue;
              if (IsGated(history->last()) && !history->deleted())
                return Missing("pod " + history->name + " is gated");
              ++seen;
            }
            if (seen < count) return Missing(std::to_string(seen) + " pods");
            return Ok();
          }};
}

Condition Exists(const Resource& resource, const std::string& name) {
  return {.name = std::string(resource.kind) + " " + name + " exists",
          .holds = [=](Scene& scene) -> Result<> {
            Result<Json> found = scene.Get(resource, name);
            if (!found) return found.error();
            return Ok();
          }};
}

Condition Absent(const Resource& resource, const std::string& name) {
  return {.name = std::string(resource.kind) + " " + name + " is absent",
          .holds = [=](Scene& scene) { return IsGone(scene, resource, name); }};
}

Condition HasStatusCondition(const Resource& resource, const std::string& name,
                             const std::string& type, const std::string& status,
                             const std::string& text) {
  return {.name = std::string(resource.kind) + " " + name + " has condition " + type + "=" +
                  status + " " + text,
          .holds = [=](Scene& scene) -> Result<> {
            Result<Json> found = scene.Get(resource, name);
            if (!found) return found.error();
            return HasCondition(*found, type, status, text);
          }};
}

Condition RolledOut(const std::string& deployment) {
  return {.name = "Deployment " + deployment + " is rolled out",
          .holds = [deployment](Scene& scene) {
            return DeploymentIsRolledOut(scene, scene.ns(), deployment);
          }};
}

Condition ShardReady() {
  return {.name = "the shard is ready", .holds = [](Scene& scene) -> Result<> {
            Result<std::vector<Json>> configs = scene.List(kConfigs);
            if (!configs) return configs.error();
            Result<> rolled_out =
                DeploymentIsRolledOut(scene, scene.ns(), api::kShardControllerName);
            if (!rolled_out) return rolled_out;
            Result<Json> cluster = scene.Get(kClusterConfigs, std::string(api::kClusterConfigName));
            if (!cluster) return cluster.error();
            size_t entries = 0;
            for (const Json& config : *configs) entries += EntriesOf(config);
            Result<> complete =
                GatingIsComplete(scene, GatedByPolicy(*cluster), scene.ns(), api::kShardWebhookName,
                                 api::ShardWebhookConfigurationName(scene.ns()), entries);
            if (!complete) return complete;
            for (const Json& config : *configs) {
              Result<> available = HasCondition(config, "Available", "True", "");
              if (!available) return available;
              // Only the rules' entries: which pods they gate is up to the expressions.
              if (kube::Find(config, "spec.plugins.nodeAffinityScoring") == nullptr) continue;
              const Json* selector = kube::Find(config, "spec.labelSelector");
              Json labels = selector == nullptr ? Json::object() : LabelsFor(*selector);
              Result<> in_force = NewPodsAreGated(scene, api::kLocalGate, labels);
              if (!in_force) return in_force;
            }
            return Ok();
          }};
}

Condition ShardRemoved() {
  return {
      .name = "the shard is removed", .holds = [](Scene& scene) -> Result<> {
        // The announcement of a config's last write stays for some minutes, with the config.
        Result<std::vector<Json>> configs = scene.List(kConfigs);
        if (!configs) return configs.error();
        for (std::string_view name : {api::kShardControllerName, api::kShardWebhookName,
                                      std::string_view("pod-placement-settings")}) {
          for (const Resource& resource :
               {kDeployments, kReplicaSets, kServices, kServiceAccounts, kSecrets, kConfigMaps,
                kRoles, kRoleBindings, kLeases, kPodDisruptionBudgets, kNetworkPolicies, kPods}) {
            Result<std::vector<Json>> objects = scene.List(resource);
            if (!objects) return objects.error();
            for (const Json& object : *objects) {
              std::string found = kube::StringAt(object, "metadata.name");
              bool left =
                  found.starts_with(name) || (found == api::kAnnouncementsName && configs->empty());
              if (left) return Missing(std::string(resource.kind) + " " + found + " is left");
            }
          }
        }
        return IsGone(scene, kMutatingWebhookConfigurations,
                      api::ShardWebhookConfigurationName(scene.ns()));
      }};
}

Condition NoConfigAnywhere() {
  return {.name = "no namespace has a config", .holds = [](Scene& scene) -> Result<> {
            Cluster& cluster = scene.cluster();
            auto configs =
                cluster.Run(kube::ListObjects(cluster.client(), kConfigs, kube::ListOptions()));
            if (!configs) return configs.error();
            if (configs->items.empty()) return Ok();
            return Missing(std::to_string(configs->items.size()) + " exist, such as " +
                           kube::KeyOf(configs->items.front()).ToString());
          }};
}

Condition ClusterConfigReady() {
  return {.name = "the cluster's operands are ready", .holds = [](Scene& scene) -> Result<> {
            Result<Json> config = scene.Get(kClusterConfigs, std::string(api::kClusterConfigName));
            if (!config) return config.error();
            const std::string& ns = scene.cluster().operator_namespace();
            Result<> rolled_out = DeploymentIsRolledOut(scene, ns, api::kControllerName);
            if (!rolled_out) return rolled_out;
            bool by_policy = GatedByPolicy(*config);
            Result<> complete =
                GatingIsComplete(scene, by_policy, ns, api::kWebhookName,
                                 std::string(api::kMutatingWebhookConfigurationName), 0);
            if (!complete) return complete;
            // Policies of an earlier flow are gone.
            Result<> no_policy =
                by_policy ? Ok()
                          : IsGone(scene, kube::kMutatingAdmissionPolicies, kClusterGatePolicy);
            if (!no_policy) return no_policy;
            Result<> available = HasCondition(*config, "Available", "True", "");
            if (!available) return available;
            return NewPodsAreGated(scene, api::kClusterGate, Json::object());
          }};
}

}  // namespace e2e
