// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/webhook_match.h"

#include <algorithm>

#include "kube/types/kinds.h"
#include "kube/types/list_at.h"
#include "sim/cluster/match_conditions.h"
#include "sim/cluster/selectors.h"

namespace sim {
namespace {

using kube::AdmissionAttributes;
using kube::Json;

bool Lists(const Json& rule, const char* member, const std::string& value) {
  const Json& list = kube::ListAt(rule, member);
  return std::any_of(list.begin(), list.end(),
                     [&value](const Json& item) { return item == "*" || item == value; });
}

bool IsInScope(const Json& rule, const AdmissionAttributes& asked) {
  const std::string scope = rule.value("scope", "*");
  if (scope == "*") return true;
  return (scope == "Namespaced") == !asked.key.ns.empty();
}

}  // namespace

RequestedResource ResourceIn(const std::string& collection) {
  // "/api/v1/pods" or "/apis/apps/v1/deployments".
  const size_t plural = collection.rfind('/');
  const size_t version = collection.rfind('/', plural - 1);
  const size_t group = collection.rfind('/', version - 1);
  RequestedResource resource;
  resource.plural = collection.substr(plural + 1);
  resource.version = collection.substr(version + 1, plural - version - 1);
  if (version > 0 && group != std::string::npos && group > 0)
    resource.group = collection.substr(group + 1, version - group - 1);
  return resource;
}

bool MatchesRules(const Json& rules, const AdmissionAttributes& asked) {
  const RequestedResource resource = ResourceIn(asked.collection);
  std::string name = resource.plural;
  if (!asked.subresource.empty()) name += "/" + asked.subresource;
  return std::any_of(rules.begin(), rules.end(), [&](const Json& rule) {
    return Lists(rule, "operations", asked.operation) && Lists(rule, "apiGroups", resource.group) &&
           Lists(rule, "apiVersions", resource.version) && Lists(rule, "resources", name) &&
           IsInScope(rule, asked);
  });
}

bool MatchesSelectors(const Json& entry, const AdmissionAttributes& asked, const Json& object,
                      const Json& ns) {
  static const Json kNull;
  const Json& old_object = asked.old_object ? *asked.old_object : kNull;
  // A Namespace itself is selected by its own labels.
  const bool of_namespace = asked.collection == kube::kNamespaces.Path();
  if (!asked.key.ns.empty() || of_namespace) {
    const Json& selected = !of_namespace ? ns : object.is_null() ? old_object : object;
    if (!Selects(kube::ObjectAt(entry, "namespaceSelector"), LabelsOf(selected))) return false;
  }
  const Json& selector = kube::ObjectAt(entry, "objectSelector");
  return (!object.is_null() && Selects(selector, LabelsOf(object))) ||
         (!old_object.is_null() && Selects(selector, LabelsOf(old_object)));
}

bool MeetsConditions(const Json& entry, const AdmissionAttributes& asked, const Json& object) {
  const Json& conditions = kube::ListAt(entry, "matchConditions");
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const Json& condition) { return Holds(condition, asked, object); });
}

}  // namespace sim
