// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/criteria.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

#include "api/fields.h"
#include "api/json_reader.h"
#include "api/label_selector.h"
#include "scheduling-policies/canonical.h"

namespace policy {
namespace {

using api::FieldErrors;
using api::JsonReader;
using kube::Json;

constexpr std::string_view kNodeOperators[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
constexpr std::string_view kFieldOperators[] = {"In", "NotIn"};
constexpr std::string_view kTolerationOperators[] = {"Equal", "Exists"};
constexpr std::string_view kEffects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
constexpr api::Range kWeights{.low = 1, .high = 100};

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

std::string At(std::string_view name, size_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

void Set(Json& json, const char* name, std::string value) {
  if (!value.empty()) json[name] = std::move(value);
}

void Set(Json& json, const char* name, std::vector<std::string> values) {
  if (!values.empty()) json[name] = std::move(values);
}

bool IsNamespaceName(const std::string& name) {
  constexpr size_t kMaxName = 63;
  return name.size() <= kMaxName && name.find('.') == std::string::npos &&
         api::IsDnsSubdomain(name);
}

// One of `allowed`; "" if absent or empty.
std::string OptionalEnum(JsonReader& reader, std::string_view name,
                         std::span<const std::string_view> allowed) {
  return reader.String(name).empty() ? "" : reader.Enum(name, allowed);
}

// Calls `read` with a reader of each item. Returns the list; nullptr where absent or refused.
const Json* ReadItems(JsonReader& reader, std::string_view name, auto read,
                      api::Presence presence = api::kOptional) {
  const Json* list = reader.Array(name, kMaxEntries, presence);
  for (size_t i = 0; list != nullptr && i < list->size(); ++i)
    read(JsonReader((*list)[i], reader.PathOf(At(name, i)), reader.problems()));
  return list;
}

std::vector<std::string> Strings(JsonReader& reader, std::string_view name, size_t max) {
  std::vector<std::string> strings;
  const Json* list = reader.Array(name, max);
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    if ((*list)[i].is_string()) {
      strings.push_back((*list)[i].get<std::string>());
    } else {
      reader.Problem(At(name, i), "must be a string");
    }
  }
  return strings;
}

std::vector<std::string> LabelKeys(JsonReader& reader, std::string_view name) {
  std::vector<std::string> keys = Strings(reader, name, kMaxLabelKeys);
  for (const std::string& key : keys) {
    if (!api::IsLabelKey(key)) reader.Problem(name, Quoted(key) + " is not a valid label key");
  }
  return keys;
}

std::map<std::string, std::string> ReadNodeSelector(JsonReader& spec) {
  std::map<std::string, std::string> selector;
  const Json* map = spec.Object("nodeSelector");
  if (map == nullptr) return selector;
  if (map->size() > kMaxEntries) {
    spec.Problem("nodeSelector", "must have at most " + std::to_string(kMaxEntries) + " entries");
    return selector;
  }
  JsonReader entries(*map, spec.PathOf("nodeSelector"), spec.problems());
  for (const auto& [key, value] : map->items()) {
    if (!api::IsLabelKey(key))
      spec.Problem("nodeSelector", Quoted(key) + " is not a valid label key");
    if (!value.is_string()) {
      entries.Problem(key, "must be a string");
    } else if (!api::IsLabelValue(value.get_ref<const std::string&>())) {
      entries.Problem(key, Quoted(value.get<std::string>()) + " is not a valid label value");
    } else {
      selector[key] = value.get<std::string>();
    }
  }
  return selector;
}

// An entry of matchExpressions. The API server checks the values only of required terms.
Json ReadExpression(JsonReader reader, bool required) {
  Json json = Json::object();
  std::string key = reader.String("key");
  std::string op = reader.Enum("operator", kNodeOperators, api::kRequired);
  std::vector<std::string> values = Strings(reader, "values", kMaxNodeValues);
  if (!api::IsLabelKey(key)) reader.Problem("key", Quoted(key) + " is not a valid label key");
  if ((op == "In" || op == "NotIn") && values.empty()) {
    reader.Problem("values", "must not be empty for operator " + op);
  } else if ((op == "Exists" || op == "DoesNotExist") && !values.empty()) {
    reader.Problem("values", "must be empty for operator " + op);
  } else if ((op == "Gt" || op == "Lt") && values.size() != 1) {
    reader.Problem("values", "must have one value for operator " + op);
  }
  for (const std::string& value : values) {
    if (required && !api::IsLabelValue(value))
      reader.Problem("values", Quoted(value) + " is not a valid label value");
  }
  Set(json, "key", std::move(key));
  Set(json, "operator", std::move(op));
  Set(json, "values", std::move(values));
  return json;
}

// An entry of matchFields.
Json ReadField(JsonReader reader) {
  constexpr char kField[] = "metadata.name";
  Json json = Json::object();
  std::string key = reader.String("key");
  std::string op = reader.Enum("operator", kFieldOperators, api::kRequired);
  std::vector<std::string> values = Strings(reader, "values", kMaxNodeValues);
  if (key != kField) reader.Problem("key", "must be metadata.name");
  if (values.size() != 1) {
    reader.Problem("values", "must have one value");
  } else if (!api::IsDnsSubdomain(values[0])) {
    reader.Problem("values", Quoted(values[0]) + " is not a valid name of a node");
  }
  Set(json, "key", std::move(key));
  Set(json, "operator", std::move(op));
  Set(json, "values", std::move(values));
  return json;
}

RequiredTerm ReadNodeTerm(JsonReader reader, bool required) {
  RequiredTerm term;
  auto add = [](std::vector<Part>& parts, Json json) {
    std::string canonical = CanonicalText(json);
    auto same = [&](const Part& part) { return part.canonical == canonical; };
    if (std::none_of(parts.begin(), parts.end(), same))
      parts.push_back({std::move(json), std::move(canonical)});
  };
  ReadItems(reader, "matchExpressions",
            [&](JsonReader item) { add(term.expressions, ReadExpression(item, required)); });
  ReadItems(reader, "matchFields", [&](JsonReader item) { add(term.fields, ReadField(item)); });
  return term;
}

Json ToJson(const RequiredTerm& term) {
  Json json = Json::object();
  for (const Part& part : term.expressions) json["matchExpressions"].push_back(part.json);
  for (const Part& part : term.fields) json["matchFields"].push_back(part.json);
  return json;
}

std::vector<RequiredTerm> ReadRequiredTerms(JsonReader node_affinity) {
  std::vector<RequiredTerm> terms;
  const Json* required = node_affinity.Object(kRequired);
  if (required == nullptr) return terms;
  JsonReader selector(*required, node_affinity.PathOf(kRequired), node_affinity.problems());
  auto read = [&](JsonReader item) {
    RequiredTerm term = ReadNodeTerm(item, true);
    if (!term.expressions.empty() || !term.fields.empty()) terms.push_back(std::move(term));
  };
  const Json* list = ReadItems(selector, "nodeSelectorTerms", read, api::kRequired);
  if (list != nullptr && terms.empty()) {
    selector.Problem("nodeSelectorTerms",
                     list->empty() ? "must have at least one term"
                                   : "must have a term with a requirement: empty terms match no "
                                     "node");
  }
  return terms;
}

bool HasKey(const kube::meta::LabelSelector& selector, const std::string& key) {
  const auto& expressions = selector.match_expressions();
  return selector.match_labels().contains(key) ||
         std::any_of(expressions.begin(), expressions.end(),
                     [&](const auto& expression) { return expression.key() == key; });
}

Json ReadPodTerm(JsonReader reader) {
  Json json = Json::object();
  auto label_selector = ReadSelector(reader, "labelSelector");
  auto namespace_selector = ReadSelector(reader, "namespaceSelector");
  std::vector<std::string> namespaces = Strings(reader, "namespaces", kMaxEntries);
  for (const std::string& ns : namespaces) {
    if (!IsNamespaceName(ns))
      reader.Problem("namespaces", Quoted(ns) + " is not a valid name of a namespace");
  }
  std::string topology = reader.String("topologyKey");
  if (!api::IsLabelKey(topology))
    reader.Problem("topologyKey", Quoted(topology) + " is not a valid label key");

  std::vector<std::string> match = LabelKeys(reader, "matchLabelKeys");
  std::vector<std::string> mismatch = LabelKeys(reader, "mismatchLabelKeys");
  if (!label_selector) {
    if (!match.empty()) reader.Problem("matchLabelKeys", "needs a labelSelector");
    if (!mismatch.empty()) reader.Problem("mismatchLabelKeys", "needs a labelSelector");
  }
  for (const std::string& key : match) {
    // The API server accepts this for mismatchLabelKeys.
    if (label_selector && HasKey(*label_selector, key))
      reader.Problem("matchLabelKeys", Quoted(key) + " is in labelSelector as well");
    if (std::find(mismatch.begin(), mismatch.end(), key) != mismatch.end())
      reader.Problem("matchLabelKeys", Quoted(key) + " is in mismatchLabelKeys as well");
  }

  if (label_selector) json["labelSelector"] = api::LabelSelectorToJson(*label_selector);
  if (namespace_selector) json["namespaceSelector"] = api::LabelSelectorToJson(*namespace_selector);
  Set(json, "namespaces", std::move(namespaces));
  Set(json, "topologyKey", std::move(topology));
  Set(json, "matchLabelKeys", std::move(match));
  Set(json, "mismatchLabelKeys", std::move(mismatch));
  return json;
}

// An entry of one of kAffinityLists.
Json ReadAffinityTerm(const AffinityList& list, JsonReader reader) {
  if (!list.weighted) return ReadPodTerm(reader);
  const char* name = list.of_pods ? "podAffinityTerm" : "preference";
  Json json = {{"weight", reader.Int("weight", {.range = kWeights, .presence = api::kRequired})}};
  const Json* term = reader.Object(name, api::kRequired);
  if (term == nullptr) return json;
  JsonReader inner(*term, reader.PathOf(name), reader.problems());
  json[name] = list.of_pods ? ReadPodTerm(inner) : ToJson(ReadNodeTerm(inner, false));
  return json;
}

void ReadAffinity(JsonReader& spec, Criteria& criteria) {
  const Json* json = spec.Object("affinity");
  if (json == nullptr) return;
  JsonReader affinity(*json, spec.PathOf("affinity"), spec.problems());
  if (const Json* node = affinity.Object("nodeAffinity")) {
    criteria.required_terms =
        ReadRequiredTerms(JsonReader(*node, affinity.PathOf("nodeAffinity"), spec.problems()));
  }
  for (size_t which = 0; which < kAffinityLists.size(); ++which) {
    const AffinityList& list = kAffinityLists[which];
    const Json* kind = affinity.Object(list.affinity);
    if (kind == nullptr) continue;
    JsonReader reader(*kind, affinity.PathOf(list.affinity), spec.problems());
    ReadItems(reader, list.list, [&](JsonReader item) {
      Json term = ReadAffinityTerm(list, item);
      std::string canonical = CanonicalText(term);
      criteria.affinity_terms[which].push_back({std::move(term), std::move(canonical)});
    });
  }
}

Toleration ReadToleration(JsonReader reader) {
  Json json = Json::object();
  std::string key = reader.String("key");
  std::string op = OptionalEnum(reader, "operator", kTolerationOperators);
  std::string value = reader.String("value");
  std::string effect = OptionalEnum(reader, "effect", kEffects);
  constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();
  int64_t seconds = reader.Int("tolerationSeconds", {.fallback = kAbsent});

  if (key.empty() && op != "Exists") reader.Problem("operator", "must be Exists without a key");
  if (!key.empty() && !api::IsLabelKey(key))
    reader.Problem("key", Quoted(key) + " is not a valid label key");
  if (op == "Exists" && !value.empty())
    reader.Problem("value", "must be empty for operator Exists");
  if (!api::IsLabelValue(value))
    reader.Problem("value", Quoted(value) + " is not a valid label value");
  if (seconds != kAbsent && effect != "NoExecute")
    reader.Problem("effect", "must be NoExecute with tolerationSeconds");

  Set(json, "key", std::move(key));
  Set(json, "operator", std::move(op));
  Set(json, "value", std::move(value));
  Set(json, "effect", std::move(effect));
  if (seconds != kAbsent) json["tolerationSeconds"] = seconds;
  return TolerationFrom(json);
}

}  // namespace

std::optional<kube::meta::LabelSelector> ReadSelector(JsonReader& reader, std::string_view name) {
  const Json* json = reader.Object(name);
  if (json == nullptr) return std::nullopt;
  auto selector = api::LabelSelectorFromJson(*json, reader.PathOf(name), reader.problems());
  api::ValidateLabelSelector(selector, reader.PathOf(name), reader.problems());
  return selector;
}

Toleration TolerationFrom(const Json& json) {
  Toleration toleration{.json = json};
  if (!json.is_object()) {
    toleration.canonical = CanonicalText(json);
    return toleration;
  }
  Json compared = json;
  for (const char* name : {"key", "operator", "value", "effect"}) {
    if (kube::StringAt(json, name).empty()) compared.erase(name);
  }
  if (!compared.contains("operator")) compared["operator"] = "Equal";
  if (const Json* seconds = kube::Find(json, "tolerationSeconds");
      seconds != nullptr && seconds->is_number_integer()) {
    toleration.seconds = seconds->get<int64_t>();
  }
  compared.erase("tolerationSeconds");
  toleration.canonical = CanonicalText(compared);
  return toleration;
}

bool Criteria::empty() const {
  return node_selector.empty() && node_name.empty() && scheduler_name.empty() &&
         required_terms.empty() && tolerations.empty() &&
         std::all_of(affinity_terms.begin(), affinity_terms.end(),
                     [](const std::vector<Part>& terms) { return terms.empty(); });
}

Criteria CriteriaFromJson(const Json& json, const std::string& path, FieldErrors& problems) {
  constexpr size_t kMaxName = 253;
  Criteria criteria;
  JsonReader spec(json, path, problems);
  criteria.node_selector = ReadNodeSelector(spec);
  criteria.node_name = spec.String("nodeName");
  if (!criteria.node_name.empty() && !api::IsDnsSubdomain(criteria.node_name))
    spec.Problem("nodeName", Quoted(criteria.node_name) + " is not a valid name of a node");
  criteria.scheduler_name = spec.String("schedulerName");
  if (criteria.scheduler_name.size() > kMaxName)
    spec.Problem("schedulerName", "must have at most 253 characters");
  ReadAffinity(spec, criteria);
  ReadItems(spec, "tolerations",
            [&](JsonReader item) { criteria.tolerations.push_back(ReadToleration(item)); });
  return criteria;
}

}  // namespace policy
