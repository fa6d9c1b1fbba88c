// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/gating_policies.h"

#include <optional>
#include <utility>

#include "api/excluded_namespaces.h"
#include "api/names.h"
#include "kube/admission/json_patch.h"
#include "kube/types/kinds.h"
#include "operator/objects/cel_patch.h"
#include "operator/objects/known_images_cel.h"
#include "operator/objects/metadata.h"
#include "operator/objects/namespace_in.h"
#include "operator/objects/pod_conditions.h"
#include "operator/objects/webhook_configurations.h"
#include "placement/local_configs.h"

namespace operator_ {
namespace {

using kube::Json;

constexpr kube::Resource kConfigs = kube::ResourceOf<api::PodPlacementConfig>::value;

// A list of patches that removes the label of a pod whose preferences are decided, from a pod that
// is a copy of it.
std::string RemoveCopiedLabel() {
  const std::string labels = "object.metadata.labels";
  std::string path = "/metadata/labels/" + kube::PointerToken(api::kLocalGateLabel);
  return "(" + HasValue(labels, api::kLocalGateLabel, Quoted(api::kRemoved)) + " && !" +
         HasGate(api::kLocalGate) + " ? [" + RemoveAt(path) + "] : [])";
}

// The namespace is excluded and does not have the label. A condition of a policy does not see the
// labels of the namespace; a variable does.
std::string IsExcluded(const OperandOptions& options) {
  return IsInOneOf(options.excluded_namespaces) + " && !" +
         HasKey("namespaceObject.metadata.labels", api::kIncludeLabel);
}

// Pods of known images are placed.
struct Placing {
  const KnownTable& table;
  const std::vector<std::string>& configured;
};

// The gate, unless the pod has it or is `ignored` (CEL), and the labels of the cluster gate.
Json ClusterGateSpec(std::string ignored, Json conditions, const OperandOptions& options,
                     const std::optional<Placing>& placing = std::nullopt) {
  std::string not_set = Quoted(api::kNotSet);
  std::string label = "variables.ignored ? " + not_set + " : " + Quoted(api::kGated);
  std::string patches =
      "(variables.gated || variables.ignored ? [] : " + AddGate(api::kClusterGate) + ") + " +
      SetEntries("labels", {{api::kClusterGateLabel, label},
                            {api::kNodeAffinityLabel, not_set},
                            {api::kPreferredNodeAffinityLabel, not_set}}) +
      " + " + RemoveCopiedLabel();
  // What was required of a placed pod is not its author's.
  if (placing) ignored = "!" + WasPlaced() + " && " + ignored;
  Json variables = Json::array({Variable("gated", HasGate(api::kClusterGate)),
                                Variable("ignored", "!variables.gated && " + ignored)});
  if (placing) {
    AddKnownImages(placing->table, placing->configured, variables);
    patches = PlaceOr(patches);
  }
  if (!options.excluded_namespaces.empty()) {
    variables.push_back(Variable("excluded", IsExcluded(options)));
    patches = "variables.excluded ? [] : " + patches;
  }
  return {{"matchConditions", std::move(conditions)},
          {"variables", std::move(variables)},
          {"reinvocationPolicy", placing ? "IfNeeded" : "Never"},
          {"mutations", patches}};
}

// The user's own requirement and preference take precedence: no configuration would add anything.
std::string ConstrainsArchitecture() {
  return RequiresArchitecture() + " && " + PrefersArchitecture();
}

// The API server applies the policy once for each config, and each change costs it time for the
// size of the pod. More names decide nothing: whoever removes the gate applies all configs that
// match.
constexpr int kMaxListedConfigs = 8;

// CEL: the pod has the gate, its label, and that many names.
std::string ListsEnoughConfigs() {
  std::string key = Quoted(api::kLocalConfigsAnnotation);
  return HasGate(api::kLocalGate) + " && " +
         HasKey("object.metadata.labels", api::kLocalGateLabel) + " && " +
         HasKey("object.metadata.annotations", api::kLocalConfigsAnnotation) +
         " && size(object.metadata.annotations[" + key + "].split(',', " +
         std::to_string(kMaxListedConfigs + 1) + ")) >= " + std::to_string(kMaxListedConfigs);
}

// The gate, unless the pod has it, its label, and the name of the config, which is the parameter,
// in the annotation.
Json LocalGateSpec(const std::vector<std::string>& excluded_schedulers) {
  std::string key = Quoted(api::kLocalConfigsAnnotation);
  Json conditions = PodMatchConditions(excluded_schedulers);
  conditions.push_back(Condition("gated-by-policy",
                                 "has(params.status) && has(params.status.gatedBy) && "
                                 "params.status.gatedBy == " +
                                     Quoted(api::kGatedByPolicy)));
  conditions.push_back(Condition("lists-few-configs", "!(" + ListsEnoughConfigs() + ")"));
  conditions.push_back(Condition("selected", IsSelectedBy("params.spec.labelSelector")));
  conditions.push_back(
      Condition("not-constrained-by-the-user",
                "!(" + ConstrainsArchitecture() + ") || " + HasGate(api::kLocalGate)));
  // A pod with the annotation but without the gate is a copy of another pod: its list starts empty.
  std::string before = "variables.gated && has(object.metadata.annotations) && " + key +
                       " in object.metadata.annotations ? object.metadata.annotations[" + key +
                       "] : ''";
  // A full list stays as it is.
  std::string listed = "size(bytes(variables.before)) + size(bytes(variables.entry)) >= " +
                       std::to_string(placement::kMaxLocalConfigsSize) +
                       " || variables.entry in variables.before.split(',')";
  std::string list = "variables.before == '' ? variables.entry : " + listed +
                     " ? variables.before : variables.before + ',' + variables.entry";
  std::string patches =
      "(variables.gated ? [] : " + AddGate(api::kLocalGate) + ") + " +
      SetEntries("labels", {{api::kLocalGateLabel, Quoted(api::kGated)}}) + " + " +
      SetEntries("annotations", {{api::kLocalConfigsAnnotation, "variables.list"}});
  return {{"paramKind", {{"apiVersion", kConfigs.ApiVersion()}, {"kind", kConfigs.kind}}},
          {"matchConditions", std::move(conditions)},
          {"variables", Json::array({Variable("gated", HasGate(api::kLocalGate)),
                                     Variable("entry", "string(params.metadata.name)"),
                                     Variable("before", before), Variable("list", list)})},
          {"mutations", patches}};
}

// --- Objects, with the API's defaults, so that what is stored equals what was applied.

Json Matching(Json namespace_selector, Json object_selector) {
  return {{"matchPolicy", "Equivalent"},
          {"namespaceSelector", std::move(namespace_selector)},
          {"objectSelector", std::move(object_selector)}};
}

// `spec`: matchConditions, variables, and a list of JSON patches (CEL) as `mutations`. A failure of
// it never blocks the creation of a pod.
void AddPolicy(DesiredObjects& objects, std::string_view name, Json rule, Json spec, Json matching,
               const OperandOptions& options, bool wanted = true) {
  spec["matchConstraints"] = Matching(Json::object(), Json::object());
  spec["matchConstraints"]["resourceRules"] = Json::array({std::move(rule)});
  spec["failurePolicy"] = "Ignore";
  if (!spec.contains("reinvocationPolicy")) spec["reinvocationPolicy"] = "Never";
  spec["mutations"] = Json::array(
      {{{"patchType", "JSONPatch"}, {"jsonPatch", {{"expression", spec["mutations"]}}}}});
  Json policy = NewClusterScoped(kube::kMutatingAdmissionPolicies, name, options);
  policy["spec"] = std::move(spec);
  Json binding = NewClusterScoped(kube::kMutatingAdmissionPolicyBindings, name, options);
  binding["spec"] = {{"policyName", std::string(name)}, {"matchResources", std::move(matching)}};
  objects.push_back({kube::kMutatingAdmissionPolicies, std::move(policy), wanted});
  objects.push_back({kube::kMutatingAdmissionPolicyBindings, std::move(binding), wanted});
}

}  // namespace

DesiredObjects ClusterGatingPolicies(const api::ClusterPodPlacementConfig& config,
                                     const std::vector<std::string>& preferring_namespaces,
                                     const OperandOptions& options, const KnownTable& known) {
  std::optional<Placing> placing;
  if (!known.empty() && preferring_namespaces.size() <= kMaxConfiguredNamespaces)
    placing.emplace(known, preferring_namespaces);
  bool preferences = !config.Preferences().empty();
  Json selector = ClusterNamespaceSelector(config, options);
  Json conditions = PodMatchConditions(config.spec.excluded_scheduler_names);
  conditions.push_back(NotInAReservedNamespace());

  DesiredObjects objects;
  Json first = conditions;
  if (!preferences) {
    std::string not_required = "!" + RequiresArchitecture();
    if (placing) not_required += " || " + WasPlaced();
    first.push_back(Condition(kArchitectureNotRequired, std::move(not_required)));
  }
  if (placing) {
    for (Json& condition : PlacingConditions()) first.push_back(std::move(condition));
  }
  AddPolicy(objects, kClusterGatePolicyName, PodRule(),
            ClusterGateSpec(preferences ? ConstrainsArchitecture() : "false", std::move(first),
                            options, placing),
            Matching(selector, Json::object()), options);

  conditions.push_back(Condition(kArchitectureRequired, RequiresArchitecture()));
  selector["matchExpressions"].push_back(NamespaceIn("In", preferring_namespaces));
  AddPolicy(objects, kPreferencesGatePolicyName, PodRule(),
            ClusterGateSpec(PrefersArchitecture(), std::move(conditions), options),
            Matching(std::move(selector), Json::object()), options,
            !preferences && !preferring_namespaces.empty());
  return objects;
}

std::optional<std::set<std::string>> PreferringNamespacesOf(const Json& policy,
                                                            const Json& binding) {
  std::optional<std::set<std::string>> not_placed = ConfiguredNamespacesOf(policy);
  if (!HasCondition(kube::Find(policy, "spec.matchConditions"), kArchitectureNotRequired))
    return not_placed;
  const Json* selector = kube::Find(binding, "spec.matchResources.namespaceSelector");
  std::set<std::string> namespaces =
      selector == nullptr ? std::set<std::string>() : NamespacesIn(*selector);
  if (not_placed)
    std::erase_if(namespaces, [&](const std::string& ns) { return !not_placed->contains(ns); });
  return namespaces;
}

DesiredObjects LocalGatingPolicy(const std::vector<std::string>& excluded_schedulers,
                                 const OperandOptions& options) {
  DesiredObjects objects;
  Json namespaces = {{"matchExpressions", Json::array({NamespaceNotOptedOut()})}};
  AddPolicy(objects, kLocalGatePolicyName, PodRule(), LocalGateSpec(excluded_schedulers),
            Matching(std::move(namespaces), Json::object()), options);
  // Of the pod's namespace.
  objects.back().body["spec"]["paramRef"] = {{"selector", Json::object()},
                                             {"parameterNotFoundAction", "Allow"}};
  return objects;
}

DesiredObjects GatingProbe(const std::string& hash, const OperandOptions& options) {
  Json rule = {{"operations", Json::array({"CREATE"})},
               {"apiGroups", Json::array({"apps"})},
               {"apiVersions", Json::array({"v1"})},
               {"resources", Json::array({"deployments"})},
               {"scope", "Namespaced"}};
  Json spec = {{"mutations", SetEntries("annotations", {{kGatingProbeAnnotation, Quoted(hash)}})}};
  Json labelled = {{"matchLabels", {{std::string(kGatingProbeLabel), hash}}}};
  DesiredObjects objects;
  AddPolicy(objects, kGatingProbeName, std::move(rule), std::move(spec),
            Matching(SelectNamespace(options.ns), std::move(labelled)), options);
  return objects;
}

}  // namespace operator_
