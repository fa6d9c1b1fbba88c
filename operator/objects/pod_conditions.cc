// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/pod_conditions.h"

#include <algorithm>
#include <utility>

#include "api/label_selector.h"
#include "api/names.h"
#include "operator/objects/namespace_in.h"
#include "operator/rules/restricted.h"
#include "placement/creators.h"

namespace operator_ {
namespace {

using kube::Json;

// The time that the API server (1.36) needs to walk a list grows with the square of its size: 0.4 s
// for 10,000 items, 5 s for 40,000, which a pod can have. So nothing is found in a longer list, and
// its pod is gated: the controller that removes the gate checks again.
constexpr size_t kMaxWalked = 32;

// As the CRDs allow. A longer one, which was stored before they did, selects every pod.
constexpr size_t kMaxSelector = 100;

const std::string kOwners = "object.metadata.ownerReferences";
const std::string kNodeAffinity = "object.spec.affinity.nodeAffinity";

// True if the controller (CEL: `o`) of the object meets `which`.
std::string HasController(const std::string& which) {
  return "(has(" + kOwners + ") && " + IsShort(kOwners) + " && " + kOwners +
         ".exists(o, has(o.controller) && o.controller && " + which + "))";
}

// True if the node selector term `term` has the architecture's key.
std::string IsOnArchitecture(const std::string& term) {
  std::string expressions = term + ".matchExpressions";
  return "has(" + expressions + ") && " + IsShort(expressions) + " && " + expressions +
         ".exists(e, e.key == " + Quoted(api::kArchLabel) + ")";
}

}  // namespace

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

Json Condition(const char* name, std::string expression) {
  return {{"name", name}, {"expression", std::move(expression)}};
}

Json PodMatchConditions(const std::vector<std::string>& excluded_schedulers) {
  Json conditions = Json::array();
  conditions.push_back(
      Condition("not-bound-to-a-node", "!has(object.spec.nodeName) || object.spec.nodeName == ''"));
  conditions.push_back(Condition("not-of-a-daemonset", "!" + IsByDaemonSetController()));
  conditions.push_back(
      Condition("not-for-the-control-plane",
                "!has(object.spec.nodeSelector) || !(" + Quoted(api::kControlPlaneNodeLabel) +
                    " in object.spec.nodeSelector || " + Quoted(api::kMasterNodeLabel) +
                    " in object.spec.nodeSelector)"));
  conditions.push_back(
      Condition("not-an-operand", "!" + HasKey("object.metadata.labels", api::kOperandLabel)));
  conditions.push_back(
      Condition("not-opted-out", "!" + HasKey("object.metadata.labels", api::kExcludeLabel)));
  if (!excluded_schedulers.empty()) {
    std::string names;
    for (const std::string& name : excluded_schedulers)
      names += (names.empty() ? "" : ", ") + Quoted(name);
    conditions.push_back(Condition("not-of-an-excluded-scheduler",
                                   "!has(object.spec.schedulerName) || !(object.spec.schedulerName "
                                   "in [" +
                                       names + "])"));
  }
  return conditions;
}

bool HasCondition(const Json* conditions, std::string_view name) {
  return conditions != nullptr && conditions->is_array() &&
         std::any_of(conditions->begin(), conditions->end(), [&](const Json& condition) {
           return kube::StringAt(condition, "name") == name;
         });
}

std::string HasKey(const std::string& map, std::string_view key) {
  return "(has(" + map + ") && " + Quoted(key) + " in " + map + ")";
}

std::string HasValue(const std::string& map, std::string_view key, const std::string& value) {
  return HasKey(map, key) + " && " + map + "[" + Quoted(key) + "] == " + value;
}

std::string IsShort(const std::string& list) {
  return "size(" + list + ") <= " + std::to_string(kMaxWalked);
}

std::string HasNodeAffinity() { return "has(object.spec.affinity) && has(" + kNodeAffinity + ")"; }

std::string IsByDaemonSetController() {
  return "(request.userInfo.username in [" + Quoted(placement::kDaemonSetController) + ", " +
         Quoted(placement::kControllerManager) + "] && " +
         HasController("o.kind == 'DaemonSet' && o.apiVersion.startsWith('apps/')") + ")";
}

std::string IsByNode() {
  return "request.userInfo.username.startsWith(" + Quoted(placement::kNodeUserPrefix) + ")";
}

std::string HasAController() { return HasController("true"); }

std::string IsBy(const std::string& ns, std::string_view service_account) {
  return "request.userInfo.username == " +
         Quoted("system:serviceaccount:" + ns + ":" + std::string(service_account));
}

Json NotInAReservedNamespace() {
  return Condition("not-in-a-reserved-namespace", "!request.namespace.startsWith('kube-')");
}

std::string IsSelectedBy(const std::string& selector) {
  auto has = [](const std::string& key) {
    return "(has(object.metadata.labels) && " + key + " in object.metadata.labels)";
  };
  // Of `selector`, if it has `field`.
  auto all = [&](const std::string& field, const std::string& item, const std::string& holds) {
    std::string list = selector + "." + field;
    return "(!has(" + list + ") || size(" + list + ") > " + std::to_string(kMaxSelector) + " || " +
           list + ".all(" + item + ", " + holds + "))";
  };
  std::string label =
      all("matchLabels", "k",
          has("k") + " && object.metadata.labels[k] == " + selector + ".matchLabels[k]");
  std::string in = "(" + has("e.key") + " && object.metadata.labels[e.key] in e.values)";
  std::string expression =
      all("matchExpressions", "e",
          "e.operator == 'In' ? " + in + " : e.operator == 'NotIn' ? !" + in +
              " : e.operator == 'Exists' ? " + has("e.key") + " : !" + has("e.key"));
  return "(!has(" + selector + ") || " + label + " && " + expression + ")";
}

std::string IsInOneOf(const api::ExcludedNamespaces& excluded) {
  std::string any;
  for (const std::string& prefix : excluded.prefixes()) {
    any += (any.empty() ? "" : " || ") + ("request.namespace.startsWith(" + Quoted(prefix) + ")");
  }
  return "(" + any + ")";
}

Json RuleCondition(const std::string& expression) {
  return Condition("rule", Restricted(expression));
}

std::string RequiresArchitecture() {
  std::string required = kNodeAffinity + ".requiredDuringSchedulingIgnoredDuringExecution";
  std::string terms = required + ".nodeSelectorTerms";
  return "(has(object.spec.nodeSelector) && " + Quoted(api::kArchLabel) +
         " in object.spec.nodeSelector || " + HasNodeAffinity() + " && has(" + required +
         ") && size(" + terms + ") > 0 && " + IsShort(terms) + " && " + terms + ".all(t, " +
         IsOnArchitecture("t") + "))";
}

std::string PrefersArchitecture() {
  std::string preferred = kNodeAffinity + ".preferredDuringSchedulingIgnoredDuringExecution";
  return "(" + HasNodeAffinity() + " && has(" + preferred + ") && " + IsShort(preferred) + " && " +
         preferred + ".exists(p, has(p.preference) && " + IsOnArchitecture("p.preference") + "))";
}

Json PodRule() {
  return {{"operations", Json::array({"CREATE"})},
          {"apiGroups", Json::array({""})},
          {"apiVersions", Json::array({"v1"})},
          {"resources", Json::array({"pods"})},
          {"scope", "Namespaced"}};
}

Json ClusterNamespaceSelector(const api::ClusterPodPlacementConfig& config,
                              const OperandOptions& options) {
  Json selector = Json::object();
  if (config.spec.namespace_selector)
    selector = api::LabelSelectorToJson(*config.spec.namespace_selector);
  selector["matchExpressions"].push_back(NamespaceIn(
      "NotIn", Json::array({options.ns, "kube-node-lease", "kube-public", "kube-system"})));
  selector["matchExpressions"].push_back(NamespaceNotOptedOut());
  return selector;
}

Json PodSelector(const api::PodPlacementConfig& config) {
  return config.spec.label_selector ? api::LabelSelectorToJson(*config.spec.label_selector)
                                    : Json::object();
}

}  // namespace operator_
