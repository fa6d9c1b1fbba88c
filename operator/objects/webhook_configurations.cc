// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/webhook_configurations.h"

#include "api/excluded_namespaces.h"
#include "api/known_images.h"
#include "api/names.h"
#include "api/webhook_probe.h"
#include "kube/base/base64.h"
#include "kube/types/kinds.h"
#include "operator/objects/hash.h"
#include "operator/objects/metadata.h"
#include "operator/objects/namespace_in.h"
#include "operator/objects/pod_conditions.h"

namespace operator_ {
namespace {

using kube::Json;

// Of the configuration of the cluster's webhook. The second one is for the namespaces in which
// PodPlacementConfigs may change pods.
constexpr char kGateEntry[] = "pod-placement-scheduling-gate.multiarch.openshift.io";
constexpr char kConfiguredNamespacesEntry[] =
    "pod-placement-preferences-gate.multiarch.openshift.io";

bool IsForPlacing(const Json& webhook) {
  std::string path = kube::StringAt(webhook, "clientConfig.service.path");
  return path == api::kPlacePath || path == api::kPlaceWithPreferencesPath;
}

Json ClientConfig(const std::string& ns, std::string_view service, const std::string& path,
                  const std::string& ca_bundle_pem) {
  return {{"service",
           {{"namespace", ns}, {"name", std::string(service)}, {"path", path}, {"port", 443}}},
          {"caBundle", kube::Base64Encode(ca_bundle_pem)}};
}

// A webhook that gates pods. A failure of it never blocks the creation of a pod.
Json GatingWebhook(const std::string& name, Json client_config,
                   const std::vector<std::string>& excluded_schedulers) {
  return {{"name", name},
          {"clientConfig", std::move(client_config)},
          {"rules", Json::array({PodRule()})},
          {"matchConditions", PodMatchConditions(excluded_schedulers)},
          {"matchPolicy", "Equivalent"},
          {"failurePolicy", "Ignore"},
          {"sideEffects", "None"},
          {"reinvocationPolicy", "Never"},
          {"timeoutSeconds", 5},
          {"admissionReviewVersions", Json::array({"v1"})}};
}

// For the operator's probe of the webhook of `client_config`. `scope`: the value of the label.
Json ProbeWebhook(const std::string& name, std::string_view scope, Json client_config,
                  const OperandOptions& options) {
  client_config["service"]["path"] = std::string(api::kWebhookProbePath);
  Json webhook = GatingWebhook(name, std::move(client_config), {});
  webhook["rules"] =
      Json::array({{{"operations", Json::array({"CREATE"})},
                    {"apiGroups", Json::array({std::string(kube::kDeployments.group)})},
                    {"apiVersions", Json::array({std::string(kube::kDeployments.version)})},
                    {"resources", Json::array({std::string(kube::kDeployments.plural)})},
                    {"scope", "Namespaced"}}});
  webhook["matchConditions"] =
      Json::array({Condition("by-the-operator", IsBy(options.ns, kManagedBy))});
  webhook["namespaceSelector"] = SelectNamespace(options.ns);
  webhook["objectSelector"] = {
      {"matchLabels", {{std::string(api::kWebhookProbeLabel), std::string(scope)}}}};
  return webhook;
}

// `side_effects`: of allowed writes; the announcement of a PodPlacementConfig
// (announcements/announcer.h).
Json ValidatingWebhook(std::string_view name, std::string_view path, const kube::Resource& resource,
                       Json operations, const char* side_effects, const std::string& ca_bundle_pem,
                       const OperandOptions& options) {
  Json rule = {{"operations", std::move(operations)},
               {"apiGroups", Json::array({std::string(resource.group)})},
               {"apiVersions", Json::array({std::string(resource.version)})},
               {"resources", Json::array({std::string(resource.plural)})},
               {"scope", "*"}};
  return {
      {"name", std::string(name)},
      {"clientConfig",
       ClientConfig(options.ns, api::kOperatorServiceName, std::string(path), ca_bundle_pem)},
      {"rules", Json::array({std::move(rule)})},
      {"matchConditions",
       Json::array({Condition("not-by-the-operator", "!(" + IsBy(options.ns, kManagedBy) + ")")})},
      {"matchPolicy", "Equivalent"},
      {"failurePolicy", "Fail"},
      {"sideEffects", side_effects},
      {"timeoutSeconds", 10},
      {"admissionReviewVersions", Json::array({"v1"})}};
}

}  // namespace

void AddIncludedNamespaces(Json& webhooks, const OperandOptions& options) {
  if (options.excluded_namespaces.empty()) return;
  std::string excluded = IsInOneOf(options.excluded_namespaces);
  for (size_t i = 0, count = webhooks.size(); i < count; ++i) {
    Json included = webhooks[i];
    included["name"] = "included-" + webhooks[i]["name"].get<std::string>();
    included["namespaceSelector"]["matchExpressions"].push_back(
        {{"key", std::string(api::kIncludeLabel)}, {"operator", "Exists"}});
    included["matchConditions"].push_back(Condition("in-an-excluded-namespace", excluded));
    webhooks[i]["matchConditions"].push_back(
        Condition("not-in-an-excluded-namespace", "!" + excluded));
    webhooks.push_back(std::move(included));
  }
}

bool IsReservedNamespace(std::string_view ns, const OperandOptions& options) {
  return ns == options.ns || ns.starts_with("kube-");
}

Json ClusterWebhookConfiguration(const api::ClusterPodPlacementConfig& config,
                                 const std::vector<std::string>& preferring_namespaces,
                                 const std::string& ca_bundle_pem, const OperandOptions& options,
                                 bool places) {
  auto entry = [&](const char* name, std::string_view path) {
    Json webhook = GatingWebhook(
        name, ClientConfig(options.ns, api::kWebhookName, std::string(path), ca_bundle_pem),
        config.spec.excluded_scheduler_names);
    webhook["namespaceSelector"] = ClusterNamespaceSelector(config, options);
    webhook["objectSelector"] = Json::object();
    webhook["matchConditions"].push_back(NotInAReservedNamespace());
    return webhook;
  };
  const bool prefers = !config.Preferences().empty();
  Json webhooks = Json::array();
  if (places) {
    Json webhook = entry(kGateEntry, prefers ? api::kPlaceWithPreferencesPath : api::kPlacePath);
    if (!preferring_namespaces.empty())
      webhook["namespaceSelector"]["matchExpressions"].push_back(
          NamespaceIn("NotIn", preferring_namespaces));
    // Another webhook may change the images of a pod that was placed.
    webhook["reinvocationPolicy"] = "IfNeeded";
    webhooks.push_back(std::move(webhook));
  } else {
    webhooks.push_back(
        entry(kGateEntry, prefers ? api::kClusterPreferencesPath : api::kClusterGatePath));
  }
  if (!prefers) {
    std::string gated = "!" + RequiresArchitecture();
    if (places) gated += " || " + HasKey("object.metadata.labels", api::kPlacedAtCreationLabel);
    webhooks[0]["matchConditions"].push_back(Condition(kArchitectureNotRequired, std::move(gated)));
  }
  if ((places || !prefers) && !preferring_namespaces.empty()) {
    Json webhook = entry(kConfiguredNamespacesEntry,
                         places ? api::kPlaceBehindLocalGatePath : api::kClusterPreferencesPath);
    // Called again once the shard's webhook has added the local gate.
    if (places) webhook["reinvocationPolicy"] = "IfNeeded";
    webhook["namespaceSelector"]["matchExpressions"].push_back(
        NamespaceIn("In", preferring_namespaces));
    if (!places)
      webhook["matchConditions"].push_back(
          Condition(kArchitectureRequired, RequiresArchitecture()));
    webhooks.push_back(std::move(webhook));
  }
  AddIncludedNamespaces(webhooks, options);
  webhooks.push_back(ProbeWebhook("pod-placement-probe.multiarch.openshift.io",
                                  api::kClusterWebhookProbe, webhooks[0]["clientConfig"], options));
  Json object = NewClusterScoped(kube::kMutatingWebhookConfigurations,
                                 api::kMutatingWebhookConfigurationName, options);
  object["webhooks"] = std::move(webhooks);
  return object;
}

std::optional<std::set<std::string>> PreferringNamespacesOf(const Json& configuration) {
  const Json* webhooks = kube::Find(configuration, "webhooks");
  std::set<std::string> namespaces;
  bool limited = false;
  if (webhooks == nullptr || !webhooks->is_array()) return std::nullopt;
  for (const Json& webhook : *webhooks) {
    const Json* conditions = kube::Find(webhook, "matchConditions");
    limited |= HasCondition(conditions, kArchitectureNotRequired) || IsForPlacing(webhook);
    const Json* selector = kube::Find(webhook, "namespaceSelector");
    if (kube::StringAt(webhook, "name").ends_with(kConfiguredNamespacesEntry) &&
        selector != nullptr)
      namespaces.merge(NamespacesIn(*selector));
  }
  if (!limited) return std::nullopt;
  return namespaces;
}

std::string ShardWebhookEntryName(const std::string& ns, const std::string& name,
                                  const std::string& rule) {
  constexpr size_t kMaxName = 253;
  // No shard is in a namespace kube-*, so this is never the entry of a config "RULE.NAME".
  std::string kind = rule.empty() ? "." : ".kube-rules.";
  std::string suffix = "." + ns + kind + std::string(api::kGroup);
  std::string full = rule.empty() ? name : rule + "." + name;
  if (full.size() + suffix.size() <= kMaxName) return full + suffix;
  std::string shortened = full.substr(0, 100);
  while (!shortened.empty() && (shortened.back() == '.' || shortened.back() == '-'))
    shortened.pop_back();
  return shortened + "-" + HashOf(full) + suffix;
}

Json ShardWebhookConfiguration(const std::string& ns, const api::PodPlacementConfigs& in_force,
                               const LeftOutRulesOf& left_out,
                               const std::vector<std::string>& excluded_schedulers,
                               const std::string& ca_bundle_pem, const OperandOptions& options) {
  auto entry = [&](const api::PodPlacementConfig& config, const std::string& rule) {
    const std::string& name = config.metadata().name();
    std::string path = std::string(api::kLocalGatePathPrefix) + name;
    if (!rule.empty()) path += "/" + rule;
    Json webhook = GatingWebhook(ShardWebhookEntryName(ns, name, rule),
                                 ClientConfig(ns, api::kShardWebhookName, path, ca_bundle_pem),
                                 excluded_schedulers);
    webhook["namespaceSelector"] = SelectNamespace(ns);
    webhook["namespaceSelector"]["matchExpressions"].push_back(NamespaceNotOptedOut());
    webhook["objectSelector"] = PodSelector(config);
    return webhook;
  };
  Json webhooks = Json::array();
  for (const api::PodPlacementConfig* config : in_force) {
    if (!config->Preferences().empty()) webhooks.push_back(entry(*config, ""));
    for (size_t i = 0; i < config->Rules().size(); ++i) {
      if (IsLeftOut(left_out, config->metadata().name(), i)) continue;
      const api::CelRule& rule = config->Rules()[i];
      Json webhook = entry(*config, rule.name);
      webhook["matchConditions"].push_back(RuleCondition(rule.expression));
      webhooks.push_back(std::move(webhook));
    }
  }
  if (!webhooks.empty()) {
    // No shard is in a namespace kube-*, so this is never the entry of a config "probe".
    std::string name = "probe." + ns + ".kube-probe." + std::string(api::kGroup);
    webhooks.push_back(ProbeWebhook(name, ns, webhooks[0]["clientConfig"], options));
  }
  Json object = NewClusterScoped(kube::kMutatingWebhookConfigurations,
                                 api::ShardWebhookConfigurationName(ns), options);
  SetLabel(object, kShardNamespaceLabel, ns);
  object["webhooks"] = std::move(webhooks);
  return object;
}

Json ValidatingWebhookConfiguration(const std::vector<ValidatedKind>& more,
                                    const std::string& ca_bundle_pem,
                                    const OperandOptions& options) {
  Json object = NewClusterScoped(kube::kValidatingWebhookConfigurations,
                                 kValidatingWebhookConfigurationName, options);
  auto entry = [&](std::string_view name, std::string_view path, const kube::Resource& resource,
                   Json operations, const char* side_effects) {
    object["webhooks"].push_back(ValidatingWebhook(name, path, resource, std::move(operations),
                                                   side_effects, ca_bundle_pem, options));
  };
  const Json writes = Json::array({"CREATE", "UPDATE"});
  entry("validate-podplacementconfig.multiarch.openshift.io", api::kValidateConfigPath,
        kube::ResourceOf<api::PodPlacementConfig>::value, writes, "NoneOnDryRun");
  entry("validate-clusterpodplacementconfig.multiarch.openshift.io",
        api::kValidateClusterConfigPath, kube::ResourceOf<api::ClusterPodPlacementConfig>::value,
        Json::array({"CREATE", "UPDATE", "DELETE"}), "NoneOnDryRun");
  for (const ValidatedKind& kind : more) entry(kind.name, kind.path, kind.resource, writes, "None");
  return object;
}

}  // namespace operator_
