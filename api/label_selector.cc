// SPDX-License-Identifier: Apache-2.0
#include "api/label_selector.h"

#include <algorithm>

#include "api/json_reader.h"
#include "kube/types/in_order.h"

namespace api {
namespace {

using kube::Json;
using kube::meta::LabelSelector;
using kube::meta::LabelSelectorRequirement;

bool IsAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool IsLabelName(std::string_view name) {
  constexpr size_t kMaxName = 63;
  return !name.empty() && name.size() <= kMaxName && IsAlphanumeric(name.front()) &&
         IsAlphanumeric(name.back()) && std::all_of(name.begin(), name.end(), [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

bool IsDnsSubdomain(std::string_view name) {
  constexpr size_t kMaxName = 253;
  if (name.size() > kMaxName) return false;
  while (true) {
    std::string_view label = name.substr(0, name.find('.'));
    auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    if (label.empty() || !plain(label.front()) || !plain(label.back())) return false;
    if (!std::all_of(label.begin(), label.end(), [&](char c) { return plain(c) || c == '-'; }))
      return false;
    if (label.size() == name.size()) return true;
    name.remove_prefix(label.size() + 1);
  }
}

bool IsLabelKey(std::string_view key) {
  size_t slash = key.find('/');
  if (slash == std::string_view::npos) return IsLabelName(key);
  return IsDnsSubdomain(key.substr(0, slash)) && IsLabelName(key.substr(slash + 1));
}

bool IsLabelValue(std::string_view value) { return value.empty() || IsLabelName(value); }

LabelSelector LabelSelectorFromJson(const Json& json, const std::string& path,
                                    FieldErrors& problems) {
  LabelSelector selector;
  JsonReader reader(json, path, problems);
  if (const Json* labels = reader.Object("matchLabels")) {
    if (labels->size() > kMaxSelectorEntries) {
      reader.Problem("matchLabels",
                     "must have at most " + std::to_string(kMaxSelectorEntries) + " entries");
    } else {
      JsonReader entries(*labels, reader.PathOf("matchLabels"), problems);
      for (const auto& [key, value] : labels->items()) {
        // Unlike a field that is null, an entry that is null is not absent.
        if (value.is_string()) {
          (*selector.mutable_match_labels())[key] = value.get_ref<const std::string&>();
        } else {
          entries.Problem(key, "must be a string");
        }
      }
    }
  }
  if (const Json* expressions = reader.Array("matchExpressions", kMaxSelectorEntries)) {
    for (size_t i = 0; i < expressions->size(); ++i) {
      JsonReader item((*expressions)[i],
                      reader.PathOf("matchExpressions[" + std::to_string(i) + "]"), problems);
      LabelSelectorRequirement& requirement = *selector.add_match_expressions();
      requirement.set_key(item.String("key", kRequired));
      requirement.set_operator_(item.String("operator", kRequired));
      const Json* values = item.Array("values", kMaxSelectorValues);
      if (values == nullptr) continue;
      for (const Json& value : *values) {
        if (value.is_string()) {
          requirement.add_values(value.get_ref<const std::string&>());
        } else {
          item.Problem("values", "must be strings");
        }
      }
    }
  }
  return selector;
}

Json LabelSelectorToJson(const LabelSelector& selector) {
  Json json = Json::object();
  for (const auto& [key, value] : selector.match_labels()) json["matchLabels"][key] = value;
  for (const LabelSelectorRequirement& requirement : selector.match_expressions()) {
    Json item = {{"key", requirement.key()}, {"operator", requirement.operator_()}};
    for (const std::string& value : requirement.values()) item["values"].push_back(value);
    json["matchExpressions"].push_back(std::move(item));
  }
  return json;
}

std::string LabelSelectorToText(const kube::meta::LabelSelector& selector) {
  std::string text;
  auto add = [&](const std::string& term) { text += (text.empty() ? "" : ",") + term; };
  for (const auto& [key, value] : kube::InOrder(selector.match_labels()))
    add(std::string(key) + "=" + std::string(value));
  for (const auto& requirement : selector.match_expressions()) {
    std::string values;
    for (const std::string& value : requirement.values())
      values += (values.empty() ? "" : ",") + value;
    const std::string& op = requirement.operator_();
    if (op == "In") add(requirement.key() + " in (" + values + ")");
    if (op == "NotIn") add(requirement.key() + " notin (" + values + ")");
    if (op == "Exists") add(requirement.key());
    if (op == "DoesNotExist") add("!" + requirement.key());
  }
  return text;
}

void ValidateLabelSelector(const LabelSelector& selector, const std::string& path,
                           FieldErrors& problems) {
  const std::string labels = path + ".matchLabels";
  for (const auto& [key, value] : kube::InOrder(selector.match_labels())) {
    const std::string name(key);
    if (!IsLabelKey(key)) AddProblem(problems, labels, "\"" + name + "\" is not a valid label key");
    if (!IsLabelValue(value)) {
      AddProblem(problems, labels + "." + name,
                 "\"" + std::string(value) + "\" is not a valid label value");
    }
  }
  for (int i = 0; i < selector.match_expressions_size(); ++i) {
    const LabelSelectorRequirement& requirement = selector.match_expressions(i);
    std::string at = path + ".matchExpressions[" + std::to_string(i) + "]";
    if (!IsLabelKey(requirement.key())) {
      AddProblem(problems, at + ".key", "\"" + requirement.key() + "\" is not a valid label key");
    }
    const std::string& op = requirement.operator_();
    if (op == "In" || op == "NotIn") {
      if (requirement.values().empty())
        AddProblem(problems, at + ".values", "must not be empty for operator " + op);
    } else if (op == "Exists" || op == "DoesNotExist") {
      if (!requirement.values().empty())
        AddProblem(problems, at + ".values", "must be empty for operator " + op);
    } else {
      AddProblem(problems, at + ".operator", "must be one of In, NotIn, Exists, DoesNotExist");
    }
    for (const std::string& value : requirement.values()) {
      if (!IsLabelValue(value))
        AddProblem(problems, at + ".values", "\"" + value + "\" is not a valid label value");
    }
  }
}

}  // namespace api
