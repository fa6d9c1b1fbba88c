// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/pod_json.h"

#include <string>
#include <type_traits>

#include "api/label_selector.h"
#include "kube/types/list_at.h"
#include "scheduling-policies/criteria.h"

namespace policy {
namespace {

using kube::Json;
using kube::core::NodeAffinity;
using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;
using kube::core::PodAffinityTerm;
using kube::core::PreferredSchedulingTerm;

Json ToJson(const NodeSelectorRequirement& requirement);
Json ToJson(const NodeSelectorTerm& term);
Json ToJson(const PreferredSchedulingTerm& term);
Json ToJson(const PodAffinityTerm& term);
Json ToJson(const kube::core::WeightedPodAffinityTerm& term);
Json ToJson(const kube::core::Toleration& toleration);

// The items of a repeated field.
template <class Items>
Json ListOf(const Items& items) {
  Json list = Json::array();
  for (const auto& item : items) {
    if constexpr (std::is_convertible_v<decltype(item), std::string>) {
      list.push_back(item);
    } else {
      list.push_back(ToJson(item));
    }
  }
  return list;
}

template <class Items>
void PutList(const char* name, const Items& items, Json& json) {
  if (!items.empty()) json[name] = ListOf(items);
}

Json ToJson(const NodeSelectorRequirement& requirement) {
  Json json = {{"key", requirement.key()}, {"operator", requirement.operator_()}};
  PutList("values", requirement.values(), json);
  return json;
}

Json ToJson(const NodeSelectorTerm& term) {
  Json json = Json::object();
  PutList("matchExpressions", term.match_expressions(), json);
  PutList("matchFields", term.match_fields(), json);
  return json;
}

Json ToJson(const PreferredSchedulingTerm& term) {
  return {{"weight", term.weight()}, {"preference", ToJson(term.preference())}};
}

Json ToJson(const PodAffinityTerm& term) {
  Json json = {{"topologyKey", term.topology_key()}};
  if (term.has_label_selector())
    json["labelSelector"] = api::LabelSelectorToJson(term.label_selector());
  if (term.has_namespace_selector())
    json["namespaceSelector"] = api::LabelSelectorToJson(term.namespace_selector());
  PutList("namespaces", term.namespaces(), json);
  PutList("matchLabelKeys", term.match_label_keys(), json);
  PutList("mismatchLabelKeys", term.mismatch_label_keys(), json);
  return json;
}

Json ToJson(const kube::core::WeightedPodAffinityTerm& term) {
  return {{"weight", term.weight()}, {"podAffinityTerm", ToJson(term.pod_affinity_term())}};
}

Json ToJson(const kube::core::Toleration& toleration) {
  Json json = Json::object();
  if (toleration.has_key()) json["key"] = toleration.key();
  if (toleration.has_operator_()) json["operator"] = toleration.operator_();
  if (toleration.has_value()) json["value"] = toleration.value();
  if (toleration.has_effect()) json["effect"] = toleration.effect();
  if (toleration.has_toleration_seconds())
    json["tolerationSeconds"] = toleration.toleration_seconds();
  return json;
}

Json ToJson(const NodeAffinity& affinity) {
  Json json = Json::object();
  if (affinity.has_required_during_scheduling_ignored_during_execution()) {
    const auto& required = affinity.required_during_scheduling_ignored_during_execution();
    json[kRequired]["nodeSelectorTerms"] = ListOf(required.node_selector_terms());
  }
  PutList(kPreferred, affinity.preferred_during_scheduling_ignored_during_execution(), json);
  return json;
}

// PodAffinity or PodAntiAffinity.
template <class Affinity>
Json OfPods(const Affinity& affinity) {
  Json json = Json::object();
  PutList(kRequired, affinity.required_during_scheduling_ignored_during_execution(), json);
  PutList(kPreferred, affinity.preferred_during_scheduling_ignored_during_execution(), json);
  return json;
}

template <class List>
void ReadList(const Json& json, const char* name, List& list) {
  for (const Json& item : kube::ListAt(json, name)) FromJson(item, *list.Add());
}

bool Has(const Json& json, const char* name) { return !kube::StringAt(json, name).empty(); }

}  // namespace

Json ToJson(const kube::core::PodSpec& spec) {
  Json json = Json::object();
  for (const auto& [key, value] : spec.node_selector()) json["nodeSelector"][key] = value;
  if (!spec.node_name().empty()) json["nodeName"] = spec.node_name();
  if (!spec.scheduler_name().empty()) json["schedulerName"] = spec.scheduler_name();
  const kube::core::Affinity& affinity = spec.affinity();
  if (affinity.has_node_affinity())
    json["affinity"]["nodeAffinity"] = ToJson(affinity.node_affinity());
  if (affinity.has_pod_affinity())
    json["affinity"]["podAffinity"] = OfPods(affinity.pod_affinity());
  if (affinity.has_pod_anti_affinity())
    json["affinity"]["podAntiAffinity"] = OfPods(affinity.pod_anti_affinity());
  PutList("tolerations", spec.tolerations(), json);
  for (const auto& gate : spec.scheduling_gates())
    json["schedulingGates"].push_back({{"name", gate.name()}});
  return json;
}

void FromJson(const Json& json, NodeSelectorRequirement& requirement) {
  requirement.set_key(kube::StringAt(json, "key"));
  requirement.set_operator_(kube::StringAt(json, "operator"));
  for (const Json& value : kube::ListAt(json, "values")) {
    if (value.is_string()) requirement.add_values(value.get<std::string>());
  }
}

void FromJson(const Json& json, NodeSelectorTerm& term) {
  ReadList(json, "matchExpressions", *term.mutable_match_expressions());
  ReadList(json, "matchFields", *term.mutable_match_fields());
}

void FromJson(const Json& json, PreferredSchedulingTerm& term) {
  term.set_weight(static_cast<int32_t>(kube::IntAt(json, "weight")));
  if (const Json* preference = kube::Find(json, "preference"))
    FromJson(*preference, *term.mutable_preference());
}

void FromJson(const Json& json, kube::core::Toleration& toleration) {
  if (Has(json, "key")) toleration.set_key(kube::StringAt(json, "key"));
  if (Has(json, "operator")) toleration.set_operator_(kube::StringAt(json, "operator"));
  if (Has(json, "value")) toleration.set_value(kube::StringAt(json, "value"));
  if (Has(json, "effect")) toleration.set_effect(kube::StringAt(json, "effect"));
  const Json* seconds = kube::Find(json, "tolerationSeconds");
  if (seconds != nullptr && seconds->is_number_integer())
    toleration.set_toleration_seconds(seconds->get<int64_t>());
}

}  // namespace policy
